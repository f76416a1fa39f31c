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
from helpers import Api
from pydantic import TypeAdapter, ValidationError

from remembrancer import (
    Actor,
    AgentCreate,
    AgentUpdate,
    AssociationCreate,
    AuditFilter,
    ConversationCreate,
    DocumentImport,
    FactCreate,
    MemberAdd,
    MemberUpdate,
    MemoryCreate,
    MemoryFilter,
    MemoryUpdate,
    MessageCreate,
    MoveRequest,
    PlaceCreate,
    PlaceMention,
    PlatformLink,
    PolicyUpdate,
    PreferenceFile,
    PreferencesUpdate,
    PreferenceUpdate,
    RecallQuery,
    Relation,
    Remembrancer,
    RemembrancerError,
    ResolveUser,
    ReviewDecision,
    Role,
    SpaceCreate,
    SpaceUpdate,
    ToggleUpdate,
    ToolContext,
    User,
    UserUpdate,
    VisibilityUpdate,
)
from remembrancer.context.schemas import ContextQuery
from remembrancer.preferences.files import from_csv, to_csv
from remembrancer.tools.schema import parameters

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
    async def preview_merge(self, user: Any, other: Any) -> Json: ...

    @abstractmethod
    async def as_admin(self) -> "Door":
        """This door for an admin."""

    @abstractmethod
    async def preference(self, user: Any, agent: Any) -> Json: ...

    @abstractmethod
    async def prefer(self, user: Any, agent: Any, allow: Any) -> Json: ...

    @abstractmethod
    async def reset_preference(self, user: Any, agent: Any) -> None: ...

    @abstractmethod
    async def preferences(self, user: Any) -> list[Json]: ...

    @abstractmethod
    async def prefer_many(self, user: Any, **wanted: Any) -> Json: ...

    @abstractmethod
    async def reset_preferences(self, user: Any) -> int: ...

    @abstractmethod
    async def scope(self, user: Any, agent: Any) -> Json: ...

    @abstractmethod
    async def scopes(self, user: Any, *, limit: int = 50, cursor: str | None = None) -> Json: ...

    @abstractmethod
    async def export_preferences(self, user: Any = None, *, kind: str = "json") -> Any: ...

    @abstractmethod
    async def import_preferences(self, file: Any, user: Any = None) -> Json:
        """``file`` is CSV if it is text; without a user it is everybody's."""

    @abstractmethod
    async def toggle(self, user: Any) -> Json: ...

    @abstractmethod
    async def set_toggle(self, user: Any, allow: Any) -> Json: ...

    @abstractmethod
    async def policy(self) -> Json: ...

    @abstractmethod
    async def set_policy(self, allow: Any) -> Json: ...

    @abstractmethod
    async def statistics(self) -> Json: ...

    @abstractmethod
    async def move(self, user: Any, agent: Any, *, key: Any = None, **wanted: Any) -> Json: ...

    @abstractmethod
    async def undo_move(self, user: Any, undo_id: Any) -> Json: ...

    @abstractmethod
    async def erase_user(self, user: Any, **how: Any) -> Json: ...

    @abstractmethod
    async def erase_memory(self, memory_id: str, *, user: Any = None, **how: Any) -> Json: ...

    @abstractmethod
    async def erase_message(
        self, conversation_id: Any, message_id: Any, *, user: Any = None, **how: Any
    ) -> Json: ...

    @abstractmethod
    async def exported(self, user: Any) -> list[Json]: ...

    @abstractmethod
    async def audited(
        self, *, limit: int = 50, cursor: str | None = None, **wanted: Any
    ) -> Json: ...

    @abstractmethod
    async def known_users(self, agent: Any = None, **page: Any) -> Json: ...

    @abstractmethod
    async def create_space(self, *, user: Any = None, key: Any = None, **space: Any) -> Json: ...

    @abstractmethod
    async def spaces(self, *, user: Any = None, **page: Any) -> Json: ...

    @abstractmethod
    async def space(self, space_id: Any, *, user: Any = None) -> Json: ...

    @abstractmethod
    async def change_space(self, space_id: Any, *, user: Any = None, **changes: Any) -> Json: ...

    @abstractmethod
    async def delete_space(self, space_id: Any, *, user: Any = None) -> None: ...

    @abstractmethod
    async def restore_space(self, space_id: Any, *, user: Any = None) -> Json: ...

    @abstractmethod
    async def members(self, space_id: Any, *, user: Any = None, **page: Any) -> Json: ...

    @abstractmethod
    async def add_member(
        self, space_id: Any, member: Any, *, user: Any = None, key: Any = None, **fields: Any
    ) -> Json: ...

    @abstractmethod
    async def change_member(
        self, space_id: Any, member: Any, *, user: Any = None, **change: Any
    ) -> Json: ...

    @abstractmethod
    async def remove_member(self, space_id: Any, member: Any, *, user: Any = None) -> None: ...

    @abstractmethod
    async def leave(self, space_id: Any, *, user: Any = None) -> None: ...

    @abstractmethod
    async def remember_in(
        self, space_id: Any, content: Any, *, user: Any = None, key: Any = None, **fields: Any
    ) -> Json: ...

    @abstractmethod
    async def listed_in(self, space_id: Any, *, user: Any = None, **wanted: Any) -> Json: ...

    @abstractmethod
    async def facts(self, space_id: Any, *, user: Any = None, **page: Any) -> Json: ...

    @abstractmethod
    async def show(
        self, memory_id: Any, visibility: Any, *, user: Any = None, if_version: int | None = None
    ) -> Json:
        """Share a fact, or make it private."""

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
    async def activate(self, memory_id: str, *, user: Any = None, active: bool = True) -> Json:
        """Activate a memory, or set it aside."""

    @abstractmethod
    async def budget(self, user: Any, **wanted: Any) -> Json: ...

    @abstractmethod
    async def tools(self) -> list[Json]: ...

    @abstractmethod
    async def call(
        self, name: str, arguments: Any = None, *, user: Any = None, agent: Any = None, **at: Any
    ) -> Json:
        """Call a tool, in the conversation and message that ``at`` names."""

    @abstractmethod
    async def document(self, user: Any, *, agent: Any = None) -> Json: ...

    @abstractmethod
    async def import_document(self, user: Any, document: Json, *, agent: Any = None) -> Json: ...

    @abstractmethod
    async def add_place(
        self, user: Any, *, agent: Any = None, key: Any = None, **place: Any
    ) -> Json: ...

    @abstractmethod
    async def mention_place(
        self, user: Any, place_id: str, *, agent: Any = None, key: Any = None, **where: Any
    ) -> Json: ...

    @abstractmethod
    async def place(self, user: Any, place_id: str, *, agent: Any = None) -> Json: ...

    @abstractmethod
    async def places(self, user: Any, *, agent: Any = None, **page: Any) -> Json: ...

    @abstractmethod
    async def associate(
        self, memory_id: Any, target_id: Any, *, user: Any = None, agent: Any = None, **edge: Any
    ) -> Json: ...

    @abstractmethod
    async def dissociate(
        self, memory_id: Any, target_id: Any, relation: Any = None, *, user: Any = None
    ) -> None: ...

    @abstractmethod
    async def associations(
        self,
        memory_id: Any,
        *,
        user: Any = None,
        agent: Any = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Json: ...

    @abstractmethod
    async def neighbours(
        self, memory_id: Any, *, user: Any = None, agent: Any = None, **wanted: Any
    ) -> Json: ...

    @abstractmethod
    async def suggestions(self, memory_id: Any, *, user: Any = None, agent: Any = None) -> Json: ...

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
    async def waiting(self, *, user: Any = None, agent: Any = None, **page: Any) -> Json: ...

    @abstractmethod
    async def review(self, decisions: Any, *, user: Any = None, agent: Any = None) -> list[Json]:
        """``decisions`` are a memory's id, what is decided, and what it is to say instead."""

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

    @abstractmethod
    async def context(self, *, user: Any = None, agent: Any = None, **wanted: Any) -> Json: ...

    @abstractmethod
    async def turn(
        self, conversation_id: Any, message: Json, *, user: Any = None, key: Any = None, **how: Any
    ) -> Json: ...

    @abstractmethod
    async def answer(
        self, conversation_id: Any, content: Any, *, user: Any = None, key: Any = None
    ) -> Json: ...

    @abstractmethod
    async def bulletin(self, agent_id: Any, **how: Any) -> Json: ...

    @abstractmethod
    async def pause(
        self, conversation_id: Any, *, user: Any = None, paused: bool = True
    ) -> Json: ...

    @abstractmethod
    async def summarize(self, conversation_id: Any, *, user: Any = None) -> Json: ...

    @abstractmethod
    async def chunks(self, conversation_id: Any, *, user: Any = None, **page: Any) -> Json: ...

    @abstractmethod
    async def jobs(self, **page: Any) -> Json: ...

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
        return await self._tried(lambda: self.memory.users.links(self.actor, _id(user)))

    async def link(self, user: Any, **link: Any) -> Json:
        wanted = _parsed(PlatformLink, link)
        return await self._tried(lambda: self.memory.users.link(self.actor, _id(user), wanted))

    async def unlink(self, user: Any, **link: Any) -> None:
        wanted = _parsed(PlatformLink, link)
        await self._tried(lambda: self.memory.users.unlink(self.actor, _id(user), wanted))

    async def merge(self, user: Any, other: Any) -> Json:
        return await self._tried(lambda: self.memory.users.merge(self.actor, _id(user), _id(other)))

    async def preview_merge(self, user: Any, other: Any) -> Json:
        return await self._tried(
            lambda: self.memory.users.preview_merge(self.actor, _id(user), _id(other))
        )

    async def unmerge(self, user: Any, undo_id: Any) -> Json:
        which = _parsed(UUID, undo_id)
        return await self._tried(lambda: self.memory.users.undo_merge(self.actor, _id(user), which))

    async def as_admin(self) -> "PythonDoor":
        return replace(self, actor=Actor(Role.ADMIN))

    async def preference(self, user: Any, agent: Any) -> Json:
        return await self._tried(
            lambda: self.memory.preferences.get(self.actor, _id(user), _id(agent))
        )

    async def prefer(self, user: Any, agent: Any, allow: Any) -> Json:
        wanted = _parsed(PreferenceUpdate, {"allow_agent_specific_memory": allow})
        return await self._tried(
            lambda: self.memory.preferences.set(self.actor, _id(user), _id(agent), wanted)
        )

    async def reset_preference(self, user: Any, agent: Any) -> None:
        await self._tried(lambda: self.memory.preferences.reset(self.actor, _id(user), _id(agent)))

    async def preferences(self, user: Any) -> list[Json]:
        return await self._tried(lambda: self.memory.preferences.list(self.actor, _id(user)))

    async def prefer_many(self, user: Any, **wanted: Any) -> Json:
        asked = _parsed(PreferencesUpdate, wanted)
        return await self._tried(
            lambda: self.memory.preferences.set_many(self.actor, _id(user), asked)
        )

    async def reset_preferences(self, user: Any) -> int:
        return await self._tried(lambda: self.memory.preferences.reset_all(self.actor, _id(user)))

    async def scope(self, user: Any, agent: Any) -> Json:
        return await self._tried(
            lambda: self.memory.preferences.scope(self.actor, _id(user), _id(agent))
        )

    async def scopes(self, user: Any, *, limit: int = 50, cursor: str | None = None) -> Json:
        return await self._tried(
            lambda: self.memory.preferences.scopes(
                self.actor, _id(user), limit=limit, cursor=cursor
            )
        )

    async def export_preferences(self, user: Any = None, *, kind: str = "json") -> Any:
        service = self.memory.preferences
        if user is None:
            file = await self._tried(lambda: service.export_all(self.actor))
        else:
            file = await self._tried(lambda: service.export(self.actor, _id(user)))
        return to_csv(PreferenceFile.model_validate(file)) if kind == "csv" else file

    async def import_preferences(self, file: Any, user: Any = None) -> Json:
        service = self.memory.preferences

        async def call() -> Any:
            rows = from_csv(file) if isinstance(file, str) else _parsed(PreferenceFile, file)
            if user is None:
                return await service.import_all(self.actor, rows)
            return await service.import_(self.actor, _id(user), rows)

        return await self._tried(call)

    async def toggle(self, user: Any) -> Json:
        return await self._tried(lambda: self.memory.preferences.toggle(self.actor, _id(user)))

    async def set_toggle(self, user: Any, allow: Any) -> Json:
        wanted = _parsed(ToggleUpdate, {"allow_agent_specific_memory": allow})
        return await self._tried(
            lambda: self.memory.preferences.set_toggle(self.actor, _id(user), wanted)
        )

    async def policy(self) -> Json:
        return await self._tried(lambda: self.memory.policies.get(self.actor))

    async def set_policy(self, allow: Any) -> Json:
        wanted = _parsed(PolicyUpdate, {"allow_agent_specific_memory_globally": allow})
        return await self._tried(lambda: self.memory.policies.set(self.actor, wanted))

    async def statistics(self) -> Json:
        return await self._tried(lambda: self.memory.policies.statistics(self.actor))

    async def move(self, user: Any, agent: Any, *, key: Any = None, **wanted: Any) -> Json:
        asked = _parsed(MoveRequest, wanted)
        return await self._tried(
            lambda: self.memory.moves.move(
                self.actor, _id(user), _id(agent), asked, idempotency_key=key
            )
        )

    async def undo_move(self, user: Any, undo_id: Any) -> Json:
        which = _parsed(UUID, undo_id)
        return await self._tried(lambda: self.memory.moves.undo(self.actor, _id(user), which))

    async def erase_user(self, user: Any, **how: Any) -> Json:
        return await self._tried(lambda: self.memory.users.erase(self.actor, _id(user), **how))

    async def erase_memory(self, memory_id: str, *, user: Any = None, **how: Any) -> Json:
        return await self._tried(
            lambda: self.memory.memories.erase(self._for(user), memory_id, **how)
        )

    async def erase_message(
        self, conversation_id: Any, message_id: Any, *, user: Any = None, **how: Any
    ) -> Json:
        where, which = _parsed(UUID, conversation_id), _parsed(UUID, message_id)
        return await self._tried(
            lambda: self.memory.conversations.erase_message(self._for(user), where, which, **how)
        )

    async def exported(self, user: Any) -> list[Json]:
        async def lines() -> list[Json]:
            return [line async for line in self.memory.users.export(self.actor, _id(user))]

        return await self._tried(lines)

    async def audited(self, *, limit: int = 50, cursor: str | None = None, **wanted: Any) -> Json:
        asked = _parsed(AuditFilter, wanted)
        return await self._tried(
            lambda: self.memory.audit.list(
                self.actor,
                asked,
                limit=limit,
                cursor=cursor,
            )
        )

    async def known_users(self, agent: Any = None, **page: Any) -> Json:
        which = _parsed(UUID | None, _id(agent))
        return await self._tried(lambda: self.memory.users.known(self.actor, which, **page))

    async def create_space(self, *, user: Any = None, key: Any = None, **space: Any) -> Json:
        wanted = _parsed(SpaceCreate, space)
        return await self._tried(
            lambda: self.memory.spaces.create(self._for(user), wanted, idempotency_key=key)
        )

    async def spaces(self, *, user: Any = None, **page: Any) -> Json:
        return await self._tried(lambda: self.memory.spaces.list(self._for(user), **page))

    async def space(self, space_id: Any, *, user: Any = None) -> Json:
        which = _parsed(UUID, space_id)
        return await self._tried(lambda: self.memory.spaces.get(self._for(user), which))

    async def change_space(self, space_id: Any, *, user: Any = None, **changes: Any) -> Json:
        which, wanted = _parsed(UUID, space_id), _parsed(SpaceUpdate, changes)
        return await self._tried(lambda: self.memory.spaces.update(self._for(user), which, wanted))

    async def delete_space(self, space_id: Any, *, user: Any = None) -> None:
        which = _parsed(UUID, space_id)
        await self._tried(lambda: self.memory.spaces.delete(self._for(user), which))

    async def restore_space(self, space_id: Any, *, user: Any = None) -> Json:
        which = _parsed(UUID, space_id)
        return await self._tried(lambda: self.memory.spaces.restore(self._for(user), which))

    async def members(self, space_id: Any, *, user: Any = None, **page: Any) -> Json:
        which = _parsed(UUID, space_id)
        return await self._tried(lambda: self.memory.spaces.members(self._for(user), which, **page))

    async def add_member(
        self, space_id: Any, member: Any, *, user: Any = None, key: Any = None, **fields: Any
    ) -> Json:
        which = _parsed(UUID, space_id)
        wanted = _parsed(MemberAdd, {"user_id": _id(member), **fields})
        return await self._tried(
            lambda: self.memory.spaces.add_member(
                self._for(user), which, wanted, idempotency_key=key
            )
        )

    async def change_member(
        self, space_id: Any, member: Any, *, user: Any = None, **change: Any
    ) -> Json:
        which, wanted = _parsed(UUID, space_id), _parsed(MemberUpdate, change)
        return await self._tried(
            lambda: self.memory.spaces.update_member(self._for(user), which, _id(member), wanted)
        )

    async def remove_member(self, space_id: Any, member: Any, *, user: Any = None) -> None:
        which = _parsed(UUID, space_id)
        await self._tried(
            lambda: self.memory.spaces.remove_member(self._for(user), which, _id(member))
        )

    async def leave(self, space_id: Any, *, user: Any = None) -> None:
        which = _parsed(UUID, space_id)
        await self._tried(lambda: self.memory.spaces.leave(self._for(user), which))

    async def remember_in(
        self, space_id: Any, content: Any, *, user: Any = None, key: Any = None, **fields: Any
    ) -> Json:
        which = _parsed(UUID, space_id)
        fact = _parsed(FactCreate, {"content": content, **fields})
        return await self._tried(
            lambda: self.memory.facts.add(self._for(user), which, fact, idempotency_key=key)
        )

    async def listed_in(self, space_id: Any, *, user: Any = None, **wanted: Any) -> Json:
        which, asked = _parsed(UUID, space_id), _parsed(MemoryFilter, wanted)
        return await self._tried(lambda: self.memory.spaces.memories(self._for(user), which, asked))

    async def facts(self, space_id: Any, *, user: Any = None, **page: Any) -> Json:
        which = _parsed(UUID, space_id)
        return await self._tried(lambda: self.memory.facts.list(self._for(user), which, **page))

    async def show(
        self, memory_id: Any, visibility: Any, *, user: Any = None, if_version: int | None = None
    ) -> Json:
        wanted = _parsed(VisibilityUpdate, {"visibility": visibility}).visibility
        return await self._tried(
            lambda: self.memory.facts.set_visibility(
                self._for(user), memory_id, wanted, if_version=if_version
            )
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
        switch = self.memory.memories.pin if pinned else self.memory.memories.unpin
        return await self._tried(lambda: switch(self._for(user), memory_id))

    async def activate(self, memory_id: str, *, user: Any = None, active: bool = True) -> Json:
        switch = self.memory.memories.activate if active else self.memory.memories.deactivate
        return await self._tried(lambda: switch(self._for(user), memory_id))

    async def budget(self, user: Any, **wanted: Any) -> Json:
        return await self._tried(lambda: self.memory.memories.budget(self._for(user), **wanted))

    async def tools(self) -> list[Json]:
        return [
            {
                "name": tool.name,
                "description": tool.description,
                "parameters": parameters(tool.arguments),
                "system": tool.is_system,
            }
            for tool in self.memory.tools.select()
        ]

    async def call(
        self, name: str, arguments: Any = None, *, user: Any = None, agent: Any = None, **at: Any
    ) -> Json:
        where = _parsed(ToolContext, at)
        given = {} if arguments is None else arguments
        return await self._tried(
            lambda: self.memory.tools.call(self._for(user, agent), name, given, where)
        )

    async def document(self, user: Any, *, agent: Any = None) -> Json:
        return await self._tried(lambda: self.memory.documents.get(self._for(user, agent)))

    async def import_document(self, user: Any, document: Json, *, agent: Any = None) -> Json:
        sent = _parsed(DocumentImport, document)
        return await self._tried(
            lambda: self.memory.documents.import_(self._for(user, agent), sent)
        )

    async def add_place(
        self, user: Any, *, agent: Any = None, key: Any = None, **place: Any
    ) -> Json:
        wanted = _parsed(PlaceCreate, place)
        return await self._tried(
            lambda: self.memory.places.add(self._for(user, agent), wanted, idempotency_key=key)
        )

    async def mention_place(
        self, user: Any, place_id: str, *, agent: Any = None, key: Any = None, **where: Any
    ) -> Json:
        said = _parsed(PlaceMention, where)
        return await self._tried(
            lambda: self.memory.places.mention(
                self._for(user, agent), place_id, said, idempotency_key=key
            )
        )

    async def place(self, user: Any, place_id: str, *, agent: Any = None) -> Json:
        return await self._tried(lambda: self.memory.places.get(self._for(user, agent), place_id))

    async def places(self, user: Any, *, agent: Any = None, **page: Any) -> Json:
        return await self._tried(lambda: self.memory.places.list(self._for(user, agent), **page))

    async def associate(
        self, memory_id: Any, target_id: Any, *, user: Any = None, agent: Any = None, **edge: Any
    ) -> Json:
        wanted = _parsed(AssociationCreate, {"target_id": target_id, **edge})
        return await self._tried(
            lambda: self.memory.associations.add(self._for(user, agent), memory_id, wanted)
        )

    async def dissociate(
        self, memory_id: Any, target_id: Any, relation: Any = None, *, user: Any = None
    ) -> None:
        which = _parsed(Relation | None, relation)
        await self._tried(
            lambda: self.memory.associations.remove(self._for(user), memory_id, target_id, which)
        )

    async def associations(
        self,
        memory_id: Any,
        *,
        user: Any = None,
        agent: Any = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Json:
        return await self._tried(
            lambda: self.memory.associations.list(
                self._for(user, agent), memory_id, limit=limit, cursor=cursor
            )
        )

    async def neighbours(
        self, memory_id: Any, *, user: Any = None, agent: Any = None, **wanted: Any
    ) -> Json:
        return await self._tried(
            lambda: self.memory.associations.neighbours(self._for(user, agent), memory_id, **wanted)
        )

    async def suggestions(self, memory_id: Any, *, user: Any = None, agent: Any = None) -> Json:
        return await self._tried(
            lambda: self.memory.associations.suggestions(self._for(user, agent), memory_id)
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

    async def waiting(self, *, user: Any = None, agent: Any = None, **page: Any) -> Json:
        return await self._tried(lambda: self.memory.review.list(self._for(user, agent), **page))

    async def review(self, decisions: Any, *, user: Any = None, agent: Any = None) -> list[Json]:
        said = _decisions(decisions)
        asked = _parsed(list[ReviewDecision], said, within="decisions.")
        return await self._tried(lambda: self.memory.review.decide(self._for(user, agent), asked))

    async def recall(
        self, query: Any, *, user: Any = None, agent: Any = None, **wanted: Any
    ) -> Json:
        asked = _parsed(RecallQuery, {"query": query, **wanted})
        return await self._tried(lambda: self.memory.memories.recall(self._for(user, agent), asked))

    async def open(
        self, *, user: Any = None, agent: Any = None, key: Any = None, **fields: Any
    ) -> Json:
        wanted = _parsed(ConversationCreate, {"agent_id": _id(agent), **fields})
        return await self._tried(
            lambda: self.memory.conversations.open(self._for(user), wanted, idempotency_key=key)
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
            lambda: self.memory.conversations.messages(
                self._for(user), where, last=last, before=before
            )
        )

    async def context(self, *, user: Any = None, agent: Any = None, **wanted: Any) -> Json:
        asked = _parsed(ContextQuery, wanted)
        return await self._tried(
            lambda: self.memory.conversations.context(self._for(user, agent), asked)
        )

    async def turn(
        self, conversation_id: Any, message: Json, *, user: Any = None, key: Any = None, **how: Any
    ) -> Json:
        which, said = _parsed(UUID, conversation_id), _parsed(MessageCreate, message)
        wanted = _parsed(ContextQuery, how)
        return await self._tried(
            lambda: self.memory.conversations.begin_turn(
                self._for(user), which, said, query=wanted, idempotency_key=key
            )
        )

    async def answer(
        self, conversation_id: Any, content: Any, *, user: Any = None, key: Any = None
    ) -> Json:
        which, said = _parsed(UUID, conversation_id), _parsed(MessageCreate, {"content": content})
        return await self._tried(
            lambda: self.memory.conversations.finish_turn(
                self._for(user), which, said.content, idempotency_key=key
            )
        )

    async def bulletin(self, agent_id: Any, **how: Any) -> Json:
        which = _parsed(UUID, agent_id)
        return await self._tried(
            lambda: self.memory.agents.bulletin(self.actor, which, tokens=how.get("tokens"))
        )

    async def pause(self, conversation_id: Any, *, user: Any = None, paused: bool = True) -> Json:
        which = _parsed(UUID, conversation_id)
        conversations = self.memory.conversations
        switch = conversations.pause if paused else conversations.resume
        return await self._tried(lambda: switch(self._for(user), which))

    async def summarize(self, conversation_id: Any, *, user: Any = None) -> Json:
        where = _parsed(UUID, conversation_id)
        return await self._tried(
            lambda: self.memory.conversations.summarize(self._for(user), where)
        )

    async def chunks(self, conversation_id: Any, *, user: Any = None, **page: Any) -> Json:
        where = _parsed(UUID, conversation_id)
        return await self._tried(
            lambda: self.memory.conversations.chunks(self._for(user), where, **page)
        )

    async def jobs(self, **page: Any) -> Json:
        found = await self._tried(lambda: self.memory.jobs.list(self.actor, **page))
        return {**found, "counts": await self._tried(lambda: self.memory.jobs.counts(self.actor))}


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

    async def preview_merge(self, user: Any, other: Any) -> Json:
        body = {"user_id": str(_id(other))}
        return await self._send("POST", f"/api/users/{_id(user)}/merges/preview", body)

    async def unmerge(self, user: Any, undo_id: Any) -> Json:
        return await self._send("POST", f"/api/users/{_id(user)}/merges/{undo_id}/undo")

    async def as_admin(self) -> "RestDoor":
        return replace(self, headers=self.api.admin)

    async def preference(self, user: Any, agent: Any) -> Json:
        return await self._send("GET", _settings(user, agent))

    async def prefer(self, user: Any, agent: Any, allow: Any) -> Json:
        body = {"allow_agent_specific_memory": allow}
        return await self._send("PUT", _settings(user, agent), body)

    async def reset_preference(self, user: Any, agent: Any) -> None:
        await self._send("DELETE", _settings(user, agent))

    async def preferences(self, user: Any) -> list[Json]:
        return await self._send("GET", _settings(user))

    async def prefer_many(self, user: Any, **wanted: Any) -> Json:
        return await self._send("PUT", _settings(user), wanted)

    async def reset_preferences(self, user: Any) -> int:
        return (await self._send("DELETE", _settings(user)))["reset"]

    async def scope(self, user: Any, agent: Any) -> Json:
        return await self._send("GET", _settings(user, agent, "scope"))

    async def scopes(self, user: Any, *, limit: int = 50, cursor: str | None = None) -> Json:
        path = _settings(user, last="scopes")
        return await self._send("GET", path, limit=limit, cursor=cursor)

    async def export_preferences(self, user: Any = None, *, kind: str = "json") -> Any:
        path = f"{_file(user)}/export?format={kind}"
        if kind == "json":
            return await self._send("GET", path)
        response = await self.api.client.get(path, headers=self.headers)
        assert response.headers["content-type"].startswith("text/csv")
        return response.text

    async def import_preferences(self, file: Any, user: Any = None) -> Json:
        path = f"{_file(user)}/import"
        if not isinstance(file, str):
            return await self._send("POST", path, file)
        headers = {**self.headers, "Content-Type": "text/csv"}
        content = file.encode()
        return _answer(await self.api.client.post(path, headers=headers, content=content))

    async def toggle(self, user: Any) -> Json:
        return await self._send("GET", f"/api/memory/users/{_id(user)}/settings")

    async def set_toggle(self, user: Any, allow: Any) -> Json:
        body = {"allow_agent_specific_memory": allow}
        return await self._send("PUT", f"/api/memory/users/{_id(user)}/settings", body)

    async def policy(self) -> Json:
        return await self._send("GET", "/api/memory/policy")

    async def set_policy(self, allow: Any) -> Json:
        body = {"allow_agent_specific_memory_globally": allow}
        return await self._send("PUT", "/api/memory/policy", body)

    async def statistics(self) -> Json:
        return await self._send("GET", "/api/memory/statistics")

    async def move(self, user: Any, agent: Any, *, key: Any = None, **wanted: Any) -> Json:
        path = _settings(user, agent, "memories/move")
        return await self._send("POST", path, wanted, headers={"Idempotency-Key": key})

    async def undo_move(self, user: Any, undo_id: Any) -> Json:
        return await self._send("POST", f"/api/memory/users/{_id(user)}/moves/{undo_id}/undo")

    async def erase_user(self, user: Any, **how: Any) -> Json:
        confirm = None if how.get("dry_run", True) else _id(user)
        path = f"/api/users/{_id(user)}/erase"
        return await self._send("POST", path, confirm=confirm, **how)

    async def erase_memory(self, memory_id: str, *, user: Any = None, **how: Any) -> Json:
        return await self._send("POST", _path(memory_id) + "/erase", **_whom(user), **how)

    async def erase_message(
        self, conversation_id: Any, message_id: Any, *, user: Any = None, **how: Any
    ) -> Json:
        path = f"/api/conversations/{conversation_id}/messages/{message_id}/erase"
        return await self._send("POST", path, **_whom(user), **how)

    async def exported(self, user: Any) -> list[Json]:
        path = f"/api/users/{_id(user)}/export"
        response = await self.api.client.get(path, headers=self.headers)
        if not response.is_success:
            _answer(response)
        return [json.loads(line) for line in response.text.splitlines()]

    async def audited(self, *, limit: int = 50, cursor: str | None = None, **wanted: Any) -> Json:
        return await self._send("GET", "/api/audit", limit=limit, cursor=cursor, **wanted)

    async def known_users(self, agent: Any = None, **page: Any) -> Json:
        return await self._send("GET", "/api/agents/users", **_whom(None, agent), **page)

    async def create_space(self, *, user: Any = None, key: Any = None, **space: Any) -> Json:
        return await self._send(
            "POST", "/api/spaces", space, headers={"Idempotency-Key": key}, **_whom(user)
        )

    async def spaces(self, *, user: Any = None, **page: Any) -> Json:
        return await self._send("GET", "/api/spaces", **_whom(user), **page)

    async def space(self, space_id: Any, *, user: Any = None) -> Json:
        return await self._send("GET", f"/api/spaces/{space_id}", **_whom(user))

    async def change_space(self, space_id: Any, *, user: Any = None, **changes: Any) -> Json:
        return await self._send("PATCH", f"/api/spaces/{space_id}", changes, **_whom(user))

    async def delete_space(self, space_id: Any, *, user: Any = None) -> None:
        await self._send("DELETE", f"/api/spaces/{space_id}", **_whom(user))

    async def restore_space(self, space_id: Any, *, user: Any = None) -> Json:
        return await self._send("POST", f"/api/spaces/{space_id}/restore", **_whom(user))

    async def members(self, space_id: Any, *, user: Any = None, **page: Any) -> Json:
        return await self._send("GET", f"/api/spaces/{space_id}/members", **_whom(user), **page)

    async def add_member(
        self, space_id: Any, member: Any, *, user: Any = None, key: Any = None, **fields: Any
    ) -> Json:
        return await self._send(
            "POST",
            f"/api/spaces/{space_id}/members",
            {"user_id": _id(member), **fields},
            headers={"Idempotency-Key": key},
            **_whom(user),
        )

    async def change_member(
        self, space_id: Any, member: Any, *, user: Any = None, **change: Any
    ) -> Json:
        path = f"/api/spaces/{space_id}/members/{_id(member)}"
        return await self._send("PATCH", path, change, **_whom(user))

    async def remove_member(self, space_id: Any, member: Any, *, user: Any = None) -> None:
        path = f"/api/spaces/{space_id}/members/{_id(member)}"
        await self._send("DELETE", path, **_whom(user))

    async def leave(self, space_id: Any, *, user: Any = None) -> None:
        await self._send("POST", f"/api/spaces/{space_id}/leave", **_whom(user))

    async def remember_in(
        self, space_id: Any, content: Any, *, user: Any = None, key: Any = None, **fields: Any
    ) -> Json:
        return await self._send(
            "POST",
            f"/api/spaces/{space_id}/memories",
            {"content": content, **fields},
            headers={"Idempotency-Key": key},
            **_whom(user),
        )

    async def listed_in(self, space_id: Any, *, user: Any = None, **wanted: Any) -> Json:
        named = {_IN_QUERY.get(name, name): value for name, value in wanted.items()}
        path = f"/api/spaces/{space_id}/memories"
        return await self._send("GET", path, **_whom(user), **named)

    async def facts(self, space_id: Any, *, user: Any = None, **page: Any) -> Json:
        return await self._send("GET", f"/api/ai/legacies/{space_id}/facts", **_whom(user), **page)

    async def show(
        self, memory_id: Any, visibility: Any, *, user: Any = None, if_version: int | None = None
    ) -> Json:
        tag = None if if_version is None else f'"{if_version}"'
        body = {"visibility": visibility}
        return await self._send(
            "PATCH",
            _path(memory_id) + "/visibility",
            body,
            headers={"If-Match": tag},
            **_whom(user),
        )

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

    async def activate(self, memory_id: str, *, user: Any = None, active: bool = True) -> Json:
        last = "activate" if active else "deactivate"
        return await self._send("POST", f"{_path(memory_id)}/{last}", **_whom(user))

    async def budget(self, user: Any, **wanted: Any) -> Json:
        return await self._send("GET", f"/api/users/{_id(user)}/memory-budget", **wanted)

    async def tools(self) -> list[Json]:
        return await self._send("GET", "/api/tools")

    async def call(
        self, name: str, arguments: Any = None, *, user: Any = None, agent: Any = None, **at: Any
    ) -> Json:
        given = {} if arguments is None else arguments
        body = {"arguments": given, **_whom(user, agent), **at}
        return await self._send("POST", f"/api/tools/{name}", body)

    async def document(self, user: Any, *, agent: Any = None) -> Json:
        path = f"/api/users/{_id(user)}/memory-document"
        return await self._send("GET", path, agent_id=_id(agent))

    async def import_document(self, user: Any, document: Json, *, agent: Any = None) -> Json:
        path = f"/api/users/{_id(user)}/memory-document"
        return await self._send("POST", path, document, agent_id=_id(agent))

    async def add_place(
        self, user: Any, *, agent: Any = None, key: Any = None, **place: Any
    ) -> Json:
        path = f"/api/users/{_id(user)}/places"
        headers = {"Idempotency-Key": key}
        return await self._send("POST", path, place, headers=headers, agent_id=_id(agent))

    async def mention_place(
        self, user: Any, place_id: str, *, agent: Any = None, key: Any = None, **where: Any
    ) -> Json:
        path = _spot(user, place_id) + "/mentions"
        headers = {"Idempotency-Key": key}
        return await self._send("POST", path, where, headers=headers, agent_id=_id(agent))

    async def place(self, user: Any, place_id: str, *, agent: Any = None) -> Json:
        return await self._send("GET", _spot(user, place_id), agent_id=_id(agent))

    async def places(self, user: Any, *, agent: Any = None, **page: Any) -> Json:
        path = f"/api/users/{_id(user)}/places"
        return await self._send("GET", path, agent_id=_id(agent), **page)

    async def associate(
        self, memory_id: Any, target_id: Any, *, user: Any = None, agent: Any = None, **edge: Any
    ) -> Json:
        body = {"target_id": target_id, **edge}
        path = _path(memory_id) + "/associations"
        return await self._send("PUT", path, body, **_whom(user, agent))

    async def dissociate(
        self, memory_id: Any, target_id: Any, relation: Any = None, *, user: Any = None
    ) -> None:
        path = f"{_path(memory_id)}/associations/{quote(target_id, safe='')}"
        await self._send("DELETE", path, relation=relation, **_whom(user))

    async def associations(
        self,
        memory_id: Any,
        *,
        user: Any = None,
        agent: Any = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Json:
        path = _path(memory_id) + "/associations"
        return await self._send("GET", path, limit=limit, cursor=cursor, **_whom(user, agent))

    async def neighbours(
        self, memory_id: Any, *, user: Any = None, agent: Any = None, **wanted: Any
    ) -> Json:
        return await self._send(
            "GET", _path(memory_id) + "/neighbours", **_whom(user, agent), **wanted
        )

    async def suggestions(self, memory_id: Any, *, user: Any = None, agent: Any = None) -> Json:
        return await self._send("GET", _path(memory_id) + "/suggestions", **_whom(user, agent))

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

    async def waiting(self, *, user: Any = None, agent: Any = None, **page: Any) -> Json:
        return await self._send("GET", "/api/memory/review", **_whom(user, agent), **page)

    async def review(self, decisions: Any, *, user: Any = None, agent: Any = None) -> list[Json]:
        said = _decisions(decisions)
        body = {"decisions": said, **_whom(user, agent)}
        return (await self._send("POST", "/api/memory/review", body))["results"]

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

    async def context(self, *, user: Any = None, agent: Any = None, **wanted: Any) -> Json:
        return await self._send("POST", "/api/memory/context", {**wanted, **_whom(user, agent)})

    async def turn(
        self, conversation_id: Any, message: Json, *, user: Any = None, key: Any = None, **how: Any
    ) -> Json:
        path = f"/api/conversations/{conversation_id}/turn"
        return await self._send(
            "POST",
            path,
            {"message": message, **how, **_whom(user)},
            headers={"Idempotency-Key": key},
        )

    async def answer(
        self, conversation_id: Any, content: Any, *, user: Any = None, key: Any = None
    ) -> Json:
        path = f"/api/conversations/{conversation_id}/answer"
        return await self._send(
            "POST", path, {"content": content, **_whom(user)}, headers={"Idempotency-Key": key}
        )

    async def bulletin(self, agent_id: Any, **how: Any) -> Json:
        return await self._send("GET", f"/api/agents/{agent_id}/bulletin", **how)

    async def pause(self, conversation_id: Any, *, user: Any = None, paused: bool = True) -> Json:
        path = f"/api/conversations/{conversation_id}/pause"
        return await self._send("PUT" if paused else "DELETE", path, **_whom(user))

    async def summarize(self, conversation_id: Any, *, user: Any = None) -> Json:
        path = f"/api/conversations/{conversation_id}/summarize"
        return await self._send("POST", path, **_whom(user))

    async def chunks(self, conversation_id: Any, *, user: Any = None, **page: Any) -> Json:
        path = f"/api/conversations/{conversation_id}/chunks"
        return await self._send("GET", path, **_whom(user), **page)

    async def jobs(self, **page: Any) -> Json:
        return await self._send("GET", "/api/jobs", **page)


_JSON = {"Content-Type": "application/json"}
_IN_QUERY = {
    "kinds": "kind",
    "categories": "category",
    "statuses": "status",
    "reviews": "review",
}


def _path(memory_id: str) -> str:
    return f"/api/memory/{quote(memory_id, safe='', errors='surrogatepass')}"


def _spot(user: Any, place_id: str) -> str:
    return f"/api/users/{_id(user)}/places/{quote(place_id, safe='', errors='surrogatepass')}"


def _decisions(decided: Any) -> list[Json]:
    return [
        {"memory_id": one, "decision": what, **(more[0] if more else {})}
        for one, what, *more in decided
    ]


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


def _settings(user: Any, agent: Any = None, last: str = "settings") -> str:
    parts = ["/api/memory/users", _id(user), "agents", _id(agent), last]
    return "/".join(str(part) for part in parts if part is not None)


def _file(user: Any) -> str:
    return "/api/memory/preferences" if user is None else _settings(user)
