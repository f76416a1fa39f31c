"""The memory of another server, through its REST API."""

from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from remembrancer.access import Role
from remembrancer.client import AsyncClient
from remembrancer.context.schemas import Context, ContextQuery
from remembrancer.document.schemas import MemoryDocument
from remembrancer.errors import InvalidInput, Unavailable
from remembrancer.keys.schemas import KeyHolder
from remembrancer.mcp import completion
from remembrancer.mcp.completion import Choice
from remembrancer.mcp.resources import Principal
from remembrancer.mcp.sources import ListedTools, Wanted, id_arguments
from remembrancer.memories.schemas import Category, MemoryHistory, MemoryPage
from remembrancer.paging import LARGEST_PAGE
from remembrancer.places.schemas import Place
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

    async def facts(self, principal: Principal, category: Category) -> MemoryPage:
        user_id, agent_id = self._for(principal)
        return await self._client.memories.list(
            categories=[category], user=user_id, agent=agent_id, limit=LARGEST_PAGE
        )

    async def place(self, principal: Principal, place_id: str) -> Place:
        user_id, agent_id = self._for(principal)
        return await self._client.places.get(place_id, user=user_id, agent=agent_id)

    async def choices(self, principal: Principal, argument: str) -> Sequence[Choice]:
        client, limit = self._client, LARGEST_PAGE
        user, agent = self._for(principal)
        if argument == "memory_id":
            found = await client.memories.list(user=user, agent=agent, limit=limit)
            return completion.memories(found.items)
        if argument == "agent_id":
            return completion.agents((await client.agents.list(limit=limit)).items)
        if user is None and self._trusted:
            return ()
        if argument == "place_id":
            listed = await client.places.list(user=user, agent=agent, limit=limit)
            return completion.places(listed.items)
        talks = await client.conversations.list(user=user, agent=agent, limit=limit)
        return completion.conversations(talks.items)

    async def changes(self, wanted: Wanted) -> AsyncGenerator[Collection[str]]:
        from mcp import Client, MCPError  # noqa: PLC0415 - for clients that subscribe
        from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415
        from mcp.client.subscriptions import (  # noqa: PLC0415
            ListenNotSupportedError,
            ResourceUpdated,
            SubscriptionLost,
        )

        http = self._client.sender.client
        ids = {"user_id": self._trusted and self._user_id, "agent_id": self._agent_id}
        query = urlencode({name: str(id_) for name, id_ in ids.items() if id_})
        address = f"{str(http.base_url).rstrip('/')}/mcp{'?' if query else ''}{query}"
        transport = streamable_http_client(address, http_client=http)
        try:
            async with (
                Client(transport) as client,
                client.listen(resource_subscriptions=list(wanted)) as updates,
            ):
                yield ()
                async for event in updates:
                    if isinstance(event, ResourceUpdated):
                        yield [event.uri]
        except (MCPError, ListenNotSupportedError, SubscriptionLost, ExceptionGroup):
            raise Unavailable("the server tells no changes any more; subscribe again") from None

    def _for(self, principal: Principal) -> tuple[UUID | UserName | None, UUID | None]:
        return principal.user_id or self._user_id, principal.agent_id or self._agent_id
