"""``remember``: one statement."""

from typing import Annotated

import typer
from rich.text import Text

from remembrancer.app import Remembrancer
from remembrancer.cli.actors import AgentOption, UserOption, actor_for
from remembrancer.cli.output import as_json, console, plain
from remembrancer.cli.runtime import with_store
from remembrancer.errors import InvalidInput
from remembrancer.memories.schemas import (
    Category,
    Kind,
    MemoryCreate,
    Outcome,
    RememberResult,
)


def remember(
    context: typer.Context,
    text: Annotated[str, typer.Argument(help="The statement, such as 'Ada prefers tea.'")],
    user: UserOption = None,
    agent: AgentOption = None,
    kind: Annotated[Kind, typer.Option(help="How it behaves.")] = Kind.FACT,
    category: Annotated[Category, typer.Option(help="What it is about.")] = Category.OTHER,
    subject: Annotated[str | None, typer.Option(help="Whom or what it is about.")] = None,
    importance: Annotated[
        float | None, typer.Option(min=0, max=1, help="From 0 to 1; by kind unless given.")
    ] = None,
    shared: Annotated[
        bool, typer.Option("--shared", help="Nobody's in particular: everybody may recall it.")
    ] = False,
    allow_similar: Annotated[
        bool, typer.Option("--allow-similar", help="Even if one on its subject exists.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Remember a statement for a user, or for everybody with --shared."""
    if user is None and not shared:
        raise InvalidInput("say whose it is with --user, or use --shared", field="user")
    statement = MemoryCreate(
        content=text,
        kind=kind,
        category=category,
        subject=subject,
        importance=importance,
        shared=shared,
        allow_similar=allow_similar,
    )

    async def work(app: Remembrancer) -> RememberResult:
        actor = await actor_for(app, user, agent)
        return await app.memories.remember(actor, statement, source="cli")

    written = with_store(context, work)
    if json:
        as_json(written)
    else:
        console().print(_told(written), soft_wrap=True)


def _told(written: RememberResult) -> Text:
    memory = written.memory
    if written.outcome is Outcome.MENTIONED:
        return Text.assemble(
            "Known already as ",
            (memory.id, "bold"),
            f"; mentioned {memory.mention_count} times now: ",
            plain(memory.content),
        )
    whose = "for everybody" if memory.user_id is None else "for this user"
    where = "this agent alone" if memory.agent_id else "every agent"
    return Text.assemble("Remembered as ", (memory.id, "bold"), f", {whose} and {where}.")
