"""The ways into the store, behind one interface: a case is written once and tried at each.

Everything that goes in and comes out is plain JSON, as a client sees it. What is refused
raises :class:`Refused`, whichever way the door says so.
"""

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote, urlencode
from uuid import UUID

import httpx2
from pydantic import TypeAdapter, ValidationError
from support import Api

from remembrancer import (
    Actor,
    AgentCreate,
    AgentUpdate,
    ConversationCreate,
    MemoryCreate,
    MemoryFilter,
    MemoryUpdate,
    MessageCreate,
    PlatformLink,
    RecallQuery,
    Remembrancer,
    RemembrancerError,
    ResolveUser,
    Role,
    User,
    UserUpdate,
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


class Door(ABC):
    """One way in. A door made by :meth:`of` can only be its user; others name one."""

    @abstractmethod
    async def of(self, user: User) -> "Door":
        """This door for somebody who can only be ``user``."""

    @abstractmethod
    async def resolve(self, **who: Any) -> Json: ...

    @abstractmethod
    async def change_user(self, user_id: Any, **changes: Any) -> Json: ...

    @abstractmethod
    async def user(self, user_id: Any) -> Json: ...

    @abstractmethod
    async def links(self, user: Any) -> list[Json]: ...

    @abstractmethod
    async def link(self, user: Any, **link: Any) -> Json: ...

    @abstractmethod
    async def unlink(self, user: Any, **link: Any) -> None: ...

    @abstractmethod
    async def merge(self, user: Any, other: Any) -> Json: ...

    @abstractmethod
    async def unmerge(self, user: Any, undo_id: Any) -> Json: ...

    @abstractmethod
    async def create_agent(self, **agent: Any) -> Json: ...

    @abstractmethod
    async def change_agent(self, agent_id: Any, **changes: Any) -> Json: ...

    @abstractmethod
    async def remember(
        self, content: Any, *, user: Any = None, agent: Any = None, key: Any = None, **fields: Any
    ) -> Json: ...

    @abstractmethod
    async def remember_many(
        self, memories: Sequence[Json], *, user: Any = None, agent: Any = None, key: Any = None
    ) -> list[Json]: ...

    @abstractmethod
    async def read(self, memory_id: str, *, user: Any = None, agent: Any = None) -> Json: ...

    @abstractmethod
    async def update(
        self, memory_id: str, *, user: Any = None, if_version: int | None = None, **changes: Any
    ) -> Json: ...

    @abstractmethod
    async def forget(self, memory_id: str, *, user: Any = None) -> Json: ...

    @abstractmethod
    async def restore(self, memory_id: str, *, user: Any = None) -> Json: ...

    @abstractmethod
    async def pin(self, memory_id: str, *, user: Any = None, pinned: bool = True) -> Json: ...

    @abstractmethod
    async def listed(
        self,
        *,
        user: Any = None,
        agent: Any = None,
        limit: int = 50,
        cursor: str | None = None,
        **wanted: Any,
    ) -> Json: ...

    @abstractmethod
    async def recall(
        self, query: Any, *, user: Any = None, agent: Any = None, **wanted: Any
    ) -> Json: ...

    @abstractmethod
    async def open(
        self, *, user: Any = None, agent: Any = None, key: Any = None, **fields: Any
    ) -> Json: ...

    @abstractmethod
    async def say(
        self, conversation_id: Any, messages: Sequence[Json], *, user: Any = None, key: Any = None
    ) -> Json: ...

    @abstractmethod
    async def window(
        self, conversation_id: Any, *, user: Any = None, last: int = 20, before: int | None = None
    ) -> list[Json]: ...

    async def contents(self, query: Any, **asked: Any) -> list[str]:
        """What is recalled, as texts."""
        return [hit["content"] for hit in (await self.recall(query, **asked))["hits"]]


def _id(thing: Any) -> Any:
    return getattr(thing, "id", thing)


def _fields_of(error: ValidationError) -> list[str]:
    found = []
    for each in error.errors():
        name, _, rule = str(each["msg"]).removeprefix("Value error, ").partition(": ")
        path = [str(part) for part in each["loc"]]
        found.append(".".join([*path, name] if rule and each["type"] == "value_error" else path))
    return found


def _parsed(kind: Any, value: Any, *, within: str = "") -> Any:
    """``value`` as the library's type; refused like a request if it is none."""
    try:
        return TypeAdapter(kind).validate_python(value)
    except ValidationError as error:
        raise Refused(422, [within + field for field in _fields_of(error)]) from error


@dataclass(frozen=True)
class PythonDoor(Door):
    """The services, called in this process."""

    memory: Remembrancer
    actor: Actor

    async def of(self, user: User) -> "PythonDoor":
        return replace(self, actor=Actor(Role.USER, user_id=user.id))

    def _for(self, user: Any, agent: Any = None) -> Actor:
        ids = [_parsed(UUID | None, _id(one)) for one in (user, agent)]
        return self.actor.acting_for(*ids)

    async def _tried(self, call: Callable[[], Any]) -> Any:
        try:
            answer = await call()
        except RemembrancerError as error:
            fields = [error.field] if error.field else []
            raise Refused(error.status, fields, **error.extra) from error
        return TypeAdapter(Any).dump_python(answer, mode="json")

    async def resolve(self, **who: Any) -> Json:
        wanted = _parsed(ResolveUser, who)
        return await self._tried(lambda: self.memory.users.resolve(self.actor, wanted))

    async def change_user(self, user_id: Any, **changes: Any) -> Json:
        wanted = _parsed(UserUpdate, changes)
        return await self._tried(lambda: self.memory.users.update(self.actor, _id(user_id), wanted))

    async def user(self, user_id: Any) -> Json:
        return await self._tried(lambda: self.memory.users.get(self.actor, _id(user_id)))

    async def links(self, user: Any) -> list[Json]:
        return await self._tried(lambda: self.memory.identity.links(self.actor, _id(user)))

    async def link(self, user: Any, **link: Any) -> Json:
        wanted = _parsed(PlatformLink, link)
        return await self._tried(lambda: self.memory.identity.link(self.actor, _id(user), wanted))

    async def unlink(self, user: Any, **link: Any) -> None:
        wanted = _parsed(PlatformLink, link)
        await self._tried(lambda: self.memory.identity.unlink(self.actor, _id(user), wanted))

    async def merge(self, user: Any, other: Any) -> Json:
        return await self._tried(
            lambda: self.memory.identity.merge(self.actor, _id(user), _id(other))
        )

    async def unmerge(self, user: Any, undo_id: Any) -> Json:
        which = _parsed(UUID, undo_id)
        return await self._tried(
            lambda: self.memory.identity.undo_merge(self.actor, _id(user), which)
        )

    async def create_agent(self, **agent: Any) -> Json:
        wanted = _parsed(AgentCreate, agent)
        return await self._tried(lambda: self.memory.agents.create(self.actor, wanted))

    async def change_agent(self, agent_id: Any, **changes: Any) -> Json:
        wanted = _parsed(AgentUpdate, changes)
        return await self._tried(
            lambda: self.memory.agents.update(self.actor, _id(agent_id), wanted)
        )

    async def remember(
        self, content: Any, *, user: Any = None, agent: Any = None, key: Any = None, **fields: Any
    ) -> Json:
        statement = _parsed(MemoryCreate, {"content": content, **fields})
        return await self._tried(
            lambda: self.memory.memories.remember(
                self._for(user, agent), statement, idempotency_key=key
            )
        )

    async def remember_many(
        self, memories: Sequence[Json], *, user: Any = None, agent: Any = None, key: Any = None
    ) -> list[Json]:
        statements = _parsed(list[MemoryCreate], memories, within="memories.")
        return await self._tried(
            lambda: self.memory.memories.remember_many(
                self._for(user, agent), statements, idempotency_key=key
            )
        )

    async def read(self, memory_id: str, *, user: Any = None, agent: Any = None) -> Json:
        return await self._tried(
            lambda: self.memory.memories.get(self._for(user, agent), memory_id)
        )

    async def update(
        self, memory_id: str, *, user: Any = None, if_version: int | None = None, **changes: Any
    ) -> Json:
        wanted = _parsed(MemoryUpdate, changes)
        return await self._tried(
            lambda: self.memory.memories.update(
                self._for(user), memory_id, wanted, if_version=if_version
            )
        )

    async def forget(self, memory_id: str, *, user: Any = None) -> Json:
        return await self._tried(lambda: self.memory.memories.forget(self._for(user), memory_id))

    async def restore(self, memory_id: str, *, user: Any = None) -> Json:
        return await self._tried(lambda: self.memory.memories.restore(self._for(user), memory_id))

    async def pin(self, memory_id: str, *, user: Any = None, pinned: bool = True) -> Json:
        return await self._tried(
            lambda: self.memory.memories.pin(self._for(user), memory_id, pinned=pinned)
        )

    async def listed(
        self,
        *,
        user: Any = None,
        agent: Any = None,
        limit: int = 50,
        cursor: str | None = None,
        **wanted: Any,
    ) -> Json:
        asked = _parsed(MemoryFilter, wanted)
        return await self._tried(
            lambda: self.memory.memories.list(
                self._for(user, agent), asked, limit=limit, cursor=cursor
            )
        )

    async def recall(
        self, query: Any, *, user: Any = None, agent: Any = None, **wanted: Any
    ) -> Json:
        asked = _parsed(RecallQuery, {"query": query, **wanted})
        return await self._tried(lambda: self.memory.recalls.recall(self._for(user, agent), asked))

    async def open(
        self, *, user: Any = None, agent: Any = None, key: Any = None, **fields: Any
    ) -> Json:
        wanted = _parsed(ConversationCreate, {"agent_id": _id(agent), **fields})
        return await self._tried(
            lambda: self.memory.conversations.create(self._for(user), wanted, idempotency_key=key)
        )

    async def say(
        self, conversation_id: Any, messages: Sequence[Json], *, user: Any = None, key: Any = None
    ) -> Json:
        where = _parsed(UUID, conversation_id)
        what = _parsed(list[MessageCreate], messages, within="messages.")
        return await self._tried(
            lambda: self.memory.conversations.append(
                self._for(user), where, what, idempotency_key=key
            )
        )

    async def window(
        self, conversation_id: Any, *, user: Any = None, last: int = 20, before: int | None = None
    ) -> list[Json]:
        where = _parsed(UUID, conversation_id)
        return await self._tried(
            lambda: self.memory.conversations.window(
                self._for(user), where, last=last, before=before
            )
        )


@dataclass(frozen=True)
class RestDoor(Door):
    """The REST API, asked over HTTP."""

    api: Api
    headers: dict[str, str]

    async def of(self, user: User) -> "RestDoor":
        return replace(self, headers=await self.api.key_of(user))

    async def _send(
        self, method: str, path: str, body: Any = None, *, headers: Any = None, **query: Any
    ) -> Any:
        sent = {**self.headers, **{k: str(v) for k, v in (headers or {}).items() if v is not None}}
        asked = [
            (name, str(one))
            for name, value in query.items()
            if value is not None
            for one in (value if isinstance(value, list) else [value])
        ]
        if asked:
            path += "?" + urlencode(asked, errors="surrogatepass")
        response = await self.api.client.request(
            method, path, headers=sent | _JSON, content=_encoded(body)
        )
        return _answer(response)

    async def resolve(self, **who: Any) -> Json:
        return await self._send("POST", "/api/users/resolve", who)

    async def change_user(self, user_id: Any, **changes: Any) -> Json:
        return await self._send("PATCH", f"/api/users/{_id(user_id)}", changes)

    async def user(self, user_id: Any) -> Json:
        return await self._send("GET", f"/api/users/{_id(user_id)}")

    async def links(self, user: Any) -> list[Json]:
        return (await self._send("GET", f"/api/users/{_id(user)}/links"))["platform_links"]

    async def link(self, user: Any, **link: Any) -> Json:
        return await self._send("POST", f"/api/users/{_id(user)}/links", link)

    async def unlink(self, user: Any, **link: Any) -> None:
        await self._send("DELETE", f"/api/users/{_id(user)}/links", **link)

    async def merge(self, user: Any, other: Any) -> Json:
        body = {"user_id": str(_id(other))}
        return await self._send("POST", f"/api/users/{_id(user)}/merges", body)

    async def unmerge(self, user: Any, undo_id: Any) -> Json:
        return await self._send("POST", f"/api/users/{_id(user)}/merges/{undo_id}/undo")

    async def create_agent(self, **agent: Any) -> Json:
        return await self._send("POST", "/api/agents", agent)

    async def change_agent(self, agent_id: Any, **changes: Any) -> Json:
        return await self._send("PUT", f"/api/agents/{_id(agent_id)}", changes)

    async def remember(
        self, content: Any, *, user: Any = None, agent: Any = None, key: Any = None, **fields: Any
    ) -> Json:
        body = {"content": content, **_whom(user, agent), **fields}
        return await self._send("POST", "/api/memory/", body, headers={"Idempotency-Key": key})

    async def remember_many(
        self, memories: Sequence[Json], *, user: Any = None, agent: Any = None, key: Any = None
    ) -> list[Json]:
        body = {"memories": list(memories), **_whom(user, agent)}
        answer = await self._send(
            "POST", "/api/memory/bulk", body, headers={"Idempotency-Key": key}
        )
        return answer["results"]

    async def read(self, memory_id: str, *, user: Any = None, agent: Any = None) -> Json:
        return await self._send("GET", _path(memory_id), **_whom(user, agent))

    async def update(
        self, memory_id: str, *, user: Any = None, if_version: int | None = None, **changes: Any
    ) -> Json:
        tag = None if if_version is None else f'"{if_version}"'
        return await self._send(
            "PUT", _path(memory_id), changes, headers={"If-Match": tag}, **_whom(user)
        )

    async def forget(self, memory_id: str, *, user: Any = None) -> Json:
        return await self._send("DELETE", _path(memory_id), **_whom(user))

    async def restore(self, memory_id: str, *, user: Any = None) -> Json:
        return await self._send("POST", _path(memory_id) + "/restore", **_whom(user))

    async def pin(self, memory_id: str, *, user: Any = None, pinned: bool = True) -> Json:
        method = "PUT" if pinned else "DELETE"
        return await self._send(method, _path(memory_id) + "/pin", **_whom(user))

    async def listed(
        self,
        *,
        user: Any = None,
        agent: Any = None,
        limit: int = 50,
        cursor: str | None = None,
        **wanted: Any,
    ) -> Json:
        named = {_IN_QUERY.get(name, name): value for name, value in wanted.items()}
        return await self._send(
            "GET", "/api/memory/", limit=limit, cursor=cursor, **_whom(user, agent), **named
        )

    async def recall(
        self, query: Any, *, user: Any = None, agent: Any = None, **wanted: Any
    ) -> Json:
        body = {"query": query, **_whom(user, agent), **wanted}
        return await self._send("POST", "/api/memory/recall", body)

    async def open(
        self, *, user: Any = None, agent: Any = None, key: Any = None, **fields: Any
    ) -> Json:
        body = {**_whom(user, agent), **fields}
        return await self._send(
            "POST", "/api/conversations", body, headers={"Idempotency-Key": key}
        )

    async def say(
        self, conversation_id: Any, messages: Sequence[Json], *, user: Any = None, key: Any = None
    ) -> Json:
        body = {"messages": list(messages), **_whom(user)}
        return await self._send(
            "POST",
            f"/api/conversations/{conversation_id}/messages",
            body,
            headers={"Idempotency-Key": key},
        )

    async def window(
        self, conversation_id: Any, *, user: Any = None, last: int = 20, before: int | None = None
    ) -> list[Json]:
        path = f"/api/conversations/{conversation_id}/messages"
        answer = await self._send("GET", path, last=last, before=before, **_whom(user))
        return answer["messages"]


_JSON = {"Content-Type": "application/json"}
_IN_QUERY = {"kinds": "kind", "categories": "category", "statuses": "status"}


def _path(memory_id: str) -> str:
    return f"/api/memory/{quote(memory_id, safe='', errors='surrogatepass')}"


def _whom(user: Any = None, agent: Any = None) -> Json:
    ids = {"user_id": _id(user), "agent_id": _id(agent)}
    return {name: str(value) for name, value in ids.items() if value is not None}


def _encoded(body: Any) -> bytes | None:
    # Escapes what is not ASCII, so that lone surrogates travel as some clients send them.
    return None if body is None else json.dumps(body, default=str).encode()


def _answer(response: httpx2.Response) -> Any:
    if response.is_success:
        return response.json() if response.content else None
    assert response.headers["content-type"] == "application/problem+json", response.text
    document = response.json()
    fields = [error["field"] for error in document.pop("errors")]
    for name in ("type", "title", "detail"):
        assert document.pop(name), response.text
    assert document.pop("status") == response.status_code
    raise Refused(response.status_code, fields, **document)
