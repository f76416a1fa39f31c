"""Embeddings: text in, vectors out, from a bundled model or an endpoint."""

from remembrancer.embeddings.base import Embedder
from remembrancer.embeddings.cache import CachedQueries
from remembrancer.settings import EmbeddingSettings

__all__ = ["CachedQueries", "Embedder", "create_embedder"]


def create_embedder(settings: EmbeddingSettings) -> Embedder:
    """Make the embedder that ``settings`` name, with its cache of questions.

    Raises ``ConfigurationError`` where the bundled model's files are missing or altered. An
    endpoint is not called before the first text is embedded.
    """
    return CachedQueries(_provider(settings), settings.query_cache)


def _provider(settings: EmbeddingSettings) -> Embedder:
    # Only the provider in use is imported: the runtime of the bundled model takes a third of
    # a second to load, which no `--help` should wait for.
    if settings.provider == "minilm":
        from remembrancer.embeddings.minilm import MiniLM  # noqa: PLC0415

        return MiniLM(threads=settings.threads, batch_size=settings.batch_size)
    from remembrancer.embeddings.openai import OpenAIEmbedder  # noqa: PLC0415

    key = settings.api_key
    return OpenAIEmbedder(
        base_url=settings.base_url,
        model=settings.model,
        dimensions=settings.dimensions,
        api_key=key.get_secret_value() if key else None,
        batch_size=settings.batch_size,
        timeout=settings.timeout,
    )
