"""``tools``: what models are shown, and a call as a model would make it."""

from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

import typer
from pydantic_core import to_json

from remembrancer.app import Remembrancer
from remembrancer.cli.actors import AgentOption, UserOption, actor_for
from remembrancer.cli.output import as_json, console, plain, table
from remembrancer.cli.runtime import with_store
from remembrancer.tools.registry import Tool, ToolAnswer, ToolContext, anthropic_tool, openai_tool

group = typer.Typer(help="Tools that models call.", no_args_is_help=True)


class ToolFormat(StrEnum):
    """Whose schemas."""

    OPENAI = "openai"
    ANTHROPIC = "anthropic"


@group.command("list")
def list_tools(
    context: typer.Context,
    format: Annotated[  # noqa: A002
        ToolFormat | None, typer.Option(help="Print JSON schemas: openai, anthropic.")
    ] = None,
) -> None:
    """List the tools, or print their schemas."""

    async def work(app: Remembrancer) -> list[Tool[Any]]:
        return app.tools.select()

    tools = with_store(context, work, check_model=False)
    if format is not None:
        shown = openai_tool if format is ToolFormat.OPENAI else anthropic_tool
        typer.echo(to_json([shown(tool) for tool in tools], indent=2).decode())
        return
    rows = [[tool.name, tool.description.partition(". ")[0] + "."] for tool in tools]
    console().print(table("Tool", "What it does", rows=rows))


@group.command("call")
def call_tool(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Of the tool, as `tools list` shows it.")],
    arguments: Annotated[str, typer.Argument(help="A JSON object.")] = "{}",
    user: UserOption = None,
    agent: AgentOption = None,
    conversation: Annotated[UUID | None, typer.Option(help="The conversation it is in.")] = None,
    message: Annotated[UUID | None, typer.Option(help="The message that is answered.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Call a tool as a model would, and print what the model would be given."""
    where = ToolContext(conversation_id=conversation, message_id=message)

    async def work(app: Remembrancer) -> ToolAnswer:
        actor = await actor_for(app, user, agent)
        return await app.tools.call(actor, name, arguments, where)

    answer = with_store(context, work)
    if json:
        as_json(answer)
    else:
        console().print(plain(answer.text), soft_wrap=True)
    if not answer.ok:
        raise typer.Exit(1)
