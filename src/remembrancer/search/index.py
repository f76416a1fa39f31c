"""Make texts searchable: compute their vectors and terms, and store them."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Final, Literal
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import tokens
from remembrancer.access import Placement
from remembrancer.analysis import analyse
from remembrancer.db.rows import TextRow
from remembrancer.db.trips import Trip, together
from remembrancer.embeddings import Embedder
from remembrancer.errors import EmbeddingUnavailable
from remembrancer.search import repository
from remembrancer.search.traits import traits
from remembrancer.text import normalised

MOST_WRITTEN: Final = 10_000


def content_hash(content: str) -> bytes:
    return blake2b(normalised(content).encode(), digest_size=16).digest()


@dataclass(frozen=True, slots=True)
class SearchDocument:
    vector: NDArray[np.float32]
    terms: dict[str, int]
    length: int
    content_hash: bytes
    traits: int


@dataclass(frozen=True, slots=True)
class Source:
    """The source of a searchable text. Fields are named as columns of ``recall_items``."""

    source_type: Literal["memory", "message", "chunk"]
    at: datetime
    recorded_at: datetime | None = None
    """When it became known: recall as of an earlier time has not got it. Now, unless set."""
    memory_id: str | None = None
    memory_version: int | None = None
    source_id: UUID | None = None
    conversation_id: UUID | None = None
    position: int | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    kind: str | None = None
    category: str | None = None
    importance: float | None = None
    active: bool = True


def voiced(contents: Sequence[str], speakers: Sequence[str]) -> list[str]:
    """Return the texts to embed: with the name of the speaker, if there is one."""
    return [f"{s}: {c}" if s else c for s, c in zip(speakers, contents, strict=True)]


class SearchIndex:
    """Prepares texts outside a transaction and stores them inside one."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.written: set[UUID] = set()
        """Owners for whom this process has stored items that no recall here has read yet."""

    async def prepare(
        self, contents: Sequence[str], speakers: Sequence[str] | None = None
    ) -> list[SearchDocument]:
        """Return each text as a search document; ``speakers`` are their names, empty for none.

        Slow (the model runs), so call it before opening a transaction. What is stored then needs
        the vocabulary of tokens too: it is loaded here, not under locks.
        """
        if not tokens.is_loaded():
            await asyncio.to_thread(tokens.load)
        texts = list(contents) if speakers is None else voiced(contents, speakers)
        vectors = await self._embedder.embed_documents(texts)
        return [
            _searchable(content, analyse(words), vector)
            for content, words, vector in zip(contents, texts, vectors, strict=True)
        ]

    async def store(
        self,
        connection: AsyncConnection,
        entries: Sequence[tuple[Placement, Source, SearchDocument]],
    ) -> None:
        """Store texts of memories, of messages or of chunks.

        A message's item has the placement and position of its stored message; a message off the
        record has none. Raises ``EmbeddingUnavailable`` if another model was set since.
        """
        async with together(connection) as trip:
            check = self.add(trip, entries)
        check()

    def add(
        self, trip: Trip, entries: Sequence[tuple[Placement, Source, SearchDocument]]
    ) -> Callable[[], None]:
        """Let a trip do what :meth:`store` does; return what to call after it."""
        name = self._embedder.name
        models: Sequence[TextRow] = [TextRow(name)]
        if entries:
            if len(self.written) > MOST_WRITTEN:
                self.written.clear()
            self.written.update(placement.owner_id for placement, _, _ in entries)
            models = repository.add(
                trip,
                name,
                [_item_row(*entry) for entry in entries],
                [document.vector for _, _, document in entries],
                [document.terms for _, _, document in entries],
                of_messages=entries[0][1].source_type == "message",
            )

        def check() -> None:
            if [model.value for model in models] != [name]:
                known = ", ".join(model.value for model in models)
                raise EmbeddingUnavailable(
                    f"the store has vectors of {known or None}; restart with that model"
                )

        return check


_SOURCE_COLUMNS = [field.name for field in fields(Source)]
_PLACEMENT_COLUMNS = [field.name for field in fields(Placement)]


def _searchable(content: str, terms: dict[str, int], vector: NDArray[np.float32]) -> SearchDocument:
    return SearchDocument(
        vector=vector,
        terms=terms,
        length=sum(terms.values()),
        content_hash=content_hash(content),
        traits=traits(content),
    )


def _item_row(placement: Placement, source: Source, document: SearchDocument) -> dict[str, object]:
    return {
        **{name: getattr(source, name) for name in _SOURCE_COLUMNS},
        **{name: getattr(placement, name) for name in _PLACEMENT_COLUMNS},
        "recorded_at": source.recorded_at or datetime.now(UTC),
        "content_hash": document.content_hash,
        "length": document.length,
        "traits": document.traits,
        "terms": " ".join(Counter(document.terms).elements()),
    }
