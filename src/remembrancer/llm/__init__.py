"""Language models of any provider: answers of a given shape, and chats with tools."""

from typing import TYPE_CHECKING

from remembrancer.extras import extra
from remembrancer.settings import LanguageModelSettings

if TYPE_CHECKING:
    from remembrancer.llm.language_model import LanguageModel


def create_language_model(
    settings: LanguageModelSettings, name: str | None = None
) -> "LanguageModel | None":
    """Return the configured model, or null without one; send nothing to it yet.

    With ``name``, return that model instead: ``provider:model``, or a model of the configured
    provider. The address and the key in the settings are for their own provider alone.
    Raises ``ConfigurationError`` for a provider that is unknown, not installed or without a key.
    """
    provider = settings.model.partition(":")[0]
    if name and ":" not in name and provider:
        name = f"{provider}:{name}"
    if name:
        others = bool(provider) and name.partition(":")[0] != provider
        unset = {"base_url": None, "api_key": None} if others else {}
        settings = settings.model_copy(update={"model": name, **unset})
    if not settings.model:
        return None
    with extra("llm"):
        # The import takes a second.
        from remembrancer.llm.providers import language_model  # noqa: PLC0415

    return language_model(settings)
