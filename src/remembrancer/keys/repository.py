"""The only writer of API keys."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    ColumnElement,
    DateTime,
    Uuid,
    and_,
    cast,
    column,
    delete,
    func,
    insert,
    or_,
    select,
    true,
    update,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.db.rows import all_rows, first_row, one_row
from remembrancer.db.tables import api_keys, users
from remembrancer.keys import sessions
from remembrancer.keys.schemas import Key

_VALID: Final = and_(
    api_keys.c.revoked_at.is_(None),
    or_(api_keys.c.expires_at.is_(None), api_keys.c.expires_at > func.now()),
)
_LONGEST_RETIRED: Final = 190
_INSTANT: Final = DateTime(timezone=True)


@dataclass(frozen=True, slots=True)
class HolderRow:
    """A valid key with the current and the former ids of its user."""

    id: UUID
    role: str
    user_id: UUID | None
    merged_ids: Sequence[UUID]


async def add(connection: AsyncConnection, values: Mapping[str, object]) -> Key:
    return await one_row(connection, Key, insert(api_keys).values(values).returning(api_keys))


async def find_by_hash(connection: AsyncConnection, key_hash: bytes) -> Key | None:
    """Return a key, valid or not, by the hash of its secret."""
    query = select(api_keys).where(api_keys.c.hash == key_hash)
    return await first_row(connection, Key, query)


async def list_all(connection: AsyncConnection, user_id: UUID | None) -> list[Key]:
    """Return the keys of a user, or without one of everybody."""
    query = select(api_keys).where(_of(user_id)).order_by(api_keys.c.id)
    return await all_rows(connection, Key, query)


async def find(connection: AsyncConnection, key: UUID | str, user_id: UUID | None) -> list[Key]:
    """Lock the key with an id, or the valid keys with a name; of a user, if given."""
    named = and_(api_keys.c.name == key, _VALID)
    condition = and_(api_keys.c.id == key if isinstance(key, UUID) else named, _of(user_id))
    query = select(api_keys).where(condition).order_by(api_keys.c.id).with_for_update()
    return await all_rows(connection, Key, query)


def _of(user_id: UUID | None) -> ColumnElement[bool]:
    """Return the condition that a key is of a user, or of one who was merged into them."""
    if user_id is None:
        return true()
    people = select(users.c.id).where(or_(users.c.id == user_id, users.c.merged_into == user_id))
    return api_keys.c.user_id.in_(people)


async def revoke(connection: AsyncConnection, key_id: UUID) -> Key:
    """Keep the time of an earlier revocation."""
    return await _change(
        connection, key_id, revoked_at=func.coalesce(api_keys.c.revoked_at, func.now())
    )


async def note_uses(connection: AsyncConnection, times: Mapping[UUID, datetime]) -> None:
    """Note the last use of keys; a key that was revoked before is none."""
    used = (
        func.unnest(cast(list(times), ARRAY(Uuid)), cast(list(times.values()), ARRAY(_INSTANT)))
        .table_valued(column("id", Uuid), column("at", _INSTANT))
        .render_derived(name="used")
    )
    change = (
        update(api_keys)
        .where(
            api_keys.c.id == used.c.id,
            or_(api_keys.c.revoked_at.is_(None), api_keys.c.revoked_at > used.c.at),
        )
        .values(last_used_at=func.greatest(api_keys.c.last_used_at, used.c.at))
    )
    await connection.execute(change)


async def retire(connection: AsyncConnection, key_id: UUID, grace: int) -> Key:
    """Let a key expire in ``grace`` seconds at the latest, and free its name for another."""
    return await _change(
        connection,
        key_id,
        name=func.left(api_keys.c.name, _LONGEST_RETIRED) + " (old)",
        expires_at=func.least(api_keys.c.expires_at, func.now() + timedelta(seconds=grace)),
    )


async def _change(connection: AsyncConnection, key_id: UUID, **values: object) -> Key:
    change = update(api_keys).where(api_keys.c.id == key_id).values(values).returning(api_keys)
    return await one_row(connection, Key, change)


async def holder(connection: AsyncConnection, condition: ColumnElement[bool]) -> HolderRow | None:
    person, former = users.alias(), users.alias()
    survivor = func.coalesce(person.c.merged_into, person.c.id)
    merged_ids = func.array(
        select(former.c.id).where(former.c.merged_into == survivor).scalar_subquery()
    )
    query = (
        select(
            api_keys.c.id,
            api_keys.c.role,
            func.coalesce(person.c.merged_into, api_keys.c.user_id).label("user_id"),
            merged_ids.label("merged_ids"),
        )
        .outerjoin(person, person.c.id == api_keys.c.user_id)
        .where(condition, _VALID)
    )
    return await first_row(connection, HolderRow, query)


async def erase(connection: AsyncConnection, user_id: UUID) -> Counter[str]:
    """Delete the keys, sessions and links of a user and of the users merged into them.

    Returns the rows deleted, by table.
    """
    counts = await sessions.erase(connection, user_id)
    removal = delete(api_keys).where(_of(user_id))
    return counts + Counter(api_keys=(await connection.execute(removal)).rowcount)
