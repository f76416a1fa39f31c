"""Agents, and their tools."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from remembrancer.agents.schemas import Agent, AgentCreate, AgentUpdate
from remembrancer.client.calls import Call, Many, call, part, sent, whom
from remembrancer.client.memories import memories_of, query_of
from remembrancer.client.operations import By, Group, listing, listing_of, operation
from remembrancer.context.schemas import Bulletin
from remembrancer.memories.schemas import MemoryFilter, MemoryPage
from remembrancer.paging import Page
from remembrancer.recall.schemas import RecallAnswer, RecallQuery
from remembrancer.tools.registry import ToolAnswer, ToolContext


def _agent(agent_id: UUID, *parts: object) -> str:
    return "/".join(["/api/agents", part(agent_id), *map(str, parts)])


class Agents(Group[By]):
    """Assistants that read and write memory."""

    @operation
    def create(self, agent: AgentCreate, *, idempotency_key: str | None = None) -> Call[Agent]:
        """Make an agent."""
        return call("POST", "/api/agents", Agent, body=agent, key=idempotency_key, keyed=True)

    @listing
    def list(self, *, limit: int = 50, cursor: str | None = None) -> Call[Page[Agent]]:
        """List agents in the order they were made."""
        return call("GET", "/api/agents", Page[Agent], query={"limit": limit, "cursor": cursor})

    @operation
    def get(self, agent_id: UUID) -> Call[Agent]:
        """Return an agent."""
        return call("GET", _agent(agent_id), Agent)

    @operation
    def update(
        self, agent_id: UUID, changes: AgentUpdate, *, if_version: int | None = None
    ) -> Call[Agent]:
        """Change the fields that are sent."""
        return call("PUT", _agent(agent_id), Agent, body=changes, if_version=if_version)

    @operation
    def delete(self, agent_id: UUID) -> Call[None]:
        """Retire an agent; its memories stay with the people they belong to."""
        return call("DELETE", _agent(agent_id))

    @operation
    def bulletin(self, agent_id: UUID, *, tokens: int | None = None) -> Call[Bulletin]:
        """Return a digest of shared knowledge for an agent, by kind."""
        return call("GET", _agent(agent_id, "bulletin"), Bulletin, query={"tokens": tokens})

    @listing_of(memories_of)
    def memories(
        self,
        wanted: MemoryFilter | None = None,
        *,
        user_id: UUID | None = None,
        agent_id: UUID | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Call[MemoryPage]:
        """List memories, the newest first unless sorted."""
        page = {"limit": limit, "cursor": cursor}
        query = {**query_of(wanted), **whom(user_id, agent_id), **page}
        return call("GET", "/api/agents/memories", MemoryPage, query=query)

    @operation
    def search(
        self,
        wanted: RecallQuery,
        *,
        user_id: UUID | None = None,
        agent_id: UUID | None = None,
    ) -> Call[RecallAnswer]:
        """Search memories by query, limit, kinds, sort and sources; no other field is sent."""
        given = sent(wanted)
        query = {
            "q": given.get("query"),
            "limit": given.get("limit"),
            "kind": given.get("kinds"),
            "sort": given.get("sort"),
            "source": given.get("sources"),
            **whom(user_id, agent_id),
        }
        return call("GET", "/api/agents/memories/search", RecallAnswer, query=query)


class Tools(Group[By]):
    """Tools for language models."""

    @operation
    def list(self, format: str = "plain") -> Call[Many[dict[str, Any]]]:  # noqa: A002
        """List the tools: ``plain``, or as ``openai`` or ``anthropic`` take them."""
        return call("GET", "/api/tools", Many[dict[str, Any]], query={"format": format})

    @operation
    def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | str | None = None,
        *,
        context: ToolContext | None = None,
        user_id: UUID | None = None,
        agent_id: UUID | None = None,
    ) -> Call[ToolAnswer]:
        """Call a tool. What the model can mend is an answer that is not ``ok``."""
        where = sent(context) if context is not None else {}
        given = dict(arguments) if isinstance(arguments, Mapping) else arguments or {}
        body = {**where, **whom(user_id, agent_id)}
        made = call("POST", f"/api/tools/{part(name)}", ToolAnswer, body=body)
        # As they are: a null is the model's.
        made.body["arguments"] = given
        return made
