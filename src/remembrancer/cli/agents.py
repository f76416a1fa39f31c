"""``agents``: list, create and update agents."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from remembrancer.access import Scope
from remembrancer.agents.schemas import Agent, AgentCreate, AgentUpdate
from remembrancer.app import Remembrancer
from remembrancer.cli.actors import all_agents, find_agent
from remembrancer.cli.options import AgentArgument, Json
from remembrancer.cli.output import day, show, table
from remembrancer.cli.runtime import SERVICE, with_store

group = typer.Typer(help="Agents, which read and write memories.", no_args_is_help=True)

Description = Annotated[str | None, typer.Option(help="A description.")]
MemoryScope = Annotated[
    Scope | None,
    typer.Option(help="agent: only this agent uses its memories. global: all global agents do."),
]


@group.command("list")
def list_(context: typer.Context, json: Json = False) -> None:
    """List agents, the oldest first."""
    show(with_store(context, all_agents), json, _table)


@group.command("show")
def show_agent(context: typer.Context, agent: AgentArgument, json: Json = False) -> None:
    """Show an agent."""

    async def work(app: Remembrancer) -> Agent:
        return await app.agents.get(SERVICE, await find_agent(app, agent))

    show(with_store(context, work), json, _row)


@group.command()
def create(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Its name.")],
    description: Description = None,
    memory_scope: MemoryScope = None,
    json: Json = False,
) -> None:
    """Create an agent."""
    request = AgentCreate(name=name, **_values(description=description, memory_scope=memory_scope))

    async def work(app: Remembrancer) -> Agent:
        return await app.agents.create(SERVICE, request)

    show(with_store(context, work), json, _row)


@group.command()
def update(
    context: typer.Context,
    agent: AgentArgument,
    name: Annotated[str | None, typer.Option(help="A new name.")] = None,
    description: Description = None,
    memory_scope: MemoryScope = None,
    json: Json = False,
) -> None:
    """Update an agent. Only the given options change."""
    changes = AgentUpdate(**_values(name=name, description=description, memory_scope=memory_scope))

    async def work(app: Remembrancer) -> Agent:
        return await app.agents.update(SERVICE, await find_agent(app, agent), changes)

    show(with_store(context, work), json, _row)


def _values(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _row(agent: Agent) -> object:
    return _table([agent])


def _table(agents: Sequence[Agent]) -> object:
    rows = [
        [
            str(agent.id),
            agent.name,
            agent.memory_scope.value,
            agent.description,
            day(agent.created_at),
        ]
        for agent in agents
    ]
    return table("Id", "Name", "Memory scope", "Description", "Created", rows=rows)
