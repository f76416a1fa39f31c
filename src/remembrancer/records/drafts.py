"""Record writes, checked, screened and searchable."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from pydantic import BaseModel

from remembrancer.backend import Backend
from remembrancer.errors import InvalidInput
from remembrancer.memories import screening
from remembrancer.memories.drafts import ImportedMemory
from remembrancer.memories.rules import check_length
from remembrancer.memories.schemas import MemoryCreate, Status
from remembrancer.records import rules
from remembrancer.records.schemas import RecordWrite
from remembrancer.search.index import SearchDocument
from remembrancer.validation import validate


class _Address(BaseModel):
    address: list[str]


@dataclass(frozen=True, slots=True)
class Draft:
    write: RecordWrite
    statement: MemoryCreate
    text: SearchDocument


class RecordDrafts:
    """Prepares writes before a transaction is open."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    async def prepare(self, writes: Collection[RecordWrite]) -> Sequence[Draft]:
        """Raise ``InvalidInput`` for a write that may not be stored."""
        if not writes:
            return []
        statements = [self._statement(write) for write in writes]
        texts = await self._backend.search.prepare([s.content for s in statements])
        return [Draft(*parts) for parts in zip(writes, statements, texts, strict=True)]

    def _statement(self, write: RecordWrite) -> MemoryCreate:
        rules.check_address(write.address)
        rules.check_ttl(write.ttl)
        check_length(write.content, characters=self._backend.limits.memory_characters)
        address = _Address(address=list(write.address))
        if self._backend.guard.screen(address, ("address",)).findings:
            # Redaction could make two addresses the same.
            raise InvalidInput("has content that may not be stored", field="address")
        metadata = (
            dict(write.metadata) if write.ttl is None else {**write.metadata, "ttl": write.ttl}
        )
        statement = validate(
            MemoryCreate,
            content=write.content,
            kind=write.kind,
            category=write.category,
            metadata=metadata,
            valid_to=_end(write.ttl),
        )
        screened = screening.statement(self._backend.guard, statement)
        if screened.refusal:
            raise screened.refusal
        return screened.model


def imported(draft: Draft, memory_id: str) -> ImportedMemory:
    now = datetime.now(UTC)
    return ImportedMemory(
        memory_id=memory_id,
        statement=draft.statement,
        text=draft.text,
        at=now,
        status=Status.ACTIVE,
        mentions=[(None, None, now)],
        address=draft.write.address,
        recalled=draft.write.recalled,
    )


def _end(ttl: float | None) -> datetime | None:
    if ttl is None:
        return None
    return datetime.now(UTC) + timedelta(minutes=ttl)
