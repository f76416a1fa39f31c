"""Messages that say what a memory says: out of recall and prompts while it is forgotten.

Only messages of the memory's owner, in the namespaces that the memory is in (decision 29).
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.access import Actor, may_change
from remembrancer.db.rows import all_rows
from remembrancer.db.sql import statement
from remembrancer.memories import repository
from remembrancer.search import repository as search
from remembrancer.users import repository as users

SAME: Final = 0.90
"""Cosine similarity from which a message says the same as a memory, wherever it was said."""
SOURCE: Final = 0.60
"""Cosine similarity from which a message can be what a memory was stored from, just before."""
SIMILAR: Final = 0.80
"""Cosine similarity from which a message that stays in recall is counted in the answer."""

RemakeChunks = Callable[[AsyncConnection, Mapping[UUID, Collection[int]]], Awaitable[object]]
"""Makes the summaries over messages anew, given by conversation and position."""

_sql = partial(statement, "remembrancer.memories", "source_messages")


@dataclass(frozen=True, slots=True)
class SourceMessage:
    """A message, and whether it certainly says what the memory says."""

    memory_id: str
    id: UUID
    conversation_id: UUID
    position: int
    certain: bool


@dataclass(frozen=True, slots=True)
class ErasableMessage:
    id: UUID
    conversation_id: UUID


async def lock(
    connection: AsyncConnection, actor: Actor, memory_id: str, *, withheld: bool = False
) -> Sequence[SourceMessage]:
    """Do what :func:`lock_all` does, for a memory; none if the actor may not change it."""
    row = await repository.find(connection, actor, memory_id)
    if row is None or not may_change(actor, row.owner_id):
        return []
    if actor.user_id is not None:
        await users.hold(connection, [actor.user_id])
    return await lock_all(connection, row.owner_id, [row.id], withheld=withheld)


async def lock_all(
    connection: AsyncConnection, owner_id: UUID, ids: Sequence[str], *, withheld: bool = False
) -> Sequence[SourceMessage]:
    """Return the messages of memories, or those they have ``withheld``; lock their conversations.

    After the user and before the memories, in the order of every writer.
    """
    limits = {} if withheld else {"same": SAME, "source": SOURCE, "similar": SIMILAR}
    binds = {"owner_id": owner_id, "ids": ids, **limits}
    name = "withheld" if withheld else "find"
    messages = await all_rows(connection, SourceMessage, _sql(name), binds)
    talks = sorted({message.conversation_id for message in messages if message.certain})
    await connection.execute(_sql("lock_conversations"), {"ids": talks})
    return messages


async def withhold(
    connection: AsyncConnection,
    owner_id: UUID,
    messages: Sequence[SourceMessage],
    remake_chunks: RemakeChunks,
) -> None:
    """Take messages out of recall and prompts with memories, and have their summaries remade."""
    binds = {
        "owner_id": owner_id,
        "memory_ids": [message.memory_id for message in messages],
        "message_ids": [message.id for message in messages],
    }
    await connection.execute(_sql("withhold"), binds)
    await _refresh(connection, owner_id, messages, remake_chunks)


async def restore(
    connection: AsyncConnection, owner_id: UUID, withheld: Collection[tuple[str, UUID]]
) -> None:
    """Note which memories, given with messages of an export, have taken these out of recall."""
    binds = {
        "owner_id": owner_id,
        "memory_ids": [memory_id for memory_id, _ in withheld],
        "message_ids": [message_id for _, message_id in withheld],
    }
    await connection.execute(_sql("withhold"), binds)


async def release(
    connection: AsyncConnection,
    owner_id: UUID,
    ids: Sequence[str],
    messages: Sequence[SourceMessage],
    remake_chunks: RemakeChunks,
) -> None:
    """Bring the messages of restored memories back, but for those that others withhold."""
    await connection.execute(_sql("release"), {"owner_id": owner_id, "ids": ids})
    await _refresh(connection, owner_id, messages, remake_chunks)


async def _refresh(
    connection: AsyncConnection,
    owner_id: UUID,
    messages: Sequence[SourceMessage],
    remake_chunks: RemakeChunks,
) -> None:
    if not messages:
        return
    ids = {message.id for message in messages}
    await search.refresh_messages(connection, [(owner_id, message_id) for message_id in ids])
    positions: dict[UUID, set[int]] = {}
    for message in messages:
        positions.setdefault(message.conversation_id, set()).add(message.position)
    await remake_chunks(connection, positions)


async def erasable(
    connection: AsyncConnection, owner_id: UUID, memory_ids: Sequence[str]
) -> Sequence[ErasableMessage]:
    """Return the messages to erase with forgotten memories; not those that another one cites."""
    keys = {"owner_id": owner_id, "memory_ids": list(memory_ids)}
    return await all_rows(connection, ErasableMessage, _sql("erasable"), keys)


async def erase(
    connection: AsyncConnection, owner_id: UUID, message_ids: Sequence[UUID] | None = None
) -> Counter[str]:
    """Delete the rows of messages that are erased, by default all of the owner's."""
    ids = None if message_ids is None else list(message_ids)
    deleted = await connection.execute(_sql("erase"), {"owner_id": owner_id, "ids": ids})
    return Counter(withheld_messages=deleted.rowcount)


async def transfer(
    connection: AsyncConnection,
    giver: UUID,
    taker: UUID,
    message_ids: Sequence[UUID],
    *,
    renamed: Mapping[str, str],
) -> None:
    """Move the rows of messages that move to ``taker``; ``renamed`` has new ids of memories."""
    binds = {"olds": list(renamed), "news": list(renamed.values()), "ids": list(message_ids)}
    await connection.execute(_sql("transfer"), {"giver": giver, "taker": taker, **binds})
