"""Keep records: write, read, search, move and forget them by their addresses."""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Row
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import audit
from remembrancer.access import Actor
from remembrancer.agents import repository as agents
from remembrancer.audit.reads import Reads
from remembrancer.db.engine import Database
from remembrancer.errors import Conflict, InvalidInput, NotFound
from remembrancer.guard.guard import Guard
from remembrancer.memories import repository as memories
from remembrancer.memories.budget import Budget
from remembrancer.memories.pipeline import WritePipeline
from remembrancer.memories.rules import Resolved, statement_hash
from remembrancer.memories.schemas import MemoryUpdate, Status
from remembrancer.memories.versions import new_version
from remembrancer.recall.schemas import RecallQuery
from remembrancer.recall.service import Recall
from remembrancer.records import repository, rules
from remembrancer.records.drafts import Draft, RecordDrafts, brought
from remembrancer.records.schemas import Address, Changes, Record, RecordWrite
from remembrancer.search.index import SearchIndex
from remembrancer.settings import LimitSettings
from remembrancer.users import repository as users
from remembrancer.validation import made

Wanted = Callable[[Mapping[str, Any]], bool]
"""Says of a record's metadata whether it is looked for."""

_RANKED = 100
"""How many records a search puts in order; what is left comes after them, the latest first."""


class Records:
    """The records of everybody, each seen by its user alone, through the agent whose it is.

    A record is a memory, so it is recalled, counted by the budget, exported, merged and erased
    as one. What is added here is its address, of which a user has one in each namespace: a write
    to it is a new version, never a second memory. Nobody else's words become a mention of it.
    """

    def __init__(
        self,
        database: Database,
        indexer: SearchIndex,
        writing: WritePipeline,
        budget: Budget,
        limits: LimitSettings,
        guard: Guard,
        reads: Reads,
        recalls: Recall,
    ) -> None:
        self._database = database
        self._indexer = indexer
        self._writing = writing
        self._budget = budget
        self._drafting = RecordDrafts(indexer, guard, limits.memory_characters)
        self._reads = reads
        self._recalls = recalls
        self.longest = limits.memory_characters
        """Characters of the longest content."""

    async def get(
        self, actor: Actor, addresses: Collection[Address], *, refresh: Collection[Address] = ()
    ) -> dict[Address, Record]:
        """Return the records at these addresses, those that are there.

        The time of those to ``refresh`` begins anew.
        """
        async with self._database.transaction(actor) as (connection, actor):
            await _check_known(connection, actor)
            possible = [one for one in addresses if _is_possible(one)]
            found = _by_address(await repository.at(connection, actor, possible))
            await _extend(connection, actor, [found[one] for one in refresh if one in found])
        await self._note_read(actor, list(found.values()))
        return {one: _told(row) for one, row in found.items()}

    async def search(
        self,
        actor: Actor,
        prefix: Address,
        *,
        query: str | None = None,
        wanted: Wanted | None = None,
        limit: int | None = None,
        offset: int = 0,
        refresh: bool = False,
    ) -> Sequence[Record]:
        """Return the records under an address that are ``wanted``, the latest first.

        With ``query`` those that answer it come first, the best first, as recall ranks them;
        every filter applies before that. The time of what is returned begins anew if
        ``refresh``.
        """
        asked = query if query is not None and query.strip() else None
        at_once = asked is None and wanted is None
        async with self._database.transaction(actor) as (connection, now):
            await _check_known(connection, now)
            rows = await repository.listed(
                connection, now, prefix, *((limit, offset) if at_once else ())
            )
        if wanted is not None:
            rows = [row for row in rows if wanted(row.metadata)]
        scores: dict[str, float] = {}
        if asked is not None and rows:
            scores = await self._ranked(now, asked, [row.id for row in rows])
            rows = sorted(rows, key=lambda row: -scores.get(row.id, float("-inf")))
        if not at_once:
            rows = rows[offset:] if limit is None else rows[offset : offset + limit]
        if refresh and any(_is_used_up(row) for row in rows):
            async with self._database.transaction(now) as (connection, now):
                await _extend(connection, now, rows)
        await self._note_read(now, rows)
        return [_told(row, scores.get(row.id)) for row in rows]

    async def _ranked(self, actor: Actor, query: str, ids: Sequence[str]) -> dict[str, float]:
        """Return what recall makes of memories of the actor's user: the score of each it finds."""
        asked = made(RecallQuery, query=query, limit=_RANKED, sources=["memory"])
        answer = await self._recalls.recall(actor, asked, among=ids)
        return {hit.id: hit.score for hit in answer.hits}

    async def addresses(self, actor: Actor, prefix: Address) -> Sequence[Address]:
        """Return the addresses at and under an address, in order."""
        async with self._database.transaction(actor) as (connection, actor):
            await _check_known(connection, actor)
            return sorted({one for _, one in await repository.here(connection, actor, prefix)})

    async def sizes(self, actor: Actor, prefix: Address) -> Mapping[Address, int]:
        """Return how many bytes the content at and under an address has, in order."""
        async with self._database.transaction(actor) as (connection, actor):
            await _check_known(connection, actor)
            return await repository.sizes(connection, actor, prefix)

    async def write(self, actor: Actor, changes: Changes, *, source: str) -> None:
        """Write records and forget others, all or none; of two writes to one, the last.

        Raises ``InvalidInput`` for what may not be stored, ``VersionConflict`` where a record is
        not at the version a write expects, ``Conflict`` where one that is to lie alone would not.
        """
        drafts = await self._drafting.drafts(rules.last_of_each(changes.writes).values())
        async with self._database.transaction(actor) as (connection, actor):
            goes = await self._writing.begin(connection, actor)
            owner_id = goes.place.owner_id
            touched = [*(one.write.address for one in drafts), *changes.removals]
            expired = await repository.forget_expired(connection, owner_id)
            rows = await repository.at(connection, actor, [a for a in touched if _is_possible(a)])
            await repository.hold(connection, owner_id, sorted(row.id for row in rows))
            dropped = set(changes.removals)
            gone = [row.id for row in rows if tuple(row.address) in dropped]
            await repository.forget(connection, owner_id, gone)
            await _note(connection, actor, "memory.forget", [*expired, *gone])
            there = _by_address([row for row in rows if row.id not in gone])
            await _check_alone(connection, actor, [one.write for one in drafts], there)
            for one in drafts:
                row = there.get(one.write.address)
                rules.check_expected(one.write, row.version if row is not None else None)
            await self._store(connection, actor, goes, drafts, there, source)

    async def _store(
        self,
        connection: AsyncConnection,
        actor: Actor,
        goes: Resolved,
        drafts: Sequence[Draft],
        there: Mapping[Address, Row[Any]],
        source: str,
    ) -> None:
        owner_id = goes.place.owner_id
        known = [(one, there[one.write.address]) for one in drafts if one.write.address in there]
        new = [one for one in drafts if one.write.address not in there]
        evicted = [row.id for _, row in known if row.status == Status.EVICTED]
        await repository.revive(connection, owner_id, evicted)
        for one, row in known:
            await self._update(connection, one, row, source)
        await repository.revive(
            connection, owner_id, [row.id for one, row in known if one.write.recalled]
        )
        await _note(connection, actor, "memory.update", [row.id for _, row in known])
        ids = await memories.fresh_ids(connection, owner_id, len(new))
        imported = [brought(one, memory_id) for one, memory_id in zip(new, ids, strict=True)]
        await self._writing.bring(connection, actor, goes, imported, source)
        written = [*((one, row.id) for one, row in known), *zip(new, ids, strict=True)]
        hidden = [memory_id for one, memory_id in written if not one.write.recalled]
        await repository.hide(connection, owner_id, hidden)
        await self._budget.keep(connection, actor, owner_id, [one for _, one in written])

    async def _update(
        self, connection: AsyncConnection, draft: Draft, row: Row[Any], source: str
    ) -> None:
        """Make a new version of a record, if it is not what it shall be already."""
        changed = {
            name: getattr(draft.statement, name)
            for name in ("content", "metadata", "kind", "category")
            if getattr(draft.statement, name) != getattr(row, name)
        }
        if not changed and draft.statement.valid_to == row.valid_to:
            return
        text = draft.text if "content" in changed else None
        changes = made(MemoryUpdate, **changed, valid_to=draft.statement.valid_to)
        await new_version(connection, self._indexer, row, changes, text=text, source=source)

    async def remove(self, actor: Actor, prefix: Address) -> int:
        """Forget the records at and under an address; return how many there were."""
        async with self._database.transaction(actor) as (connection, actor):
            goes = await self._writing.begin(connection, actor)
            ids = [one for one, _ in await repository.here(connection, actor, prefix)]
            await repository.hold(connection, goes.place.owner_id, ids)
            await repository.forget(connection, goes.place.owner_id, ids)
            await _note(connection, actor, "memory.forget", ids)
            return len(ids)

    async def move(self, actor: Actor, old: Address, new: Address) -> None:
        """Give the records at and under ``old`` the address ``new``; their history stays.

        Raises ``NotFound`` if there are none, ``Conflict`` if something lies at ``new``, or
        where it would have to lie, or if that is under ``old``.
        """
        rules.check_address(new)
        async with self._database.transaction(actor) as (connection, actor):
            goes = await self._writing.begin(connection, actor)
            owner_id = goes.place.owner_id
            taken = Conflict("something lies there already", field="address")
            if await repository.here(connection, actor, new):
                raise taken
            moving = await repository.here(connection, actor, old)
            if not moving:
                raise NotFound("no such record", field="address")
            above = [new[:length] for length in range(2, len(new))]
            if new[: len(old)] == old or await repository.at(connection, actor, above):
                raise taken
            await repository.hold(connection, owner_id, [one for one, _ in moving])
            to = rules.moved([address for _, address in moving], old, new)
            for address in to.values():
                rules.check_address(address)
            await repository.rename(
                connection, owner_id, [_renamed(one, to[address]) for one, address in moving]
            )
            await _note(connection, actor, "memory.update", [one for one, _ in moving])

    async def _note_read(self, actor: Actor, rows: Sequence[Row[Any]]) -> None:
        await self._reads.note(actor, "memory.read", [(row.owner_id, row.id) for row in rows])


def _told(row: Row[Any], score: float | None = None) -> Record:
    return Record(
        address=tuple(row.address),
        memory_id=row.id,
        user_id=row.owner_id,
        content=row.content,
        metadata=row.metadata,
        version=row.version,
        created_at=row.created_at,
        updated_at=row.updated_at,
        score=score,
    )


async def _check_known(connection: AsyncConnection, actor: Actor) -> None:
    """Raise ``NotFound`` for a user or an agent that is none, who would seem to have nothing."""
    if await users.find(connection, actor.require_user()) is None:
        raise NotFound("no such user", field="user_id")
    if actor.agent_id is not None and await agents.find(connection, actor.agent_id) is None:
        raise NotFound("no such agent", field="agent_id")


async def _check_alone(
    connection: AsyncConnection,
    actor: Actor,
    writes: Sequence[RecordWrite],
    there: Mapping[Address, Row[Any]],
) -> None:
    new = [one.address for one in writes if one.alone and one.address not in there]
    if await repository.in_the_way(connection, actor, new) is not None:
        raise Conflict("something lies there already", field="address")


async def _extend(connection: AsyncConnection, actor: Actor, rows: Sequence[Row[Any]]) -> None:
    if ids := [row.id for row in rows if _is_used_up(row)]:
        await repository.extend(connection, actor.require_user(), ids)


def _is_used_up(row: Row[Any]) -> bool:
    now = datetime.now(UTC)
    return row.valid_to is not None and rules.is_used_up(
        row.metadata.get("ttl"), row.valid_to - now
    )


async def _note(connection: AsyncConnection, actor: Actor, action: str, ids: Sequence[str]) -> None:
    if ids:
        await audit.note(connection, actor, action, ids)


def _is_possible(address: Address) -> bool:
    try:
        rules.check_address(address)
    except InvalidInput:
        return False
    return True


def _by_address(rows: repository.Rows) -> dict[Address, Row[Any]]:
    found: dict[Address, Row[Any]] = {}
    for row in rows:
        found.setdefault(tuple(row.address), row)
    return found


def _renamed(memory_id: str, address: Address) -> dict[str, Any]:
    hash_ = statement_hash("", None, None, address=address)
    return {"id": memory_id, "address": list(address), "hash": hash_.hex()}
