"""Records: write, read, search, move and forget them by their addresses."""

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime

from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import audit, checks
from remembrancer.access import Actor
from remembrancer.backend import Backend
from remembrancer.db.retries import retries_deadlocks
from remembrancer.errors import Conflict, InvalidInput, NotFound
from remembrancer.memories import repository as memories
from remembrancer.memories.budget import Budget
from remembrancer.memories.metadata import Condition
from remembrancer.memories.pipeline import WritePipeline
from remembrancer.memories.rows import MemoryRow
from remembrancer.memories.rules import Destination
from remembrancer.memories.schemas import MemoryUpdate, Status
from remembrancer.memories.versions import new_version
from remembrancer.recall.schemas import RecallQuery
from remembrancer.recall.service import Recall
from remembrancer.records import repository, rules
from remembrancer.records.drafts import Draft, imported, prepare
from remembrancer.records.schemas import Address, Changes, Record
from remembrancer.usage.counts import counted
from remembrancer.usage.schemas import UsageKind
from remembrancer.validation import validate

_SAME = ("content", "metadata", "version", "created_at", "updated_at")
"""Columns of a memory that a record has too."""
_RANKED = 100
"""Records that a search ranks; the others follow, the latest first."""


@retries_deadlocks
class Records:
    """Records of users: memories that a program stores and reads by address.

    Only their user sees them, through their agent. An address is unique for a user and a
    namespace: a write to an existing address makes a new version. A statement with the same
    words does not become a mention of a record.
    """

    def __init__(
        self, backend: Backend, pipeline: WritePipeline, budget: Budget, recall: Recall
    ) -> None:
        self._backend = backend
        self._pipeline = pipeline
        self._budget = budget
        self._recall = recall
        self.longest = backend.limits.memory_characters
        """Characters of the longest content."""

    async def get(
        self, actor: Actor, addresses: Collection[Address], *, refresh: Collection[Address] = ()
    ) -> dict[Address, Record]:
        """Return the existing records at these addresses.

        The time to live of those in ``refresh`` starts again.
        """
        async with self._backend.database.transaction(actor) as (connection, actor):
            actor.require_user()
            await checks.check_exist(connection, actor)
            valid = [address for address in addresses if _is_valid(address)]
            rows = _by_address(await repository.at(connection, actor, valid))
            await _restart_ttl(connection, actor, [rows[a] for a in refresh if a in rows])
        await self._note_read(actor, list(rows.values()))
        return {address: _record(row) for address, row in rows.items()}

    async def search(
        self,
        actor: Actor,
        prefix: Address,
        *,
        query: str | None = None,
        conditions: Collection[Condition] = (),
        limit: int | None = None,
        offset: int = 0,
        refresh: bool = False,
    ) -> Sequence[Record]:
        """Return the records under an address that meet conditions, the latest first.

        With ``query``, its hits come first, in the order of recall, after all filters. With
        ``refresh``, the time to live of the returned records starts again.
        """
        query = query if query is not None and query.strip() else None
        if not _is_valid((*prefix, "a name")):
            return []
        async with self._backend.database.transaction(actor) as (connection, now):
            now.require_user()
            await checks.check_exist(connection, now)
            rows = await repository.page(
                connection, now, prefix, conditions, *((limit, offset) if query is None else ())
            )
        scores: dict[str, float] = {}
        if query is not None and rows:
            scores = await self._rank(now, query, [row.id for row in rows])
            rows = sorted(rows, key=lambda row: -scores.get(row.id, float("-inf")))
        if query is not None:
            rows = rows[offset:] if limit is None else rows[offset : offset + limit]
        if refresh and any(_needs_restart(row) for row in rows):
            async with self._backend.database.transaction(now) as (connection, now):
                await _restart_ttl(connection, now, rows)
        await self._note_read(now, rows)
        return [_record(row, scores.get(row.id)) for row in rows]

    async def _rank(self, actor: Actor, query: str, ids: Sequence[str]) -> dict[str, float]:
        """Return the scores of recall by memory id."""
        recall_query = validate(RecallQuery, query=query, limit=_RANKED, sources=["memory"])
        answer = await self._recall.recall(actor, recall_query, among=ids)
        return {hit.id: hit.score for hit in answer.hits}

    async def addresses(self, actor: Actor, prefix: Address) -> Sequence[Address]:
        """Return the addresses at and under an address, in order."""
        async with self._backend.database.transaction(actor) as (connection, actor):
            actor.require_user()
            await checks.check_exist(connection, actor)
            records = await repository.under(connection, actor, prefix)
            return sorted({address for _, address in records})

    async def sizes(self, actor: Actor, prefix: Address) -> Mapping[Address, int]:
        """Return the bytes of each content at and under an address, in order of addresses."""
        async with self._backend.database.transaction(actor) as (connection, actor):
            actor.require_user()
            await checks.check_exist(connection, actor)
            return await repository.sizes(connection, actor, prefix)

    @counted(UsageKind.WRITE)
    async def write(self, actor: Actor, changes: Changes, *, source: str) -> None:
        """Write and forget records, all or none. The last of two writes to an address counts.

        Raises ``InvalidInput`` for a write that may not be stored, ``VersionConflict`` if a record
        is not at the expected version, and ``Conflict`` if another record is above or below an
        ``alone`` one.
        """
        last = {write.address: write for write in changes.writes}
        drafts = await prepare(self._backend, last.values())
        async with self._backend.database.transaction(actor) as (connection, actor):
            destination = await self._pipeline.open(connection, actor)
            owner_id = destination.placement.owner_id
            addresses = [*(draft.write.address for draft in drafts), *changes.removals]
            expired = await repository.expired(connection, owner_id)
            rows = await repository.at(connection, actor, [a for a in addresses if _is_valid(a)])
            await memories.lock(connection, owner_id, [*expired, *(row.id for row in rows)])
            await memories.set_status(connection, owner_id, expired, Status.FORGOTTEN)
            removals = set(changes.removals)
            removed = [row.id for row in rows if tuple(row.address or ()) in removals]
            await memories.set_status(connection, owner_id, removed, Status.FORGOTTEN)
            await _note(connection, actor, "memory.forget", [*expired, *removed])
            existing = _by_address([row for row in rows if row.id not in removed])
            new = [draft.write for draft in drafts if draft.write.address not in existing]
            alone = [write.address for write in new if write.alone]
            if await repository.obstacle(connection, actor, alone) is not None:
                raise Conflict("another record is above or below this address", field="address")
            for draft in drafts:
                row = existing.get(draft.write.address)
                rules.check_expected(draft.write, row.version if row is not None else None)
            await self._store(connection, actor, destination, drafts, existing, source)

    async def _store(
        self,
        connection: AsyncConnection,
        actor: Actor,
        destination: Destination,
        drafts: Sequence[Draft],
        existing: Mapping[Address, MemoryRow],
        source: str,
    ) -> None:
        owner_id = destination.placement.owner_id
        updates = [(d, existing[d.write.address]) for d in drafts if d.write.address in existing]
        new = [draft for draft in drafts if draft.write.address not in existing]
        evicted = [row.id for _, row in updates if row.status == Status.EVICTED]
        await memories.set_status(connection, owner_id, evicted, Status.ACTIVE, touch=True)
        for draft, row in updates:
            await self._update(connection, draft, row, source)
        recalled = [row.id for draft, row in updates if draft.write.recalled]
        await memories.set_status(connection, owner_id, recalled, Status.ACTIVE, touch=True)
        for value in (True, False):
            ids = [
                row.id
                for draft, row in updates
                if draft.write.recalled is value is not row.recalled
            ]
            await memories.set_recalled(connection, owner_id, ids, recalled=value)
        await _note(connection, actor, "memory.update", [row.id for _, row in updates])
        ids = await memories.new_ids(connection, owner_id, len(new))
        imports = [imported(draft, memory_id) for draft, memory_id in zip(new, ids, strict=True)]
        await self._pipeline.add(connection, actor, destination, imports, source)
        await self._budget.enforce(
            connection, actor, owner_id, [*(row.id for _, row in updates), *ids]
        )

    async def _update(
        self, connection: AsyncConnection, draft: Draft, row: MemoryRow, source: str
    ) -> None:
        """Make a new version of a record if the write changes it."""
        changed = {
            name: getattr(draft.statement, name)
            for name in ("content", "metadata", "kind", "category")
            if getattr(draft.statement, name) != getattr(row, name)
        }
        if not changed and draft.statement.valid_to == row.valid_to:
            return
        text = draft.text if "content" in changed else None
        changes = validate(MemoryUpdate, **changed, valid_to=draft.statement.valid_to)
        await new_version(connection, self._backend.search, row, changes, text=text, source=source)

    async def remove(self, actor: Actor, prefix: Address) -> int:
        """Forget the records at and under an address; return their number."""
        async with self._backend.database.transaction(actor) as (connection, actor):
            destination = await self._pipeline.open(connection, actor)
            owner_id = destination.placement.owner_id
            ids = [memory_id for memory_id, _ in await repository.under(connection, actor, prefix)]
            await memories.lock(connection, owner_id, ids)
            await memories.set_status(connection, owner_id, ids, Status.FORGOTTEN)
            await _note(connection, actor, "memory.forget", ids)
            return len(ids)

    async def move(self, actor: Actor, old: Address, new: Address) -> None:
        """Move the records at and under ``old`` to the address ``new``, with their history.

        Raises ``NotFound`` if there are none, and ``Conflict`` if a record is at, under or above
        ``new``, or if ``new`` is under ``old``.
        """
        rules.check_address(new)
        async with self._backend.database.transaction(actor) as (connection, actor):
            destination = await self._pipeline.open(connection, actor)
            taken = Conflict("another record has this address", field="address")
            if await repository.under(connection, actor, new):
                raise taken
            records = await repository.under(connection, actor, old)
            if not records:
                raise NotFound("no such record", field="address")
            above = [new[:length] for length in range(2, len(new))]
            if new[: len(old)] == old or await repository.at(connection, actor, above):
                raise taken
            owner_id = destination.placement.owner_id
            ids = [memory_id for memory_id, _ in records]
            await memories.lock(connection, owner_id, ids)
            addresses = rules.new_addresses([address for _, address in records], old, new)
            for address in addresses.values():
                rules.check_address(address)
            await memories.set_addresses(
                connection, owner_id, {i: addresses[address] for i, address in records}
            )
            await _note(connection, actor, "memory.update", ids)

    async def _note_read(self, actor: Actor, rows: Sequence[MemoryRow]) -> None:
        await self._backend.reads.note(
            actor, "memory.read", [(row.owner_id, row.id) for row in rows]
        )


def _record(row: MemoryRow, score: float | None = None) -> Record:
    return Record(
        address=tuple(row.address or ()),
        memory_id=row.id,
        user_id=row.owner_id,
        score=score,
        **{name: getattr(row, name) for name in _SAME},
    )


async def _restart_ttl(
    connection: AsyncConnection, actor: Actor, rows: Sequence[MemoryRow]
) -> None:
    if ids := [row.id for row in rows if _needs_restart(row)]:
        # As every writer does: without it, a read and a write could lock the rows in two orders.
        await memories.lock_owner(connection, actor.require_user())
        await memories.lock(connection, actor.require_user(), ids)
        await memories.restart_ttl(connection, actor.require_user(), ids)


def _needs_restart(row: MemoryRow) -> bool:
    now = datetime.now(UTC)
    return row.valid_to is not None and rules.is_used_up(
        row.metadata.get("ttl"), row.valid_to - now
    )


async def _note(connection: AsyncConnection, actor: Actor, action: str, ids: Sequence[str]) -> None:
    if ids:
        await audit.note(connection, actor, action, ids)


def _is_valid(address: Address) -> bool:
    try:
        rules.check_address(address)
    except InvalidInput:
        return False
    return True


def _by_address(rows: Sequence[MemoryRow]) -> dict[Address, MemoryRow]:
    by_address: dict[Address, MemoryRow] = {}
    for row in rows:
        by_address.setdefault(tuple(row.address or ()), row)
    return by_address
