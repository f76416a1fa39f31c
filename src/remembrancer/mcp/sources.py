"""Sources of an MCP server's answers: the local store, or another server's REST API."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol
from uuid import UUID

from remembrancer.access import Actor, Role
from remembrancer.context.schemas import Context, ContextQuery
from remembrancer.document.schemas import MemoryDocument
from remembrancer.mcp.resources import Principal
from remembrancer.memories.schemas import MemoryHistory
from remembrancer.settings import ToolSet
from remembrancer.tools.definitions import MEMORY_TOOLS
from remembrancer.tools.registry import ToolAnswer, ToolContext, plain_tool

if TYPE_CHECKING:
    from remembrancer.app import Remembrancer


ListedTools = Sequence[Mapping[str, Any]]


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
    def __init__(self, app: "Remembrancer", actor: Actor, tool_set: ToolSet = ToolSet.ALL) -> None:
        self._app = app
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

    def _for(self, principal: Principal) -> Actor:
        return self._actor.acting_for(principal.user_id, principal.agent_id)
