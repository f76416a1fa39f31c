"""Store a person's memory that Remembrancer exported."""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby, islice
from typing import TypeVar

from remembrancer.access import Actor
from remembrancer.app import Remembrancer
from remembrancer.importers.counts import ImportResult
from remembrancer.importers.exports import Export
from remembrancer.importers.parse import invalid
from remembrancer.portability.records import (
    AnyRecord,
    ConversationRecord,
    MemoryRecord,
    MessageRecord,
    UserRecord,
)
from remembrancer.portability.restore import Restoration
from remembrancer.portability.rules import BatchCounts

_BATCH = 100

R = TypeVar("R", ConversationRecord, MessageRecord, MemoryRecord)


class PersonImporter:
    """Stores the records of an export under the actor's user."""

    def __init__(self, app: Remembrancer, actor: Actor, on_progress: Callable[[int], None]) -> None:
        self._app = app
        self._actor = actor
        self._on_progress = on_progress

    async def check(self, export: Export, result: ImportResult) -> None:
        """Read all records and count them; raise ``InvalidInput`` for one that is wrong."""
        if self._actor.user_id is None:
            raise invalid(export.name, "is one person's memory; name its user with --user")
        for record in export.records():
            if isinstance(record, MessageRecord):
                result.messages_added += 1
                result.add_time(record.sent_at)
            result.conversations += isinstance(record, ConversationRecord)
            result.memories_added += isinstance(record, MemoryRecord)
            await asyncio.sleep(0)  # others have their turn

    async def store(self, export: Export, result: ImportResult) -> None:
        """Store the records, and the associations once all memories are there."""
        restoration = await self._begin(export, result, dry_run=False)
        for batch in _batches(export):
            if isinstance(batch[0], ConversationRecord):
                for talk in _of(ConversationRecord, batch):
                    result.conversations += 1
                    _note(export, "conversation", await restoration.conversation(talk))
            elif isinstance(batch[0], MessageRecord):
                restored = await restoration.messages(_of(MessageRecord, batch))
                result.messages_added += restored.added
                result.messages_skipped += restored.known
                _note(export, "message", restored)
                self._on_progress(len(batch))
            elif isinstance(batch[0], MemoryRecord):
                restored = await restoration.memories(_of(MemoryRecord, batch))
                result.memories_added += restored.added
                result.memories_skipped += restored.known
                result.memories_refused += restored.refused
                result.memories_evicted += restored.evicted
                self._on_progress(len(batch))
        notes = export.notes
        for batch in _batches(export):
            await restoration.associations(_of(MemoryRecord, batch))
        export.notes = notes
        await restoration.end()

    async def preview(self, export: Export, result: ImportResult) -> None:
        """Count what :meth:`store` would store."""
        restoration = await self._begin(export, result, dry_run=True)
        for batch in _batches(export):
            if isinstance(batch[0], MessageRecord):
                new = await restoration.new_messages(_of(MessageRecord, batch))
                result.messages_added += new
                result.messages_skipped += len(batch) - new
                self._on_progress(len(batch))
            elif isinstance(batch[0], MemoryRecord):
                new = await restoration.new_memories(_of(MemoryRecord, batch))
                result.memories_added += new
                result.memories_skipped += len(batch) - new
                self._on_progress(len(batch))
            else:
                result.conversations += sum(isinstance(r, ConversationRecord) for r in batch)

    async def _begin(self, export: Export, result: ImportResult, *, dry_run: bool) -> Restoration:
        user = next(export.records(), None)
        if not isinstance(user, UserRecord):
            raise invalid(export.name, "has no user")
        result.people.add(("", str(self._actor.user_id)))
        return await self._app.restorations.begin(
            self._actor, user, is_own=export.owner is not None, dry_run=dry_run
        )


def _of(kind: type[R], batch: Iterable[AnyRecord]) -> list[R]:
    return [record for record in batch if isinstance(record, kind)]


def _note(export: Export, noun: str, restored: BatchCounts) -> None:
    for _ in range(restored.refused):
        export.notes.skip(f"{noun} that is too long, or of an agent that is not here")


def _batches(export: Export) -> Iterator[list[AnyRecord]]:
    """Yield the records in batches, each of one kind."""
    for _, records in groupby(export.records(), type):
        while batch := list(islice(records, _BATCH)):
            yield batch
