"""Language models, whichever provider they are of: one question, one answer."""

from remembrancer.llm.asking import LanguageModel
from remembrancer.llm.providers import create_language_model

__all__ = ["LanguageModel", "create_language_model"]
