"""Conversations, participants and messages in the database."""

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any, Final
from uuid import UUID

from sqlalchemy import exists, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.access import namespace_in_effect
from remembrancer.conversations.rows import (
    AppendedRow,
    AppendTarget,
    ConversationRow,
    MessageRow,
    StoredRow,
)
from remembrancer.conversations.schemas import PlatformMessageId
from remembrancer.db.keyset import Keyset
from remembrancer.db.plans import PLANNED_ONCE
from remembrancer.db.rows import all_rows, first_row, one_row
from remembrancer.db.sql import Statement, among, json_rows, numbered, statement, statement_text
from remembrancer.db.tables import conversations, messages, participants, withheld_messages
from remembrancer.db.trips import Trip
from remembrancer.paging import Page

Row = dict[str, Any]

_append = partial(statement, "remembrancer.conversations", "append")
_TARGET: Final = numbered(statement_text("remembrancer.conversations", "append", "target"))
_INSERT: Final = _append("insert", namespace=namespace_in_effect)
_EDIT: Final = _append("edit")
_COMPARE: Final = _append("compare")

_WITHHELD: Final = exists().where(
    withheld_messages.c.owner_id == messages.c.owner_id,
    withheld_messages.c.message_id == messages.c.id,
)

_PAGES: Final = Keyset("conversations", conversations.c.id, descending=True)


async def open_or_find(
    connection: AsyncConnection, values: dict[str, Any]
) -> tuple[ConversationRow, bool]:
    """Insert a conversation with its opener, or return the one with its platform id.

    The second value says whether it is new.
    """
    statement = insert(conversations).values(values).on_conflict_do_nothing()
    row = await first_row(connection, ConversationRow, statement.returning(conversations))
    if row is not None:
        opener = insert(participants).values(conversation_id=row.id, user_id=row.opened_by)
        await connection.execute(opener)
        return row, True
    same = [
        conversations.c[name].is_not_distinct_from(values[name])
        for name in ("platform", "platform_conversation_id", "agent_id")
    ]
    return await one_row(connection, ConversationRow, select(conversations).where(*same)), False


async def find(
    connection: AsyncConnection, conversation_id: UUID, *, lock: bool = False
) -> ConversationRow | None:
    """Return a conversation; locked against appends and summaries if asked."""
    query = select(conversations).where(conversations.c.id == conversation_id)
    return await first_row(connection, ConversationRow, query.with_for_update() if lock else query)


async def find_on_platform(
    connection: AsyncConnection,
    platform: str,
    platform_conversation_id: str,
    agent_id: UUID | None,
    *,
    participant: UUID | None = None,
) -> ConversationRow | None:
    """Return a conversation by its platform's id; with a participant, only one of theirs."""
    column = conversations.c
    query = select(conversations).where(
        column.platform == platform,
        column.platform_conversation_id == platform_conversation_id,
        column.agent_id.is_not_distinct_from(agent_id),
    )
    if participant is not None:
        of_theirs = select(participants.c.conversation_id).where(
            participants.c.user_id == participant
        )
        query = query.where(column.id.in_(of_theirs))
    return await first_row(connection, ConversationRow, query)


async def participants_of(connection: AsyncConnection, conversation_id: UUID) -> frozenset[UUID]:
    query = select(participants.c.user_id).where(participants.c.conversation_id == conversation_id)
    return frozenset((await connection.execute(query)).scalars())


async def sender_of(
    connection: AsyncConnection, conversation_id: UUID, position: int
) -> UUID | None:
    """Return the owner of a message; null if it is gone."""
    query = select(messages.c.owner_id).where(
        messages.c.conversation_id == conversation_id, messages.c.position == position
    )
    return (await connection.execute(query)).scalar()


def append_target(
    conversation_id: UUID,
    user_id: UUID | None,
    *,
    user_ids: Sequence[UUID],
    platform_user_ids: Sequence[str],
    platform_message_ids: Sequence[str],
) -> Statement:
    """Return the query for an :class:`AppendTarget`; it has no row for an unknown conversation."""
    binds = {
        "conversation_id": conversation_id,
        "user_id": user_id,
        "user_ids": list(user_ids),
        "platform_user_ids": list(platform_user_ids),
        "platform_message_ids": list(platform_message_ids),
    }
    return Statement(_TARGET, binds, PLANNED_ONCE, AppendTarget)


def append(
    trip: Trip, conversation: AppendTarget, rows: Sequence[Mapping[str, object]]
) -> Sequence[AppendedRow]:
    """Let a trip insert messages at the end, and let their owners take part.

    No row comes back if the conversation is gone, and none for a message that it has. Its row
    stays locked until the transaction ends.
    """
    binds = {
        "conversation_id": conversation.id,
        "agent_id": conversation.agent_id,
        "count": len(rows),
        "messages": json_rows(rows),
    }
    return trip.add(_INSERT, binds, AppendedRow)


async def set_paused(
    connection: AsyncConnection, conversation_id: UUID, *, paused: bool
) -> ConversationRow | None:
    """Pause or resume remembering. A repeated pause keeps its first time."""
    column = conversations.c
    paused_at = func.coalesce(column.paused_at, func.now()) if paused else None
    change = update(conversations).where(column.id == conversation_id).values(paused_at=paused_at)
    return await first_row(connection, ConversationRow, change.returning(conversations))


async def set_summarised(connection: AsyncConnection, conversation_id: UUID, to: int) -> None:
    """Store the position up to which all messages are summarised."""
    change = update(conversations).where(conversations.c.id == conversation_id)
    await connection.execute(change.values(summarised_to=to))


async def page(
    connection: AsyncConnection, user_id: UUID, limit: int, cursor: str | None
) -> Page[ConversationRow]:
    """Return a page of a user's conversations, newest first."""
    query = (
        select(conversations)
        .join(participants, participants.c.conversation_id == conversations.c.id)
        .where(participants.c.user_id == user_id)
    )
    return await _PAGES.page(connection, ConversationRow, query, limit, cursor)


async def last_messages(
    connection: AsyncConnection, conversation_id: UUID, last: int, before: int | None
) -> list[MessageRow]:
    """Return the ``last`` messages (before a position if given), oldest first."""
    query = select(messages, _WITHHELD.label("withheld"))
    query = query.where(messages.c.conversation_id == conversation_id)
    if before is not None:
        query = query.where(messages.c.position < before)
    query = query.order_by(messages.c.position.desc()).limit(last)
    return (await all_rows(connection, MessageRow, query))[::-1]


async def find_messages(
    connection: AsyncConnection, conversation_id: UUID, refs: Collection[UUID | PlatformMessageId]
) -> list[MessageRow]:
    """Return the messages of a conversation with these ids, in order."""
    column = messages.c
    platform_ids = [ref for ref in refs if isinstance(ref, PlatformMessageId)]
    ids = [ref for ref in refs if isinstance(ref, UUID)]
    if not refs:
        return []
    named = [
        among(key, values)
        for key, values in ((column.id, ids), (column.platform_message_id, platform_ids))
        if values
    ]
    query = select(messages, _WITHHELD.label("withheld"))
    query = query.where(column.conversation_id == conversation_id, or_(*named))
    return await all_rows(connection, MessageRow, query.order_by(column.position))


async def compare(
    connection: AsyncConnection, conversation_id: UUID, contents: Mapping[str, str]
) -> list[StoredRow]:
    """Return which messages a conversation has, given their contents by the platform's ids."""
    binds = {
        "conversation_id": conversation_id,
        "platform_message_ids": list(contents),
        "contents": list(contents.values()),
    }
    return await all_rows(connection, StoredRow, _COMPARE, binds)


async def edit(connection: AsyncConnection, contents: Mapping[tuple[UUID, UUID], str]) -> None:
    """Set the contents of messages, given by owner and id."""
    binds = {
        "owners": [owner_id for owner_id, _ in contents],
        "ids": [message_id for _, message_id in contents],
        "contents": list(contents.values()),
    }
    await connection.execute(_EDIT, binds)


async def restore(connection: AsyncConnection, row: Row, user_id: UUID) -> None:
    """Insert a conversation of an export with its user, who has opened it then.

    Without the platform's id, if another conversation has it.
    """
    row = {**row, "opened_by": user_id}
    new = insert(conversations).values(row).on_conflict_do_nothing().returning(conversations.c.id)
    added = (await connection.execute(new)).first()
    if added is None:
        row |= {"platform_conversation_id": None}
        await connection.execute(insert(conversations).values(row))
    joined = {"user_id": user_id, "conversation_id": row["id"]}
    await connection.execute(insert(participants).values(joined))


async def restore_messages(connection: AsyncConnection, rows: Sequence[Row]) -> set[UUID]:
    """Insert messages of an export at their positions, and return the ids of those that are new.

    Where another message has the position, and beyond the last message, at the end.
    """
    by_talk: dict[UUID, list[Row]] = {}
    for row in rows:
        by_talk.setdefault(row["conversation_id"], []).append(row)
    for talk_id, of_talk in sorted(by_talk.items()):
        query = select(conversations.c.message_count).filter_by(id=talk_id).with_for_update()
        count = int((await connection.execute(query)).scalar_one())
        column = messages.c
        at = select(column.position).where(
            column.conversation_id == talk_id,
            among(column.position, [row["position"] for row in of_talk]),
        )
        taken = set((await connection.execute(at)).scalars())
        last = count
        for row in of_talk:
            if row["position"] > count or row["position"] in taken:
                last += 1
                row["position"] = last
            taken.add(row["position"])
        if last > count:
            change = update(conversations).filter_by(id=talk_id).values(message_count=last)
            await connection.execute(change)
    if not rows:
        return set()
    new = insert(messages).values(list(rows)).on_conflict_do_nothing()
    return set((await connection.execute(new.returning(messages.c.id))).scalars())


async def messages_after(
    connection: AsyncConnection, conversation_id: UUID, position: int, count: int
) -> list[MessageRow]:
    """Return the messages to remember among the ``count`` positions after one, in order.

    Without those off the record, and those that a forgotten memory withholds.
    """
    column = messages.c
    query = (
        select(messages, _WITHHELD.label("withheld"))
        .where(column.conversation_id == conversation_id, column.position > position)
        .where(column.position <= position + count, ~column.off_record, ~_WITHHELD)
        .order_by(column.position)
    )
    return await all_rows(connection, MessageRow, query)


async def position(
    connection: AsyncConnection, conversation_id: UUID, message_id: UUID
) -> int | None:
    """Return the position of a message; None if it is not in the conversation."""
    query = select(messages.c.position).filter_by(conversation_id=conversation_id, id=message_id)
    number: int | None = (await connection.execute(query)).scalar_one_or_none()
    return number
