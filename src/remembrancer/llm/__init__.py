"""Language models of any provider: one question, one answer."""

from typing import TYPE_CHECKING

from remembrancer.settings import LanguageModelSettings

if TYPE_CHECKING:
    from remembrancer.llm.language_model import LanguageModel

ChatTurn = tuple[str, str]
"""A turn of a conversation: ``user`` or ``assistant``, and the text."""


def create_language_model(settings: LanguageModelSettings) -> "LanguageModel | None":
    """Return the configured model, or null without one; send nothing to it yet.

    Raises ``ConfigurationError`` for a provider that is unknown, not installed or without a key.
    """
    if not settings.model:
        return None
    # The import takes a second.
    from remembrancer.llm.providers import language_model  # noqa: PLC0415

    return language_model(settings)
