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


async def prepare(backend: Backend, writes: Collection[RecordWrite]) -> Sequence[Draft]:
    """Return drafts, before a transaction is open.

    Raises ``InvalidInput`` for a write that may not be stored.
    """
    if not writes:
        return []
    statements = [_statement(backend, write) for write in writes]
    texts = await backend.search.prepare([s.content for s in statements])
    return [Draft(*parts) for parts in zip(writes, statements, texts, strict=True)]


def _statement(backend: Backend, write: RecordWrite) -> MemoryCreate:
    rules.check_address(write.address)
    rules.check_ttl(write.ttl)
    check_length(write.content, characters=backend.limits.memory_characters)
    address = _Address(address=list(write.address))
    if backend.guard.screen(address, ("address",)).findings:
        # Redaction could make two addresses the same.
        raise InvalidInput("has content that may not be stored", field="address")
    metadata, end = dict(write.metadata), None
    if write.ttl is not None:
        metadata["ttl"] = write.ttl
        end = datetime.now(UTC) + timedelta(minutes=write.ttl)
    statement = validate(
        MemoryCreate,
        content=write.content,
        kind=write.kind,
        category=write.category,
        metadata=metadata,
        valid_to=end,
    )
    screened = screening.statement(backend.guard, statement)
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
