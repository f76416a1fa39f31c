"""What the ways into the store share: plain JSON in and out, and one kind of refusal."""

import asyncio
from collections.abc import Awaitable, Sequence
from typing import Any

from remembrancer import (
    User,
)

Json = dict[str, Any]


class Refused(Exception):
    """A request was refused: with which status, for which fields, and what else was said."""

    def __init__(self, status: int, fields: Sequence[str] = (), **extra: Any) -> None:
        super().__init__(f"{status} {list(fields)} {extra}")
        self.status = status
        self.fields = list(fields)
        self.extra = extra


async def refusals(*calls: Awaitable[Any]) -> list[Refused]:
    """How each of several calls was refused; fails if one was not."""
    ended = await asyncio.gather(*calls, return_exceptions=True)
    for index, one in enumerate(ended):
        if not isinstance(one, Refused):
            raise AssertionError(f"call {index} was not refused: {one!r}")
    return ended  # type: ignore[return-value]


class Door:
    """One way into the store. One made by :meth:`of` can only be its user; others name one.

    ``PythonDoor`` and ``RestDoor`` have the same methods; a test holds them against each other.
    """

    async def of(self, user: User) -> "Door":
        """Return this door for somebody who can only be ``user``."""
        raise NotImplementedError

    async def as_admin(self) -> "Door":
        """Return this door for an admin."""
        raise NotImplementedError

    async def source(self, user: Any) -> Json:
        """A conversation and a message of a user, for memories to cite; no recall returns it."""
        talk = await self.open(user=user)
        stored = await self.say(talk["id"], [{"role": "system", "content": "Hi"}], user=user)
        return {"conversation_id": talk["id"], "message_id": stored["messages"][0]["id"]}

    async def contents(self, query: Any, **asked: Any) -> list[str]:
        """What is recalled, as texts."""
        return [hit["content"] for hit in (await self.recall(query, **asked))["hits"]]


def id_of(thing: Any) -> Any:
    return getattr(thing, "id", thing)


def decisions_of(decided: Any) -> list[Json]:
    return [
        {"memory_id": one, "decision": what, **(more[0] if more else {})}
        for one, what, *more in decided
    ]
