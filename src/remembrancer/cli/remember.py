"""``remember``: store a statement."""

from typing import Annotated

import typer
from rich.text import Text

from remembrancer.app import Remembrancer
from remembrancer.cli.actors import actor_for
from remembrancer.cli.command import store_command
from remembrancer.cli.options import AgentOption, ExpiresAt, UserOption, in_utc
from remembrancer.cli.output import plain
from remembrancer.errors import InvalidInput
from remembrancer.memories.schemas import Category, Kind, MemoryCreate, Outcome, RememberResult


def _sentence(result: RememberResult) -> Text:
    memory = result.memory
    if result.outcome is Outcome.UNCHANGED:
        return Text.assemble("Stored already as ", (memory.id, "bold"), ": ", plain(memory.content))
    if result.outcome is Outcome.MENTIONED:
        return Text.assemble(
            "Already known as ",
            (memory.id, "bold"),
            f"; mentioned {memory.mention_count} times: ",
            plain(memory.content),
        )
    user = "all users" if memory.user_id is None else "this user"
    agent = "this agent only" if memory.agent_id else "every agent"
    return Text.assemble("Remembered as ", (memory.id, "bold"), f", for {user} and {agent}.")


@store_command(_sentence)
async def remember(
    app: Remembrancer,
    text: Annotated[str, typer.Argument(help="The statement, such as 'Ada prefers tea.'")],
    user: UserOption = None,
    agent: AgentOption = None,
    kind: Annotated[Kind, typer.Option(help="What kind of statement it is.")] = Kind.FACT,
    category: Annotated[Category, typer.Option(help="What it is about.")] = Category.OTHER,
    subject: Annotated[str | None, typer.Option(help="The person or thing it is about.")] = None,
    importance: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, help="How much it matters, from 0 to 1.", show_default="by its kind"
        ),
    ] = None,
    expires_at: ExpiresAt = None,
    external_id: Annotated[
        str | None, typer.Option(help="An id of your own: the same again changes nothing.")
    ] = None,
    shared: Annotated[
        bool, typer.Option("--shared", help="For everybody: every user may recall it.")
    ] = False,
    allow_similar: Annotated[
        bool,
        typer.Option(
            "--allow-similar",
            help="Store it also if there is a memory with the same --subject.",
        ),
    ] = False,
) -> RememberResult:
    """Store a statement about a user, or for everybody with --shared.

    Examples:
      remembrancer remember "Ada prefers tea over coffee." --user Ada --kind preference
      remembrancer remember "The office closes at six." --shared
    """
    if user is None and not shared:
        raise InvalidInput("is required; name the user with --user, or use --shared", field="user")
    statement = MemoryCreate(
        content=text,
        kind=kind,
        category=category,
        subject=subject,
        importance=importance,
        expires_at=in_utc(expires_at),
        external_id=external_id,
        shared=shared,
        allow_similar=allow_similar,
    )
    return await app.memories.remember(await actor_for(app, user, agent), statement, source="cli")
