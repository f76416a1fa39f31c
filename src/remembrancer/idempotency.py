"""Idempotency keys: repeating a request with the same key does nothing.

The key is written in the transaction of the request. It stores only the ids of the answer, from
which the answer is built again. The only writer of idempotency keys.
"""

import hashlib
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from pydantic_core import to_json
from sqlalchemy import ColumnElement, and_, delete, func, select, text, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.access import Actor
from remembrancer.db.tables import idempotency_keys as keys
from remembrancer.db.transfers import change_owner
from remembrancer.errors import IdempotencyMismatch, InvalidInput
from remembrancer.ids import SHARED_OWNER

LIFETIME: Final = "24 hours"
LONGEST_KEY: Final = 255


@dataclass(slots=True)
class Answer:
    """``earlier`` is the answer to the first request. If it is None, the caller sets ``new``."""

    earlier: Any = None
    new: Any = None


@asynccontextmanager
async def once(
    connection: AsyncConnection, actor: Actor, action: str, key: str | None, request: Any
) -> AsyncIterator[Answer]:
    """Claim ``key`` for ``request`` in the open transaction; do nothing without a key.

    Waits for another transaction with the key. Raises ``IdempotencyMismatch`` if the key was used
    for another request.
    """
    if key is None:
        yield Answer()
        return
    if not 0 < len(key) <= LONGEST_KEY or not key.isprintable():
        raise InvalidInput(
            f"must be 1 to {LONGEST_KEY} printable characters", field="Idempotency-Key"
        )
    row = {"owner_id": actor.user_id or SHARED_OWNER, "action": action, "key": key}
    fingerprint = hashlib.sha256(to_json(request)).digest()
    answer = Answer(earlier=await _claim(connection, row, fingerprint))
    yield answer
    if answer.earlier is None:
        await connection.execute(update(keys).where(_is(row)).values(answer=answer.new))


async def _claim(connection: AsyncConnection, row: Mapping[str, object], fingerprint: bytes) -> Any:
    claim = insert(keys).values(**row, fingerprint=fingerprint).on_conflict_do_nothing()
    if (await connection.execute(claim.returning(keys.c.key))).first():
        return None
    query = select(keys.c.fingerprint, keys.c.answer).where(_is(row))
    known_fingerprint, answer = (await connection.execute(query)).one()
    if known_fingerprint != fingerprint:
        raise IdempotencyMismatch(
            "this key was used for a different request", field="Idempotency-Key"
        )
    return answer


def _is(row: Mapping[str, object]) -> ColumnElement[bool]:
    return and_(*(keys.c[name] == value for name, value in row.items()))


async def delete_old_keys(connection: AsyncConnection) -> int:
    """Delete keys older than a day; return their number."""
    old = keys.c.created_at < func.now() - text(f"interval '{LIFETIME}'")
    return (await connection.execute(delete(keys).where(old))).rowcount


async def transfer(connection: AsyncConnection, giver: UUID, taker: UUID) -> None:
    """Move an owner's keys: after a merge, a repeated request is still the same request."""
    await connection.execute(change_owner(keys, giver, taker))


async def erase(connection: AsyncConnection, user_id: UUID) -> Counter[str]:
    removal = delete(keys).where(keys.c.owner_id == user_id)
    return Counter(idempotency_keys=(await connection.execute(removal)).rowcount)
