"""``agents``: the assistants that read and write memory."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from remembrancer.access import Scope
from remembrancer.agents.schemas import Agent, AgentCreate, AgentUpdate
from remembrancer.app import Remembrancer
from remembrancer.cli.actors import all_agents, find_agent
from remembrancer.cli.output import as_json, console, day, table
from remembrancer.cli.runtime import SERVICE, with_store

group = typer.Typer(help="The assistants that read and write memory.", no_args_is_help=True)

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Which = Annotated[str, typer.Argument(help="Id, or a name that only one has.")]
Description = Annotated[str | None, typer.Option(help="What it is for.")]
MemoryScope = Annotated[
    Scope | None,
    typer.Option(help="Whether its memories are its own, or for all of a user's global agents."),
]


@group.command("list")
def list_(context: typer.Context, json: Json = False) -> None:
    """List agents in the order they were made."""
    agents = with_store(context, all_agents)
    if json:
        as_json(agents)
    else:
        _show(agents)


@group.command()
def show(context: typer.Context, agent: Which, json: Json = False) -> None:
    """Show one agent."""

    async def work(app: Remembrancer) -> Agent:
        return await app.agents.get(SERVICE, await find_agent(app, agent))

    _show_one(with_store(context, work), json)


@group.command()
def create(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="What it is called.")],
    description: Description = None,
    memory_scope: MemoryScope = None,
    json: Json = False,
) -> None:
    """Make an agent."""
    wanted = AgentCreate(name=name, **_given(description=description, memory_scope=memory_scope))

    async def work(app: Remembrancer) -> Agent:
        return await app.agents.create(SERVICE, wanted)

    _show_one(with_store(context, work), json)


@group.command()
def update(
    context: typer.Context,
    agent: Which,
    name: Annotated[str | None, typer.Option(help="What it is called from now on.")] = None,
    description: Description = None,
    memory_scope: MemoryScope = None,
    json: Json = False,
) -> None:
    """Change what is given of an agent."""
    given = _given(name=name, description=description, memory_scope=memory_scope)
    changes = AgentUpdate(**given)

    async def work(app: Remembrancer) -> Agent:
        return await app.agents.update(SERVICE, await find_agent(app, agent), changes)

    _show_one(with_store(context, work), json)


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _show_one(agent: Agent, json: bool) -> None:
    if json:
        as_json(agent)
    else:
        _show([agent])


def _show(agents: Sequence[Agent]) -> None:
    rows = [
        [str(a.id), a.name, a.memory_scope.value, a.description, day(a.created_at)] for a in agents
    ]
    console().print(table("Id", "Name", "Memory scope", "Description", "Made", rows=rows))
