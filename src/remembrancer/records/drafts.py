"""From records as they are written to what can be stored: checked, screened, made searchable."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from pydantic import BaseModel

from remembrancer.errors import InvalidInput
from remembrancer.guard.guard import Guard
from remembrancer.memories import screening
from remembrancer.memories.pipeline import ImportedMemory
from remembrancer.memories.rules import check_length
from remembrancer.memories.schemas import MemoryCreate, Status
from remembrancer.records import rules
from remembrancer.records.schemas import RecordWrite
from remembrancer.search.index import SearchDocument, SearchIndex
from remembrancer.validation import made


class _Named(BaseModel):
    address: list[str]


@dataclass(frozen=True, slots=True)
class Draft:
    """A write on its way in."""

    write: RecordWrite
    statement: MemoryCreate
    text: SearchDocument


class RecordDrafts:
    """Prepares writes, before a transaction is open."""

    def __init__(self, indexer: SearchIndex, guard: Guard, longest: int) -> None:
        self._indexer = indexer
        self._guard = guard
        self._longest = longest

    async def drafts(self, writes: Collection[RecordWrite]) -> Sequence[Draft]:
        """Return each write as it may be stored; raise ``InvalidInput`` if one may not be."""
        screened = [(write, self._screened(write)) for write in writes]
        if not screened:
            return []
        texts = await self._indexer.prepare([one.content for _, one in screened])
        return [Draft(*pair, text) for pair, text in zip(screened, texts, strict=True)]

    def _screened(self, write: RecordWrite) -> MemoryCreate:
        rules.check_address(write.address)
        rules.check_ttl(write.ttl)
        check_length(write.content, characters=self._longest)
        if self._guard.screen(_Named(address=list(write.address)), ("address",)).findings:
            # With a mark in them, two addresses would be one.
            raise InvalidInput("holds what may not be stored", field="address")
        times = {} if write.ttl is None else {"ttl": write.ttl}
        statement = made(
            MemoryCreate,
            content=write.content,
            kind=write.kind,
            category=write.category,
            metadata={**write.metadata, **times},
            valid_to=_ends(write.ttl),
        )
        screened = screening.statement(self._guard, statement)
        if screened.refusal:
            raise screened.refusal
        return screened.model


def brought(draft: Draft, memory_id: str) -> ImportedMemory:
    """Return the memory that a new record is."""
    now = datetime.now(UTC)
    return ImportedMemory(
        memory_id=memory_id,
        statement=draft.statement,
        text=draft.text,
        at=now,
        status=Status.ACTIVE,
        mentions=[(None, None, now)],
        address=draft.write.address,
    )


def _ends(ttl: float | None) -> datetime | None:
    if ttl is None:
        return None
    return datetime.now(UTC) + timedelta(minutes=ttl)
