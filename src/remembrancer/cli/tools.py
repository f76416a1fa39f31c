"""``tools``: list the tools for models, and call one."""

from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

import typer
from pydantic_core import to_json

from remembrancer.app import Remembrancer
from remembrancer.cli.actors import actor_for
from remembrancer.cli.options import AgentOption, Json, UserOption
from remembrancer.cli.output import as_json, console, plain, table
from remembrancer.cli.runtime import with_store
from remembrancer.tools.registry import Tool, ToolAnswer, ToolContext, anthropic_tool, openai_tool

group = typer.Typer(help="Tools for models.", no_args_is_help=True)


class ToolFormat(StrEnum):
    OPENAI = "openai"
    ANTHROPIC = "anthropic"


@group.command("list")
def list_tools(
    context: typer.Context,
    format: Annotated[  # noqa: A002
        ToolFormat | None, typer.Option(help="Print the JSON schemas of a provider.")
    ] = None,
) -> None:
    """List the tools, or print their schemas."""

    async def work(app: Remembrancer) -> list[Tool[Any]]:
        return app.tools.select()

    tools = with_store(context, work, check_model=False)
    if format is not None:
        convert = openai_tool if format is ToolFormat.OPENAI else anthropic_tool
        typer.echo(to_json([convert(tool) for tool in tools], indent=2).decode())
        return
    rows = [[tool.name, tool.description.partition(". ")[0] + "."] for tool in tools]
    console().print(table("Tool", "Description", rows=rows))


@group.command("call")
def call_tool(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Name of the tool, as in `tools list`.")],
    arguments: Annotated[str, typer.Argument(help="A JSON object.")] = "{}",
    user: UserOption = None,
    agent: AgentOption = None,
    conversation: Annotated[UUID | None, typer.Option(help="Id of the conversation.")] = None,
    message: Annotated[UUID | None, typer.Option(help="Id of the answered message.")] = None,
    json: Json = False,
) -> None:
    """Call a tool as a model would, and print the answer for the model."""
    tool_context = ToolContext(conversation_id=conversation, message_id=message)

    async def work(app: Remembrancer) -> ToolAnswer:
        actor = await actor_for(app, user, agent)
        return await app.tools.call(actor, name, arguments, tool_context)

    answer = with_store(context, work)
    if json:
        as_json(answer)
    else:
        console().print(plain(answer.text), soft_wrap=True)
    if not answer.ok:
        raise typer.Exit(1)
