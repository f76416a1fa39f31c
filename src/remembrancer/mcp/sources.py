"""What an MCP server hands on: the same answers, from the store or from a server's REST API."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import UUID

from remembrancer.access import Actor, Role
from remembrancer.app import Remembrancer
from remembrancer.context.schemas import Context, ContextQuery
from remembrancer.document.schemas import MemoryDocument
from remembrancer.memories.schemas import MemoryHistory
from remembrancer.tools.registry import ToolAnswer, ToolContext, plain_tool


@dataclass(frozen=True, slots=True)
class Whom:
    """For whom a request is, where that is the client's to say; null is what the source says."""

    user_id: UUID | None = None
    agent_id: UUID | None = None


class Source(Protocol):
    """Somebody's memory. It knows who asks; only a service without a user may say for whom.

    Every method raises the errors of :mod:`remembrancer.errors`.
    """

    @property
    def naming(self) -> Sequence[str]:
        """Which of ``user_id`` and ``agent_id`` each request says itself."""

    async def tools(self) -> Sequence[Mapping[str, Any]]:
        """Return the tools, as ``plain_tool`` shows them."""

    async def call(self, whom: Whom, name: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        """Call a tool."""

    async def document(self, whom: Whom) -> MemoryDocument:
        """Return the memory document."""

    async def history(self, whom: Whom, memory_id: str) -> MemoryHistory:
        """Return a memory with its history."""

    async def context(self, whom: Whom, wanted: ContextQuery) -> Context:
        """Return what an agent is told."""


def naming(trusted: bool, user_id: UUID | None, agent_id: UUID | None) -> Sequence[str]:
    """Return what requests say themselves: only a service without a user lets them say anything."""
    if not trusted or user_id is not None:
        return ()
    return ("user_id",) if agent_id is not None else ("user_id", "agent_id")


class StoreSource:
    """The store that is open in this process, for one actor."""

    def __init__(self, app: Remembrancer, actor: Actor) -> None:
        self._app = app
        self._actor = actor

    @property
    def naming(self) -> Sequence[str]:
        """What each request says itself: nothing where a user is set."""
        trusted = self._actor.role is not Role.USER
        return naming(trusted, self._actor.user_id, self._actor.agent_id)

    async def tools(self) -> Sequence[Mapping[str, Any]]:
        """Return the tools of the registry."""
        return [plain_tool(tool) for tool in self._app.tools.select()]

    async def call(self, whom: Whom, name: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        """Call a tool of the registry."""
        return await self._app.tools.call(self._for(whom), name, arguments, ToolContext())

    async def document(self, whom: Whom) -> MemoryDocument:
        """Return the memory document."""
        return await self._app.documents.get(self._for(whom))

    async def history(self, whom: Whom, memory_id: str) -> MemoryHistory:
        """Return a memory with its history."""
        return await self._app.memories.get(self._for(whom), memory_id)

    async def context(self, whom: Whom, wanted: ContextQuery) -> Context:
        """Return what an agent is told."""
        return await self._app.conversations.context(self._for(whom), wanted)

    def _for(self, whom: Whom) -> Actor:
        return self._actor.acting_for(whom.user_id, whom.agent_id)
