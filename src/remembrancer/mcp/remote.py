"""A server's memory, through its REST API."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from remembrancer.access import Role
from remembrancer.client import AsyncClient
from remembrancer.context.schemas import Context, ContextQuery
from remembrancer.document.schemas import MemoryDocument
from remembrancer.errors import InvalidInput
from remembrancer.keys.schemas import KeyHolder
from remembrancer.mcp.sources import Whom, naming
from remembrancer.memories.schemas import MemoryHistory
from remembrancer.tools.registry import ToolAnswer


class RemoteSource:
    """Somebody's memory at a server, as far as the client's key reaches."""

    def __init__(
        self,
        client: AsyncClient,
        holder: KeyHolder,
        user_id: UUID | None = None,
        agent_id: UUID | None = None,
    ) -> None:
        self._client = client
        self._trusted = holder.role is not Role.USER
        self._user_id = user_id if self._trusted else holder.user_id
        self._agent_id = agent_id

    @property
    def naming(self) -> Sequence[str]:
        """What each request says itself: nothing where a user is set."""
        return naming(self._trusted, self._user_id, self._agent_id)

    async def tools(self) -> Sequence[Mapping[str, Any]]:
        """Return the tools of the server."""
        return await self._client.tools.list()

    async def call(self, whom: Whom, name: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        """Call a tool of the server."""
        user_id, agent_id = self._for(whom)
        return await self._client.tools.call(name, arguments, user_id=user_id, agent_id=agent_id)

    async def document(self, whom: Whom) -> MemoryDocument:
        """Return the memory document."""
        user_id, agent_id = self._for(whom)
        if user_id is None:
            raise InvalidInput("a user is needed here", field="user_id")
        return await self._client.users.document(user_id, agent_id=agent_id)

    async def history(self, whom: Whom, memory_id: str) -> MemoryHistory:
        """Return a memory with its history."""
        user_id, agent_id = self._for(whom)
        return await self._client.memories.get(memory_id, user_id=user_id, agent_id=agent_id)

    async def context(self, whom: Whom, wanted: ContextQuery) -> Context:
        """Return what an agent is told."""
        user_id, agent_id = self._for(whom)
        return await self._client.conversations.context(wanted, user_id=user_id, agent_id=agent_id)

    def _for(self, whom: Whom) -> tuple[UUID | None, UUID | None]:
        return whom.user_id or self._user_id, whom.agent_id or self._agent_id
