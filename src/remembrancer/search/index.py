"""Make texts searchable: compute their vectors and terms, and store them."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from hashlib import blake2b
from typing import Any, Literal
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.access import Placement, Visibility
from remembrancer.analysis import analyse
from remembrancer.embeddings import Embedder
from remembrancer.errors import EmbeddingUnavailable
from remembrancer.search import repository
from remembrancer.text import normalised


def content_hash(content: str) -> bytes:
    return blake2b(normalised(content).encode(), digest_size=16).digest()


@dataclass(frozen=True, slots=True)
class SearchDocument:
    vector: NDArray[np.float32]
    terms: dict[str, int]
    length: int
    content_hash: bytes


@dataclass(frozen=True, slots=True)
class Source:
    """The source of a searchable text. Fields are named as columns of ``recall_items``."""

    source_type: Literal["memory", "message", "chunk"]
    at: datetime
    memory_id: str | None = None
    memory_version: int | None = None
    source_id: UUID | None = None
    conversation_id: UUID | None = None
    position: int | None = None
    recorded_at: datetime | None = None
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

    async def prepare(
        self, contents: Sequence[str], speakers: Sequence[str] | None = None
    ) -> list[SearchDocument]:
        """Return each text as a search document; ``speakers`` are their names, empty for none.

        Slow (the model runs), so call it before opening a transaction.
        """
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
        """Raise ``EmbeddingUnavailable`` if another model was set since."""
        if not entries:
            return
        stored = await repository.lock_model(connection)
        if stored != self._embedder.name:
            raise EmbeddingUnavailable(
                f"the store now holds vectors of {stored}; restart with that model"
            )
        ids = await repository.new_ids(connection, len(entries))
        items = [_item_row(i, *entry) for i, entry in zip(ids, entries, strict=True)]
        await repository.add(connection, items, _posting_columns(ids, entries))


_SOURCE_COLUMNS = [field.name for field in fields(Source)]
_PLACEMENT_COLUMNS = [field.name for field in fields(Placement)]
_MOST_FREQUENT = 32_767


def _searchable(content: str, terms: dict[str, int], vector: NDArray[np.float32]) -> SearchDocument:
    return SearchDocument(
        vector=vector,
        terms=terms,
        length=sum(terms.values()),
        content_hash=content_hash(content),
    )


def _item_row(
    item_id: int, placement: Placement, source: Source, text: SearchDocument
) -> dict[str, Any]:
    row = {name: getattr(source, name) for name in _SOURCE_COLUMNS}
    row |= {name: getattr(placement, name) for name in _PLACEMENT_COLUMNS}
    row["recorded_at"] = source.recorded_at or source.at
    return row | {
        "id": item_id,
        "content_hash": text.content_hash,
        "length": text.length,
        "embedding": text.vector,
    }


def _posting_columns(
    ids: Sequence[int], entries: Sequence[tuple[Placement, Source, SearchDocument]]
) -> dict[str, list[Any]]:
    rows = [
        (placement.owner_id, term, item_id, min(count, _MOST_FREQUENT), _shared_space(placement))
        for item_id, (placement, _, text) in zip(ids, entries, strict=True)
        for term, count in text.terms.items()
    ]
    names = ("owner_ids", "terms", "item_ids", "frequencies", "shared_space_ids")
    columns = zip(*rows, strict=True) if rows else ([] for _ in names)
    return {name: list(column) for name, column in zip(names, columns, strict=True)}


def _shared_space(placement: Placement) -> UUID | None:
    return placement.space_id if placement.visibility is Visibility.SHARED else None
