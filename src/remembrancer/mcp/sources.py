"""Sources of an MCP server's answers: the local store, or another server's REST API."""

import asyncio
from collections.abc import (
    AsyncGenerator,
    Callable,
    Collection,
    Coroutine,
    Mapping,
    Sequence,
)
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar
from uuid import UUID

from remembrancer.access import Actor, Role
from remembrancer.context.schemas import Context, ContextQuery
from remembrancer.document.schemas import MemoryDocument
from remembrancer.mcp import completion
from remembrancer.mcp.completion import Choice
from remembrancer.mcp.resources import Principal, ResourceRequest
from remembrancer.memories.schemas import Category, MemoryHistory, MemoryPage
from remembrancer.paging import LARGEST_PAGE
from remembrancer.settings import ToolSet
from remembrancer.tools.definitions import MEMORY_TOOLS
from remembrancer.tools.registry import ToolAnswer, ToolContext, plain_tool

if TYPE_CHECKING:
    from remembrancer.app import Remembrancer
    from remembrancer.places.schemas import Place


T = TypeVar("T")
ListedTools = Sequence[Mapping[str, Any]]
Wanted = Mapping[str, ResourceRequest]
"""Resources by their addresses."""
POLL_SECONDS: Final = 1.0
"""Seconds between two looks for changes."""


class Catalogue(Protocol):
    """What a client may ask for."""

    @property
    def id_arguments(self) -> Sequence[str]:
        """The ids that each request must name: of ``user_id`` and ``agent_id``, or none."""

    @property
    def tool_set(self) -> ToolSet:
        """The tools that are there, of those of ``tools``."""

    async def tools(self) -> ListedTools: ...


class Source(Catalogue, Protocol):
    """A memory that requests are about. Only an unbound service may name a principal."""

    async def call(
        self, principal: Principal, name: str, arguments: Mapping[str, Any]
    ) -> ToolAnswer: ...

    async def document(self, principal: Principal) -> MemoryDocument: ...

    async def history(self, principal: Principal, memory_id: str) -> MemoryHistory: ...

    async def context(self, principal: Principal, query: ContextQuery) -> Context: ...

    async def facts(self, principal: Principal, category: Category) -> MemoryPage: ...

    async def place(self, principal: Principal, place_id: str) -> "Place": ...

    async def choices(self, principal: Principal, argument: str) -> Sequence[Choice]:
        """Return values of an argument that the user sees, the newest first."""

    def changes(self, wanted: Wanted) -> AsyncGenerator[Collection[str]]:
        """Yield nothing once it looks, and from then on the resources that changed.

        What the user does not see never changes.
        """


Ticks = Callable[[], AsyncGenerator[Actor]]


async def ticks(actor: Callable[[], Coroutine[object, object, Actor]]) -> AsyncGenerator[Actor]:
    """Yield who asks, each time that it is time to look for changes."""
    while True:
        yield await undisturbed(actor())
        await asyncio.sleep(POLL_SECONDS)


async def undisturbed(reading: Coroutine[object, object, T]) -> T:
    """Wait for what is read. Who goes away meanwhile does not cost a connection to the database."""
    return await asyncio.shield(asyncio.create_task(reading))


def id_arguments(trusted: bool, user_id: UUID | None, agent_id: UUID | None) -> Sequence[str]:
    """Return the ids that requests name: none unless a service is not bound to a user."""
    if not trusted or user_id is not None:
        return ()
    return ("user_id",) if agent_id is not None else ("user_id", "agent_id")


class MemoryTools:
    """The catalogue of a store that acts for one user: it is known before the store is open."""

    id_arguments: Sequence[str] = ()

    def __init__(self, tool_set: ToolSet = ToolSet.ALL) -> None:
        self.tool_set = tool_set

    async def tools(self) -> ListedTools:
        return [plain_tool(tool) for tool in MEMORY_TOOLS]


class StoreSource:
    def __init__(
        self,
        app: "Remembrancer",
        actor: Actor,
        tool_set: ToolSet = ToolSet.ALL,
        when: Ticks | None = None,
    ) -> None:
        self._app = app
        self._when = when or partial(ticks, self._who)
        self.tool_set = tool_set
        self._actor = actor

    @property
    def id_arguments(self) -> Sequence[str]:
        trusted = self._actor.role is not Role.USER
        return id_arguments(trusted, self._actor.user_id, self._actor.agent_id)

    async def tools(self) -> ListedTools:
        return [plain_tool(tool) for tool in self._app.tools.select()]

    async def call(
        self, principal: Principal, name: str, arguments: Mapping[str, Any]
    ) -> ToolAnswer:
        return await self._app.tools.call(self._for(principal), name, arguments, ToolContext())

    async def document(self, principal: Principal) -> MemoryDocument:
        return await self._app.documents.get(self._for(principal))

    async def history(self, principal: Principal, memory_id: str) -> MemoryHistory:
        return await self._app.memories.get(self._for(principal), memory_id)

    async def context(self, principal: Principal, query: ContextQuery) -> Context:
        return await self._app.conversations.context(self._for(principal), query)

    async def facts(self, principal: Principal, category: Category) -> MemoryPage:
        return await self._app.memories.list(
            self._for(principal), categories=[category], limit=LARGEST_PAGE
        )

    async def place(self, principal: Principal, place_id: str) -> "Place":
        return await self._app.places.get(self._for(principal), place_id)

    async def choices(self, principal: Principal, argument: str) -> Sequence[Choice]:
        app, actor = self._app, self._for(principal)
        if argument == "memory_id":
            return completion.memories((await app.memories.list(actor, limit=LARGEST_PAGE)).items)
        if argument == "agent_id":
            return completion.agents((await app.agents.list(actor, limit=LARGEST_PAGE)).items)
        if actor.user_id is None and actor.user_name is None:
            return ()
        if argument == "place_id":
            return completion.places((await app.places.list(actor, limit=LARGEST_PAGE)).items)
        talks = await app.conversations.list(actor, limit=LARGEST_PAGE)
        return completion.conversations(talks.items)

    async def changes(self, wanted: Wanted) -> AsyncGenerator[Collection[str]]:
        before: Mapping[str, str] | None = None
        async with aclosing(self._when()) as when:
            async for actor in when:
                now = await undisturbed(self._marks(actor, wanted))
                if before is None:
                    yield ()
                elif changed := [uri for uri, mark in now.items() if mark != before[uri]]:
                    yield changed
                before = now

    async def _marks(self, actor: Actor, wanted: Wanted) -> Mapping[str, str]:
        # The context of a conversation stays the same, so nobody looks for a change.
        asked: dict[Principal, list[str]] = {}
        for uri, request in wanted.items():
            if request.kind != "context" or not request.id:
                asked.setdefault(request.principal, []).append(uri)
        found: dict[str, str] = {}
        for principal, uris in asked.items():
            parts = [(wanted[uri].kind, wanted[uri].id) for uri in uris]
            acting = actor.acting_for(principal.user_id, principal.agent_id)
            found.update(zip(uris, await self._app.documents.marks(acting, parts), strict=True))
        return found

    async def _who(self) -> Actor:
        return self._actor

    def _for(self, principal: Principal) -> Actor:
        return self._actor.acting_for(principal.user_id, principal.agent_id)
