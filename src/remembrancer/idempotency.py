"""Repeated requests: the same key and the same request are carried out once.

The key is written in the transaction that does the work, so the two cannot part. What is
kept of the answer is ids, from which it can be told again.
"""

import hashlib
from typing import Any

from pydantic_core import to_json
from sqlalchemy import delete, func, select, text, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.access import Actor
from remembrancer.db.tables import idempotency_keys as keys
from remembrancer.errors import IdempotencyMismatch, InvalidInput
from remembrancer.ids import SHARED_OWNER

KEPT_FOR = "24 hours"
LONGEST_KEY = 255


class Once:
    """One use of an idempotency key inside an open transaction."""

    def __init__(self, connection: AsyncConnection, actor: Actor, action: str, key: str) -> None:
        if not 0 < len(key) <= LONGEST_KEY or not key.isprintable():
            raise InvalidInput(
                f"must be 1 to {LONGEST_KEY} printable characters", field="idempotency_key"
            )
        self._connection = connection
        self._row = {
            "owner_id": actor.user_id or SHARED_OWNER,
            "action": action,
            "key": key,
        }

    async def earlier_answer(self, request: Any) -> Any | None:
        """Claim the key for ``request``; return the answer if it was carried out before.

        Waits for a transaction that holds the key. Raises ``IdempotencyMismatch`` when
        the key stood for another request.
        """
        fingerprint = hashlib.sha256(to_json(request)).digest()
        claim = insert(keys).values(**self._row, fingerprint=fingerprint)
        claimed = claim.on_conflict_do_nothing().returning(keys.c.key)
        if (await self._connection.execute(claimed)).first():
            return None
        row = (await self._connection.execute(self._mine(select(keys)))).one()
        if row.fingerprint != fingerprint:
            raise IdempotencyMismatch(
                "this key was used for a different request", field="idempotency_key"
            )
        return row.answer

    async def keep(self, answer: Any) -> None:
        """Keep the ids of ``answer`` for the next time the key comes."""
        await self._connection.execute(self._mine(update(keys)).values(answer=answer))

    def _mine(self, statement: Any) -> Any:
        for name, value in self._row.items():
            statement = statement.where(keys.c[name] == value)
        return statement


async def forget_old_keys(connection: AsyncConnection) -> int:
    """Remove keys older than a day; return how many."""
    old = keys.c.created_at < func.now() - text(f"interval '{KEPT_FOR}'")
    return (await connection.execute(delete(keys).where(old))).rowcount
