"""Tools for language models: schemas and calls. /api/tools."""

from enum import StrEnum
from typing import Annotated, Any

from fastapi import Path, Query
from pydantic import Field

from remembrancer.api.dependencies import App, Caller, RequestActor, narrowed
from remembrancer.api.endpoints import Router
from remembrancer.tools.registry import (
    ToolAnswer,
    ToolContext,
    anthropic_tool,
    openai_tool,
    plain_tool,
)

router = Router(prefix="/api/tools", tags=["tools"])


class ToolFormat(StrEnum):
    """Format of the schemas."""

    PLAIN = "plain"
    """Name, description, schemas of arguments and result, effects, and whether it is built in."""
    OPENAI = "openai"
    """For the chat completions API of OpenAI and compatible APIs."""
    ANTHROPIC = "anthropic"
    """For the messages API of Anthropic."""


class ToolCall(ToolContext):
    """A call of a tool: context and the model's arguments."""

    arguments: dict[str, Any] | str = Field(default={}, description="A JSON object, or its text.")


@router.get("")
async def list_tools(
    app: App,
    _actor: Caller,
    format: Annotated[ToolFormat, Query(description="Format of the schemas.")] = ToolFormat.PLAIN,  # noqa: A002
) -> list[dict[str, Any]]:
    """List the tools with their guidance and the JSON schemas of their arguments."""
    schema = {ToolFormat.OPENAI: openai_tool, ToolFormat.ANTHROPIC: anthropic_tool}.get(
        format, plain_tool
    )
    return [schema(tool) for tool in app.tools.select()]


@router.post("/{name}")
async def call_tool(
    app: App,
    actor: RequestActor,
    name: Annotated[str, Path(examples=["add_to_memory"])],
    call: ToolCall,
) -> ToolAnswer:
    """Call a tool. A mistake that the model can correct is a 200 with `ok` false and `text`."""
    context = narrowed(call, ToolContext)
    return await app.tools.call(actor, name, call.arguments, context)
