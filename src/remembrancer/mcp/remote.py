"""The memory of another server, through its REST API."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from remembrancer.access import Role
from remembrancer.client import AsyncClient
from remembrancer.context.schemas import Context, ContextQuery
from remembrancer.document.schemas import MemoryDocument
from remembrancer.errors import InvalidInput
from remembrancer.keys.schemas import KeyHolder
from remembrancer.mcp.resources import Principal
from remembrancer.mcp.sources import ListedTools, id_arguments
from remembrancer.memories.schemas import MemoryHistory
from remembrancer.settings import ToolSet
from remembrancer.tools.registry import ToolAnswer
from remembrancer.user_names import UserName


class RemoteSource:
    def __init__(
        self,
        client: AsyncClient,
        holder: KeyHolder,
        user_id: UUID | None = None,
        agent_id: UUID | None = None,
        tool_set: ToolSet = ToolSet.ALL,
    ) -> None:
        self.tool_set = tool_set
        self._client = client
        self._trusted = holder.role is not Role.USER
        self._user_id = user_id if self._trusted else holder.user_id
        self._agent_id = agent_id

    @property
    def id_arguments(self) -> Sequence[str]:
        return id_arguments(self._trusted, self._user_id, self._agent_id)

    async def tools(self) -> ListedTools:
        return (await self._client.tools.list()).items

    async def call(
        self, principal: Principal, name: str, arguments: Mapping[str, Any]
    ) -> ToolAnswer:
        user_id, agent_id = self._for(principal)
        return await self._client.tools.call(name, arguments, user=user_id, agent=agent_id)

    async def document(self, principal: Principal) -> MemoryDocument:
        user_id, agent_id = self._for(principal)
        if user_id is None:
            raise InvalidInput("is required; name the user", field="user_id")
        return await self._client.documents.get(user=user_id, agent=agent_id)

    async def history(self, principal: Principal, memory_id: str) -> MemoryHistory:
        user_id, agent_id = self._for(principal)
        return await self._client.memories.get(memory_id, user=user_id, agent=agent_id)

    async def context(self, principal: Principal, query: ContextQuery) -> Context:
        user_id, agent_id = self._for(principal)
        return await self._client.conversations.context(query, user=user_id, agent=agent_id)

    def _for(self, principal: Principal) -> tuple[UUID | UserName | None, UUID | None]:
        return principal.user_id or self._user_id, principal.agent_id or self._agent_id
