"""Agents and their tools."""

from collections.abc import Mapping
from typing import Any, Unpack
from uuid import UUID

from remembrancer.agents.schemas import Agent, AgentCreate, AgentUpdate
from remembrancer.client.calls import json_of
from remembrancer.client.operations import (
    By,
    ForAgent,
    Group,
    IfVersion,
    Once,
    Paging,
    listing,
    operation,
)
from remembrancer.context.schemas import Bulletin
from remembrancer.paging import Items, Page
from remembrancer.tools.registry import ToolAnswer, ToolContext


def _tool_call(arguments: Mapping[str, Any]) -> dict[str, Any]:
    given = arguments["arguments"]
    # As they are: a null in them is the model's.
    given = dict(given) if isinstance(given, Mapping) else given or {}
    return {**(json_of(arguments["context"]) or {}), "arguments": given}


class Agents(Group[By]):
    """Assistants that read and write memory."""

    @operation("POST /api/agents")
    def create(self, agent: AgentCreate, **key: Unpack[Once]) -> Agent:
        """Create an agent."""

    @listing("GET /api/agents")
    def list(self, **paging: Unpack[Paging]) -> Page[Agent]:
        """List agents, the oldest first."""

    @operation("GET /api/agents/{agent_id}")
    def get(self, agent_id: UUID) -> Agent:
        """Return an agent."""

    @operation("PUT /api/agents/{agent_id}")
    def update(self, agent_id: UUID, changes: AgentUpdate, **version: Unpack[IfVersion]) -> Agent:
        """Change the fields that are set."""

    @operation("DELETE /api/agents/{agent_id}")
    def delete(self, agent_id: UUID) -> None:
        """Delete an agent; its memories stay with their users."""

    @operation("GET /api/agents/{agent_id}/bulletin")
    def bulletin(self, agent_id: UUID, *, tokens: int | None = None) -> Bulletin:
        """Return a digest of shared knowledge for an agent, by kind, within ``tokens``."""


class Tools(Group[By]):
    """Tools for language models."""

    @operation("GET /api/tools")
    def list(self, format: str = "plain") -> Items[dict[str, Any]]:  # noqa: A002
        """List the tools: ``plain``, or in the format of ``openai`` or ``anthropic``."""

    @operation("POST /api/tools/{name}", ids="body", body=_tool_call)
    def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | str | None = None,
        context: ToolContext | None = None,
        **ids: Unpack[ForAgent],
    ) -> ToolAnswer:
        """Call a tool. A mistake that the model can correct is an answer with ``ok`` false."""
