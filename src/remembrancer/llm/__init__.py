"""Language models, whichever provider they are of: one question, one answer."""

from typing import TYPE_CHECKING

from remembrancer.settings import LanguageModelSettings

if TYPE_CHECKING:
    from remembrancer.llm.language_model import LanguageModel


def create_language_model(settings: LanguageModelSettings) -> "LanguageModel | None":
    """Return the configured model; none if there is none. Nothing is asked of it yet.

    Raises ``ConfigurationError`` for a provider that is not known, not installed or lacks a key.
    """
    if not settings.model:
        return None
    # What speaks to providers takes a second to import.
    from remembrancer.llm.providers import connected  # noqa: PLC0415

    return connected(settings)
