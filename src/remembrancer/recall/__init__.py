"""Recall: ranked memories, messages and chunks for a question."""

from typing import TYPE_CHECKING

from remembrancer.settings import RerankSettings

if TYPE_CHECKING:
    from remembrancer.recall.rerank import Reranker


def create_reranker(settings: RerankSettings) -> "Reranker | None":
    """Return the configured reranker, or null without one; send nothing to it yet.

    Raises ``ConfigurationError`` if it needs a model and has none.
    """
    if settings.provider == "off":
        return None
    # Most stores have none, and its HTTP client takes time to import.
    from remembrancer.recall.rerank import Reranker  # noqa: PLC0415

    return Reranker(settings)
