"""``agents``: list, resolve, create and update agents."""

from collections.abc import Sequence
from inspect import signature
from typing import Annotated, Any

import typer

from remembrancer.access import Scope
from remembrancer.agents.schemas import Agent, AgentCreate, AgentUpdate
from remembrancer.app import Remembrancer
from remembrancer.cli.actors import all_agents, find_agent
from remembrancer.cli.command import command
from remembrancer.cli.options import AgentArgument
from remembrancer.cli.output import day, table
from remembrancer.cli.runtime import SERVICE

group = typer.Typer()

Description = Annotated[str | None, typer.Option(help="What it is for.")]
MemoryScope = Annotated[
    Scope | None,
    typer.Option(help="agent: it alone uses its memories. global: all agents do."),
]

SystemPrompt = Annotated[str | None, typer.Option(help="Its instructions to the model.")]
Temperature = Annotated[float | None, typer.Option(help="How freely its model answers, 0 to 2.")]
LlmProvider = Annotated[
    str | None, typer.Option(help="The provider of its language model, such as openai.")
]
LlmModel = Annotated[str | None, typer.Option(help="Its language model, such as gpt-5-mini.")]
TtsVoice = Annotated[str | None, typer.Option(help="The voice that speaks its answers.")]


def _table(agents: Sequence[Agent]) -> object:
    rows = [
        [str(a.id), a.name, a.memory_scope.value, a.description, day(a.created_at)] for a in agents
    ]
    return table(
        "Id",
        "Name",
        "Memory scope",
        "Description",
        "Created",
        rows=rows,
        empty="There are no agents yet. To create one: remembrancer agents create NAME",
    )


def _row(agent: Agent) -> object:
    return _table([agent])


@command(group, "list", render=_table)
async def list_(app: Remembrancer) -> list[Agent]:
    """List agents, the oldest first.

    Examples:
      remembrancer agents list
    """
    return await all_agents(app)


@command(group, render=_row)
async def show(app: Remembrancer, agent: AgentArgument) -> Agent:
    """Show an agent.

    Examples:
      remembrancer agents show 'Kitchen helper'
    """
    return await app.agents.get(SERVICE, await find_agent(app, agent))


@command(group, render=_row)
async def create(
    app: Remembrancer,
    name: Annotated[str, typer.Argument(help="Its name.")],
    description: Description = None,
    memory_scope: MemoryScope = None,
    system_prompt: SystemPrompt = None,
    temperature: Temperature = None,
    llm_provider: LlmProvider = None,
    llm_model: LlmModel = None,
    tts_voice: TtsVoice = None,
) -> Agent:
    """Create an agent.

    Examples:
      remembrancer agents create 'Kitchen helper' --memory-scope global
    """
    options = _present(
        description=description,
        memory_scope=memory_scope,
        system_prompt=system_prompt,
        temperature=temperature,
        llm_provider=llm_provider,
        llm_model=llm_model,
        tts_voice=tts_voice,
    )
    return await app.agents.create(SERVICE, AgentCreate(name=name, **options))


async def resolve(app: Remembrancer, name: str, **options: Any) -> Agent:
    """Show the agent with a name; create it, with the options, if there is none.

    Examples:
      remembrancer agents resolve 'Kitchen helper'
    """
    return await app.agents.resolve(SERVICE, name, **_present(**options))


resolve.__signature__ = signature(create, eval_str=True)  # type: ignore[attr-defined]
command(group, render=_row)(resolve)


@command(group, render=_row)
async def update(
    app: Remembrancer,
    agent: AgentArgument,
    name: Annotated[str | None, typer.Option(help="A new name.")] = None,
    description: Description = None,
    memory_scope: MemoryScope = None,
    system_prompt: SystemPrompt = None,
    temperature: Temperature = None,
    llm_provider: LlmProvider = None,
    llm_model: LlmModel = None,
    tts_voice: TtsVoice = None,
) -> Agent:
    """Update an agent. Only the given options change.

    Examples:
      remembrancer agents update 'Kitchen helper' --llm-provider ollama --llm-model qwen3
    """
    changes = _present(
        name=name,
        description=description,
        memory_scope=memory_scope,
        system_prompt=system_prompt,
        temperature=temperature,
        llm_provider=llm_provider,
        llm_model=llm_model,
        tts_voice=tts_voice,
    )
    return await app.agents.update(SERVICE, await find_agent(app, agent), AgentUpdate(**changes))


def _present(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}
