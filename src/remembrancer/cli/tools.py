"""``tools``: list the tools for models, and call one."""

from enum import StrEnum
from typing import Annotated
from uuid import UUID

import typer

from remembrancer.app import Remembrancer
from remembrancer.cli.actors import actor_for
from remembrancer.cli.command import Output, command
from remembrancer.cli.options import AgentOption, UserOption
from remembrancer.cli.output import as_json, console, plain, table
from remembrancer.tools.registry import ToolContext, anthropic_tool, openai_tool

group = typer.Typer()


class ToolFormat(StrEnum):
    OPENAI = "openai"
    ANTHROPIC = "anthropic"


@command(group, "list", json=False, check_model=False)
async def list_(
    app: Remembrancer,
    format: Annotated[  # noqa: A002
        ToolFormat | None, typer.Option(help="Print the JSON schemas of a provider.")
    ] = None,
) -> None:
    """List the tools, or print their schemas.

    Examples:
      remembrancer tools list
      remembrancer tools list --format openai
    """
    tools = app.tools.select()
    if format is not None:
        convert = openai_tool if format is ToolFormat.OPENAI else anthropic_tool
        as_json([convert(tool) for tool in tools])
        return
    rows = [[tool.name, tool.description.partition(". ")[0] + "."] for tool in tools]
    console().print(table("Tool", "Description", rows=rows))


@command(group, json=True)
async def call(
    app: Remembrancer,
    name: Annotated[str, typer.Argument(help="Name of the tool, as in `tools list`.")],
    arguments: Annotated[str, typer.Argument(help="A JSON object.")] = "{}",
    user: UserOption = None,
    agent: AgentOption = None,
    conversation: Annotated[
        UUID | None, typer.Option(help="Id of the conversation in which it is called.")
    ] = None,
    message: Annotated[
        UUID | None, typer.Option(help="Id of the message that the model answers.")
    ] = None,
) -> Output:
    """Call a tool as a model would, and print what the model is told.

    Examples:
      remembrancer tools call memory_recall '{"query": "tea"}' --user Ada
    """
    context = ToolContext(conversation_id=conversation, message_id=message)
    actor = await actor_for(app, user, agent)
    answer = await app.tools.call(actor, name, arguments, context)
    return Output(answer, plain(answer.text), code=0 if answer.ok else 1)
