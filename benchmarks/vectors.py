"""A file cache of vectors: the model embeds each distinct text once."""

import hashlib
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks.common import RESULTS
from remembrancer.embeddings import Embedder
from remembrancer.embeddings.base import Vectors

DIRECTORY: Final = RESULTS / "vectors"


class StoredVectors:
    """An embedder with a file cache of document vectors."""

    def __init__(self, inner: Embedder, directory: Path) -> None:
        self._inner = inner
        self.name = inner.name
        self.dimensions = inner.dimensions
        self.embedded = 0
        directory.mkdir(parents=True, exist_ok=True)
        # A safe file name from the model's name.
        model = "".join(c if c.isalnum() else "-" for c in inner.name)
        self._file = sqlite3.connect(directory / f"{model}.sqlite", isolation_level=None)
        self._file.execute("CREATE TABLE IF NOT EXISTS vectors (digest BLOB PRIMARY KEY, v BLOB)")

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        digests = [hashlib.sha256(text.encode()).digest() for text in texts]
        known = {digest: self._get(digest) for digest in digests}
        missing = {
            digest: text
            for digest, text in zip(digests, texts, strict=True)
            if known[digest] is None
        }
        if missing:
            vectors = await self._inner.embed_documents(list(missing.values()))
            self.embedded += len(missing)
            for digest, vector in zip(missing, vectors, strict=True):
                known[digest] = vector
                self._file.execute(
                    "INSERT OR IGNORE INTO vectors VALUES (?, ?)", (digest, vector.tobytes())
                )
        return np.array([known[digest] for digest in digests], dtype=np.float32)

    async def embed_query(self, text: str) -> Vectors:
        return await self._inner.embed_query(text)

    async def close(self) -> None:
        self._file.close()
        await self._inner.close()

    def _get(self, digest: bytes) -> Vectors | None:
        row = self._file.execute("SELECT v FROM vectors WHERE digest = ?", (digest,)).fetchone()
        return None if row is None else np.frombuffer(row[0], dtype=np.float32)
