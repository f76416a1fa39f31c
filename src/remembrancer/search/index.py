"""Put texts where recall finds them: their vectors and their postings."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from hashlib import blake2b
from typing import Any, Literal
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import bindparam, insert, text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.types import BigInteger, SmallInteger, Text, Uuid

from remembrancer.access import Placement, Visibility
from remembrancer.analysis import analyse
from remembrancer.db.tables import recall_items
from remembrancer.embeddings import Embedder
from remembrancer.errors import EmbeddingUnavailable
from remembrancer.text import normalised


def content_hash(content: str) -> bytes:
    """Return what two statements share if they say the same in the same words."""
    return blake2b(normalised(content).encode(), digest_size=16).digest()


@dataclass(frozen=True, slots=True)
class SearchDocument:
    """A text made ready for search: its vector, terms with counts, length and hash."""

    vector: NDArray[np.float32]
    terms: dict[str, int]
    length: int
    content_hash: bytes


@dataclass(frozen=True, slots=True)
class Source:
    """What a searchable text is the text of. Field names are those of ``recall_items``."""

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
    """Return texts as they are embedded: with who said them, where somebody did."""
    return [f"{s}: {c}" if s else c for s, c in zip(speakers, contents, strict=True)]


class SearchIndex:
    """Prepares texts outside a transaction and stores them inside one."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    async def prepare(
        self, contents: Sequence[str], speakers: Sequence[str] | None = None
    ) -> list[SearchDocument]:
        """Return each text ready for search; ``speakers`` are who said them.

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
        """Insert the texts and their postings. Fails if the store's model is another one now."""
        if not entries:
            return
        await self._check_model(connection)
        ids = (await connection.execute(_NEW_IDS, {"count": len(entries)})).scalars().all()
        rows = [_item_row(i, *entry) for i, entry in zip(ids, entries, strict=True)]
        await connection.execute(insert(recall_items), rows)
        await connection.execute(_ADD_POSTINGS, _posting_columns(ids, entries))

    async def _check_model(self, connection: AsyncConnection) -> None:
        # The share lock holds off `reembed` until this transaction is over, so that no
        # vector of the old model can slip in behind its back.
        stored = (await connection.execute(_MODEL)).scalar_one_or_none()
        if stored != self._embedder.name:
            raise EmbeddingUnavailable(
                f"the store now holds vectors of {stored}; restart with that model"
            )


_MODEL = text("SELECT name FROM embedding_model FOR SHARE")

_NEW_IDS = text("""
    SELECT nextval(pg_get_serial_sequence('recall_items', 'id'))
      FROM generate_series(1, :count)
""")

_ADD_POSTINGS = text("""
    INSERT INTO postings (owner_id, term, item_id, frequency, shared_space_id)
    SELECT * FROM unnest(:owner_ids, :terms, :item_ids, :frequencies, :shared_space_ids)
""").bindparams(
    bindparam("owner_ids", type_=ARRAY(Uuid)),
    bindparam("terms", type_=ARRAY(Text)),
    bindparam("item_ids", type_=ARRAY(BigInteger)),
    bindparam("frequencies", type_=ARRAY(SmallInteger)),
    bindparam("shared_space_ids", type_=ARRAY(Uuid)),
)

_SOURCE_COLUMNS = [field.name for field in fields(Source)]
_PLACE_COLUMNS = [field.name for field in fields(Placement)]
_MOST_FREQUENT = 32_767


def _searchable(content: str, terms: dict[str, int], vector: NDArray[np.float32]) -> SearchDocument:
    return SearchDocument(
        vector=vector,
        terms=terms,
        length=sum(terms.values()),
        content_hash=content_hash(content),
    )


def _item_row(
    item_id: int, place: Placement, source: Source, text: SearchDocument
) -> dict[str, Any]:
    row = {name: getattr(source, name) for name in _SOURCE_COLUMNS}
    row |= {name: getattr(place, name) for name in _PLACE_COLUMNS}
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
        (place.owner_id, term, item_id, min(count, _MOST_FREQUENT), _shared_space(place))
        for item_id, (place, _, text) in zip(ids, entries, strict=True)
        for term, count in text.terms.items()
    ]
    names = ("owner_ids", "terms", "item_ids", "frequencies", "shared_space_ids")
    columns = zip(*rows, strict=True) if rows else ([] for _ in names)
    return {name: list(column) for name, column in zip(names, columns, strict=True)}


def _shared_space(place: Placement) -> UUID | None:
    return place.space_id if place.visibility is Visibility.SHARED else None
