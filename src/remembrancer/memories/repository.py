"""Memories in the database. No other package writes memories, versions and mentions.

What search copies of a memory is refreshed by the function that changes it.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from functools import cache, partial
from typing import Any, Literal, Protocol
from uuid import UUID

from sqlalchemy import TextClause, case, func, insert, or_, select, text, update
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.access import Actor, Visibility, may_change, viewer_binds, visible
from remembrancer.db.rows import CountRow, TextRow, all_rows, one_row
from remembrancer.db.sql import among, json_rows, statement
from remembrancer.db.tables import (
    conversations,
    memories,
    memory_versions,
    mentions,
    space_members,
)
from remembrancer.db.trips import Trip, together
from remembrancer.errors import Conflict, HiddenMemory, NotFound
from remembrancer.ids import SHARED_OWNER, MemoryKey, short_id
from remembrancer.memories import rules
from remembrancer.memories.rows import CitationRow, MemoryRow
from remembrancer.memories.schemas import MemoryCreate, Review, Status
from remembrancer.search import repository as search
from remembrancer.users import repository as users

Row = dict[str, Any]

VISIBLE = visible("memories")
ANY_STATUS = frozenset(Status)
UNEXPIRED = or_(memories.c.expires_at.is_(None), memories.c.expires_at > func.now())

_PACKAGE = "remembrancer.memories"
_sql = partial(statement, _PACKAGE, "memories")
_TAKEN_IDS = statement(_PACKAGE, "pipeline", "taken_ids")
_SOURCES = _sql("sources")
_BY_IDS = _sql("by_ids", columns=", ".join(field.name for field in fields(MemoryRow)))


class MemorySource(Protocol):
    """What says where a memory came from."""

    @property
    def conversation_id(self) -> UUID | None:
        """The conversation it came up in."""

    @property
    def message_id(self) -> UUID | None:
        """The message that says it."""


# Locks and checks ------------------------------------------------------------------------


async def lock_owner(connection: AsyncConnection, owner_id: UUID) -> None:
    """Keep other writers of an owner's memories waiting until the transaction ends."""
    await connection.execute(_sql("lock_owner"), {"owner_id": str(owner_id)})


async def lock(connection: AsyncConnection, owner_id: UUID, ids: Collection[str]) -> None:
    """Lock an owner's memories in order of ids until the transaction ends."""
    column = memories.c
    query = select(column.id).where(column.owner_id == owner_id, among(column.id, ids))
    await connection.execute(query.order_by(column.id).with_for_update())


def check_changeable(actor: Actor, memory: MemoryRow) -> None:
    """Raise ``HiddenMemory`` unless the actor, who sees the memory, may change it."""
    if not may_change(actor, memory.owner_id):
        is_told = memory.owner_id == SHARED_OWNER and memory.status == Status.ACTIVE
        raise HiddenMemory(memory.id, visible=is_told)


async def lock_changeable(
    connection: AsyncConnection,
    actor: Actor,
    memory_id: str,
    statuses: Collection[Status] = (Status.ACTIVE,),
) -> MemoryRow:
    """Lock a memory; raise ``HiddenMemory`` unless the actor may change it."""
    row = await get(connection, actor, memory_id, ANY_STATUS)
    check_changeable(actor, row)
    # The user, the owner, the row: the order of every writer.
    if actor.user_id is not None:
        await users.hold(connection, [actor.user_id])
    await lock_owner(connection, row.owner_id)
    return await get(connection, actor, memory_id, statuses, lock=True)


async def check_membership(
    connection: AsyncConnection, owner_id: UUID, ids: Collection[str]
) -> None:
    """Raise ``Conflict`` if one of an owner's memories is shared in a space they have left.

    Only members put anything new before the members of a space.
    """
    column = memories.c
    joined = select(space_members.c.space_id).where(space_members.c.user_id == owner_id)
    query = select(column.id).where(
        column.owner_id == owner_id,
        among(column.id, ids),
        column.visibility == Visibility.SHARED,
        column.space_id.not_in(joined),
    )
    if (await connection.execute(query.limit(1))).first() is not None:
        raise Conflict(
            "its author has left the space; make the memory private first",
            field="visibility",
        )


def cited(trip: Trip, actor: Actor, sources: Sequence[MemorySource]) -> Sequence[CitationRow]:
    """Let a trip read the conversations and messages that memories cite."""
    ids = {(source.conversation_id, source.message_id) for source in sources} - {(None, None)}
    if not ids:
        return []
    binds = {
        "user_id": actor.user_id,
        "conversation_ids": [conversation_id for conversation_id, _ in ids],
        "message_ids": [message_id for _, message_id in ids],
    }
    return trip.add(_SOURCES, binds, CitationRow)


def check_sources(
    rows: Sequence[CitationRow], actor: Actor, sources: Sequence[MemorySource], within: str = ""
) -> None:
    """Check the conversations and messages that memories cite, as :func:`cited` read them.

    Raises ``NotFound`` for one of somebody else, and for a message that is not in the
    conversation; without one, for a message where the user takes no part. ``within`` is the
    field of a source, with its index as ``{}``.
    """
    row_of = {(row.conversation_id, row.message_id): row for row in rows}
    for index, source in enumerate(sources):
        row = row_of.get((source.conversation_id, source.message_id))
        field = within.format(index)
        if row is None:
            continue
        if row.conversation_id is not None and not row.has_conversation:
            raise NotFound("no such conversation", field=f"{field}conversation_id")
        # Messages are people's: nobody is there for an agent that acts for none.
        if actor.user_id is not None and row.message_id is not None and not row.has_message:
            raise NotFound("no such message", field=f"{field}message_id")


def check_revised(rows: Sequence[MemoryRow], statements: Sequence[MemoryCreate]) -> None:
    """Raise ``NotFound`` unless the memories that statements revise are among the user's."""
    known = {row.id for row in rows}
    for index, memory in enumerate(statements):
        if memory.revises not in {None, *known}:
            raise NotFound("no such memory", field=f"memories.{index}.revises")


async def check_not_paused(
    connection: AsyncConnection, conversation_ids: Collection[UUID | None]
) -> None:
    """Raise ``Conflict`` if remembering is paused in one of these conversations."""
    ids = sorted({i for i in conversation_ids if i is not None})
    if not ids:
        return
    column = conversations.c
    paused = select(column.id).where(among(column.id, ids), column.paused_at.is_not(None))
    if (await connection.execute(paused.limit(1))).first() is not None:
        raise Conflict("remembering is paused in this conversation", field="conversation_id")


# Reading ---------------------------------------------------------------------------------


def visible_to(actor: Actor) -> TextClause:
    return text(VISIBLE).bindparams(**viewer_binds(actor))


async def find(
    connection: AsyncConnection, actor: Actor, memory_id: str, *, lock: bool = False
) -> MemoryRow | None:
    """Return a visible memory in any status; the actor's own first, should ids collide.

    ``external:id`` names one of the actor's own by the id of its writer, or shared knowledge.
    Raises ``Conflict`` if several active ones of one owner have it.
    """
    column = memories.c
    name = rules.external_id(memory_id)
    order = (column.owner_id == actor.user_id).desc(), column.owner_id
    query = select(memories).where(visible_to(actor)).order_by(*order)
    if name is None:
        query = query.where(column.id == memory_id).limit(1)
    else:
        owners = {SHARED_OWNER, actor.user_id or SHARED_OWNER}
        query = query.where(column.external_id == name, column.owner_id.in_(owners))
        rank = case(
            {Status.ACTIVE.value: 0, Status.FORGOTTEN.value: 2}, value=column.status, else_=1
        )
        query = query.order_by(rank, column.updated_at.desc()).limit(2)
    rows = await all_rows(connection, MemoryRow, query.with_for_update() if lock else query)
    active = [row.owner_id for row in rows if row.status == Status.ACTIVE]
    if len(set(active)) < len(active):
        reason = "several memories have this external_id; name the agent, or use an id of ours"
        raise Conflict(reason, field="memory_id")
    return rows[0] if rows else None


async def get(
    connection: AsyncConnection,
    actor: Actor,
    memory_id: str,
    statuses: Collection[Status] = (Status.ACTIVE,),
    *,
    lock: bool = False,
) -> MemoryRow:
    """Return a visible memory in one of the statuses, or raise ``HiddenMemory``.

    An expired one is forgotten, also before a sweep.
    """
    row = await find(connection, actor, memory_id, lock=lock)
    if row is None or rules.status_at(row, datetime.now(UTC)) not in statuses:
        raise HiddenMemory(memory_id)
    return row


async def named(
    connection: AsyncConnection,
    actor: Actor,
    owner_id: UUID,
    ids: Collection[str],
    statuses: Collection[Status],
) -> Sequence[MemoryRow]:
    """Return the owner's memories among ``ids``, ours or ``external:id``, that the actor sees."""
    names = [name for memory_id in ids if (name := rules.external_id(memory_id)) is not None]
    column = memories.c
    query = select(memories).where(
        column.owner_id == owner_id,
        or_(among(column.id, ids), among(column.external_id, names)),
        column.status.in_(sorted(statuses)),
        UNEXPIRED,
        visible_to(actor),
    )
    return await all_rows(connection, MemoryRow, query)


async def by_ids(
    connection: AsyncConnection, owner_id: UUID, ids: Collection[str]
) -> dict[str, MemoryRow]:
    async with together(connection) as trip:
        rows = read(trip, owner_id, ids)
    return {row.id: row for row in rows}


def read(trip: Trip, owner_id: UUID, ids: Collection[str]) -> Sequence[MemoryRow]:
    """Let a trip read memories of an owner."""
    return trip.add(_BY_IDS, {"owner_id": owner_id, "ids": list(ids)}, MemoryRow)


async def in_conversation(
    connection: AsyncConnection, actor: Actor, conversation_id: UUID, limit: int
) -> list[tuple[MemoryRow, UUID | None]]:
    """Return visible active memories by their mentions in a conversation, with the messages."""
    query = (
        select(memories, mentions.c.message_id.label("mentioned_in"))
        .join(
            mentions,
            (mentions.c.owner_id == memories.c.owner_id) & (mentions.c.memory_id == memories.c.id),
        )
        .where(mentions.c.conversation_id == conversation_id)
        .where(memories.c.status == Status.ACTIVE, UNEXPIRED, visible_to(actor))
        .order_by(mentions.c.id)
        .limit(limit)
    )
    rows = [dict(row) for row in (await connection.execute(query)).mappings()]
    sources = [row.pop("mentioned_in") for row in rows]
    return [(MemoryRow(**row), source) for row, source in zip(rows, sources, strict=True)]


async def same_statements(
    connection: AsyncConnection, owner_id: UUID, hashes: Sequence[bytes]
) -> Sequence[MemoryRow]:
    """Return active and pending memories with one of these statement hashes."""
    column = memories.c
    query = select(memories).where(
        column.owner_id == owner_id,
        column.status.in_((Status.ACTIVE, Status.PENDING)),
        column.content_hash.in_(hashes),
    )
    return await all_rows(connection, MemoryRow, query)


@dataclass(frozen=True, slots=True)
class RelatedMemory:
    """A memory that a new statement may repeat, and the reason."""

    reason: Literal["same", "subject", "place", "external_id"]
    id: str
    agent_id: UUID | None
    space_id: UUID | None
    status: str
    content_hash: bytes
    subject_key: str | None
    place_id: str | None
    external_id: str | None
    content: str | None
    """Of a memory with an id of its writer."""
    expired: bool | None


def lock_related(
    trip: Trip, owner_id: UUID, columns: Mapping[str, Sequence[object]]
) -> tuple[Sequence[RelatedMemory], Sequence[TextRow]]:
    """Let a trip lock an owner, and read what new statements need.

    Returns the memories that they may repeat, the latest of each reason first, and those of
    ``ids`` that are taken. ``columns`` are the hashes, subjects, place ids, external ids and ids
    of the statements.
    """
    binds = {"owner_id": owner_id, **columns}
    trip.add(_sql("lock_owner"), {"owner_id": str(owner_id)})
    return trip.add(_sql("related"), binds, RelatedMemory), trip.add(_TAKEN_IDS, binds, TextRow)


async def active_places(
    connection: AsyncConnection, owner_id: UUID, place_ids: Collection[str]
) -> Sequence[MemoryRow]:
    column = memories.c
    query = select(memories).where(
        column.owner_id == owner_id,
        column.status == Status.ACTIVE,
        among(column.place_id, place_ids),
    )
    return await all_rows(connection, MemoryRow, query)


async def new_ids(connection: AsyncConnection, owner_id: UUID, count: int) -> list[str]:
    """Return ids that the owner has not used; call under the owner's lock."""
    ids: dict[str, None] = {}
    while len(ids) < count:
        drawn = {short_id() for _ in range(count - len(ids))}
        query = select(memories.c.id).where(
            memories.c.owner_id == owner_id, among(memories.c.id, drawn)
        )
        taken = set((await connection.execute(query)).scalars())
        ids.update(dict.fromkeys(drawn - taken))
    return list(ids)


# Writing ---------------------------------------------------------------------------------


def add(
    trip: Trip,
    rows: Sequence[dict[str, Any]],
    mention_rows: Sequence[dict[str, Any]],
) -> Sequence[CountRow]:
    """Let a trip insert memories with their first versions and their mentions.

    Returns a row with the ``count`` of those added: a statement that is there already is not.
    """
    binds = {"memories": json_rows(rows), "mentions": json_rows(mention_rows)}
    return trip.add(_add_statement(tuple(rows[0])), binds, CountRow)


async def restore(
    connection: AsyncConnection,
    rows: Sequence[Row],
    version_rows: Sequence[Row],
    mention_rows: Sequence[Row],
) -> set[str]:
    """Insert memories of an export with all versions and mentions; return the ids of new ones."""
    if not rows:
        return set()
    new = upsert(memories).values(list(rows)).on_conflict_do_nothing()
    added = set((await connection.execute(new.returning(memories.c.id))).scalars())
    for table, children in ((memory_versions, version_rows), (mentions, mention_rows)):
        own = [row for row in children if row["memory_id"] in added]
        if own:
            await connection.execute(insert(table), own)
    return added


@cache
def _add_statement(columns: tuple[str, ...]) -> TextClause:
    return statement(_PACKAGE, "memories", "add", memory_columns=", ".join(columns))


async def change(
    connection: AsyncConnection, owner_id: UUID, memory_id: str, values: Mapping[str, Any]
) -> MemoryRow:
    """Set columns of a memory that search does not copy, and return it."""
    query = (
        update(memories)
        .where(memories.c.owner_id == owner_id, memories.c.id == memory_id)
        .values(dict(values))
        .returning(memories)
    )
    return await one_row(connection, MemoryRow, query)


async def set_pinned(
    connection: AsyncConnection, owner_id: UUID, memory_id: str, *, pinned: bool
) -> MemoryRow:
    """Pin or unpin a memory, and return it."""
    await search.note(connection, [(owner_id, memory_id)])
    return await change(connection, owner_id, memory_id, {"pinned": pinned})


async def set_status(
    connection: AsyncConnection,
    owner_id: UUID,
    ids: Collection[str],
    status: Status,
    *,
    review: Review | None = None,
    touch: bool = False,
) -> Sequence[MemoryRow]:
    """Set the status of memories, and their review unless None; return them.

    With ``touch`` they count as updated now. What has expired and is active again does not expire.
    """
    values: dict[str, Any] = {
        "status": status.value,
        "forgotten_at": func.now() if status is Status.FORGOTTEN else None,
    }
    if status is Status.ACTIVE:
        values["expires_at"] = case((UNEXPIRED, memories.c.expires_at))
    if review is not None:
        values["review"] = review.value
    if touch:
        values["updated_at"] = func.now()
    return await _set(connection, owner_id, ids, values)


async def expire(connection: AsyncConnection, most: int) -> list[MemoryKey]:
    """Forget up to ``most`` memories that have expired, in versions that say so."""
    rows = await connection.execute(_sql("expire"), {"most": most})
    keys = [(row.owner_id, row.id) for row in rows]
    await search.refresh(connection, keys)
    return keys


async def set_recalled(
    connection: AsyncConnection, owner_id: UUID, ids: Collection[str], recalled: bool
) -> None:
    """Let recall and prompts have memories while they are active, or keep them out of both."""
    await _set(connection, owner_id, ids, {"recalled": recalled})


async def set_namespace(
    connection: AsyncConnection, owner_id: UUID, ids: Collection[str], agent_id: UUID | None
) -> None:
    """Move memories into the namespace of an agent, or into that of all agents."""
    await _set(connection, owner_id, ids, {"agent_id": agent_id})


async def set_visibility(
    connection: AsyncConnection, owner_id: UUID, ids: Collection[str], visibility: Visibility
) -> None:
    """Set who sees memories in a space. Their associations follow: call that store too."""
    values = {"visibility": visibility.value, "updated_at": func.now()}
    await _set(connection, owner_id, ids, values)
    await search.reshare(connection, owner_id, ids)


async def set_addresses(
    connection: AsyncConnection, owner_id: UUID, addresses: Mapping[str, Sequence[str]]
) -> None:
    records = [
        {
            "id": memory_id,
            "address": list(address),
            "hash": rules.statement_hash("", None, None, address=address).hex(),
        }
        for memory_id, address in addresses.items()
    ]
    binds = {"owner_id": owner_id, "records": json.dumps(records)}
    await connection.execute(_sql("set_addresses"), binds)


async def restart_ttl(connection: AsyncConnection, owner_id: UUID, ids: Collection[str]) -> None:
    """Let the time to live of records that have one start now."""
    await connection.execute(_sql("restart_ttl"), {"owner_id": owner_id, "ids": list(ids)})
    await search.refresh(connection, [(owner_id, memory_id) for memory_id in ids])


async def _set(
    connection: AsyncConnection, owner_id: UUID, ids: Collection[str], values: Mapping[str, Any]
) -> Sequence[MemoryRow]:
    if not ids:
        return []
    query = (
        update(memories)
        .where(memories.c.owner_id == owner_id, among(memories.c.id, ids))
        .values(dict(values))
        .returning(memories)
    )
    rows = await all_rows(connection, MemoryRow, query)
    await search.refresh(connection, [(owner_id, memory_id) for memory_id in ids])
    return rows


async def count_accesses(
    connection: AsyncConnection, counts: Mapping[MemoryKey, int], at: datetime
) -> None:
    """Add to the access counts of memories, and note when they were accessed last."""
    binds = {
        "at": at,
        "owners": [owner_id for owner_id, _ in counts],
        "ids": [memory_id for _, memory_id in counts],
        "times": list(counts.values()),
    }
    await connection.execute(_sql("count_accesses"), binds)
