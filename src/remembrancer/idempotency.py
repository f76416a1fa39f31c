"""Idempotency keys: repeating a request with the same key does nothing.

The key is written in the transaction of the request. It stores only the ids of the answer, from
which the answer is built again. The only writer of idempotency keys.
"""

import hashlib
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from pydantic_core import to_json
from sqlalchemy import delete, text
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.db.deletions import delete_rows
from remembrancer.db.tables import idempotency_keys as keys
from remembrancer.db.transfers import change_owner
from remembrancer.db.trips import Trip, together
from remembrancer.errors import IdempotencyMismatch, InvalidInput
from remembrancer.ids import SHARED_OWNER

LONGEST_KEY: Final = 255

_OWNER: Final = f"coalesce(app_user_id(), '{SHARED_OWNER}')"
_IS: Final = f"owner_id = {_OWNER} AND action = :action AND key = :key"
_CLAIM: Final = text(f"""
    INSERT INTO idempotency_keys (owner_id, action, key, fingerprint)
    VALUES ({_OWNER}, :action, :key, :fingerprint)
    ON CONFLICT DO NOTHING
""")  # noqa: S608 - of constants
_FIND: Final = text(f"SELECT fingerprint, answer FROM idempotency_keys WHERE {_IS}")  # noqa: S608 - of constants
_ANSWER: Final = text(f"UPDATE idempotency_keys SET answer = CAST(:answer AS jsonb) WHERE {_IS}")  # noqa: S608 - of constants


@dataclass(slots=True)
class Answer:
    """``earlier`` is the answer to the first request. If it is None, the caller sets ``new``."""

    earlier: Any = None
    new: Any = None


@dataclass(frozen=True, slots=True)
class _StoredAnswer:
    fingerprint: bytes
    answer: Any


class Claim:
    """The claim of a key for a request, in the transaction that serves it; none without a key.

    Raises ``InvalidInput`` for what can be no key.
    """

    def __init__(self, action: str, key: str | None, request: object) -> None:
        if key is not None and (not 0 < len(key) <= LONGEST_KEY or not key.isprintable()):
            raise InvalidInput(
                f"must be 1 to {LONGEST_KEY} printable characters", field="Idempotency-Key"
            )
        self._key = {"action": action, "key": key}
        self._fingerprint = b"" if key is None else hashlib.sha256(to_json(request)).digest()
        self._stored: Sequence[_StoredAnswer] | None = None
        self._end: Trip | None = None

    def add(self, trip: Trip) -> None:
        """Claim the key, and read what is stored of it. Waits for a transaction that has it."""
        if self._key["key"] is not None:
            trip.add(_CLAIM, self._key | {"fingerprint": self._fingerprint})
            self._stored = trip.add(_FIND, self._key, _StoredAnswer)
            self._end = trip.end

    @asynccontextmanager
    async def once(self, connection: AsyncConnection) -> AsyncIterator[Answer]:
        """Claim the key in a trip of its own, and yield the answer."""
        async with together(connection) as trip:
            self.add(trip)
        async with self.answer(connection) as answer:
            yield answer

    @asynccontextmanager
    async def answer(self, connection: AsyncConnection) -> AsyncIterator[Answer]:
        """Yield the earlier answer, after the trip; at the end, store a new one.

        Raises ``IdempotencyMismatch`` if the key was used for another request.
        """
        answer = Answer()
        if self._stored is not None:
            [stored] = self._stored
            answer.earlier = stored.answer
            if stored.fingerprint != self._fingerprint:
                raise IdempotencyMismatch(
                    "this key was used for a different request", field="Idempotency-Key"
                )
        yield answer
        if self._stored is not None and answer.earlier is None:
            binds = self._key | {"answer": to_json(answer.new).decode()}
            if self._end is not None:
                self._end.add(_ANSWER, binds)
                return
            async with together(connection) as trip:
                trip.add(_ANSWER, binds)


@asynccontextmanager
async def once(
    connection: AsyncConnection, action: str, key: str | None, request: object
) -> AsyncIterator[Answer]:
    """Claim ``key`` for ``request`` in the open transaction; do nothing without a key."""
    async with Claim(action, key, request).once(connection) as answer:
        yield answer


async def delete_old(connection: AsyncConnection, before: datetime, most: int) -> int:
    """Delete up to ``most`` keys from before a time; return how many."""
    return await delete_rows(connection, keys, keys.c.created_at < before, most)


async def transfer(connection: AsyncConnection, giver: UUID, taker: UUID) -> None:
    """Move an owner's keys: after a merge, a repeated request is still the same request."""
    await connection.execute(change_owner(keys, giver, taker))


async def erase(connection: AsyncConnection, user_id: UUID) -> Counter[str]:
    removal = delete(keys).where(keys.c.owner_id == user_id)
    return Counter(idempotency_keys=(await connection.execute(removal)).rowcount)
