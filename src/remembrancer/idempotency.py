"""Repeated requests: the same key and the same request are carried out once.

The key is written in the transaction that does the work, so the two cannot part. What is
kept of the answer is ids, from which it can be told again.
"""

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

from pydantic_core import to_json
from sqlalchemy import ColumnElement, and_, delete, func, select, text, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.access import Actor
from remembrancer.db.tables import idempotency_keys as keys
from remembrancer.errors import IdempotencyMismatch, InvalidInput
from remembrancer.ids import SHARED_OWNER

KEPT_FOR: Final = "24 hours"
LONGEST_KEY: Final = 255


@dataclass(slots=True)
class Answer:
    """``earlier`` is what was kept the first time, null if this is it; then set ``keep``."""

    earlier: Any = None
    keep: Any = None


@asynccontextmanager
async def once(
    connection: AsyncConnection, actor: Actor, action: str, key: str | None, request: Any
) -> AsyncIterator[Answer]:
    """Claim ``key`` for ``request`` in the open transaction; without a key, do nothing.

    Waits for a transaction that holds the key. Raises ``IdempotencyMismatch`` when the key
    stood for another request.
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
        await connection.execute(update(keys).where(_is(row)).values(answer=answer.keep))


async def _claim(connection: AsyncConnection, row: dict[str, Any], fingerprint: bytes) -> Any:
    claim = insert(keys).values(**row, fingerprint=fingerprint).on_conflict_do_nothing()
    if (await connection.execute(claim.returning(keys.c.key))).first():
        return None
    held = (await connection.execute(select(keys).where(_is(row)))).one()
    if held.fingerprint != fingerprint:
        raise IdempotencyMismatch(
            "this key was used for a different request", field="Idempotency-Key"
        )
    return held.answer


def _is(row: dict[str, Any]) -> ColumnElement[bool]:
    return and_(*(keys.c[name] == value for name, value in row.items()))


async def forget_old_keys(connection: AsyncConnection) -> int:
    """Remove keys older than a day; return how many."""
    old = keys.c.created_at < func.now() - text(f"interval '{KEPT_FOR}'")
    return (await connection.execute(delete(keys).where(old))).rowcount
