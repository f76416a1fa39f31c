"""Embeddings of texts, by a model in a wheel or an endpoint."""

from remembrancer.embeddings import onnx
from remembrancer.embeddings.base import Embedder
from remembrancer.embeddings.cache import CachedQueries
from remembrancer.settings import EmbeddingSettings

__all__ = ["CachedQueries", "Embedder", "create_embedder"]


def create_embedder(settings: EmbeddingSettings) -> Embedder:
    """Return the configured embedder with its query cache.

    Raises ``ConfigurationError`` if a model is not installed. The first text makes the first call
    to an endpoint, and waits for a model to be loaded.
    """
    embedder: Embedder
    if settings.provider != "openai":
        embedder = onnx.OnnxEmbedder(
            onnx.MODELS[settings.provider], threads=settings.threads, batch_size=settings.batch_size
        )
    else:
        from remembrancer.embeddings.openai import OpenAIEmbedder  # noqa: PLC0415

        names = {"base_url", "model", "dimensions", "batch_size", "timeout"}
        options = settings.model_dump(include=names)
        key = settings.api_key
        embedder = OpenAIEmbedder(**options, api_key=key.get_secret_value() if key else None)
    return CachedQueries(embedder, settings.query_cache)
