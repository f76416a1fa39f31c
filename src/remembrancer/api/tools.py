"""Tools for models: their schemas, and a call of one. /api/tools."""

from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Path, Query
from pydantic import Field

from remembrancer.api.dependencies import App, Authenticated, narrowed
from remembrancer.tools.registry import (
    ToolAnswer,
    ToolContext,
    anthropic_tool,
    openai_tool,
    plain_tool,
)

router = APIRouter(prefix="/api/tools", tags=["tools"])


class ToolFormat(StrEnum):
    """Whose schemas."""

    PLAIN = "plain"
    """Name, description, schemas of arguments and result, effects, if it is a system tool."""
    OPENAI = "openai"
    """For chat completions, and what is compatible with them."""
    ANTHROPIC = "anthropic"
    """For messages."""


class ToolCall(ToolContext):
    """A call of a tool: for whom, where, and the arguments as the model gave them."""

    arguments: dict[str, Any] | str = Field({}, description="A JSON object, or its text.")
    user_id: UUID | None = Field(None, description="The user to act for.")
    agent_id: UUID | None = Field(None, description="The agent to act through.")


@router.get("")
async def list_tools(
    app: App,
    _actor: Authenticated,
    format: Annotated[ToolFormat, Query(description="Whose schemas.")] = ToolFormat.PLAIN,  # noqa: A002
) -> list[dict[str, Any]]:
    """List the tools with their guidance and the JSON schemas of their arguments."""
    shown = {ToolFormat.OPENAI: openai_tool, ToolFormat.ANTHROPIC: anthropic_tool}.get(
        format, plain_tool
    )
    return [shown(tool) for tool in app.tools.select()]


@router.post("/{name}")
async def call_tool(
    app: App,
    actor: Authenticated,
    name: Annotated[str, Path(examples=["add_to_memory"])],
    call: ToolCall,
) -> ToolAnswer:
    """Call a tool. What the model can mend is 200 with `ok` false, and told in `text`."""
    acting = actor.acting_for(call.user_id, call.agent_id)
    return await app.tools.call(acting, name, call.arguments, narrowed(call, ToolContext))
