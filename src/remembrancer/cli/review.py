"""``review``: what waits for somebody to say whether it is right."""

from typing import Annotated, Any

import typer

from remembrancer.access import Actor
from remembrancer.app import Remembrancer
from remembrancer.cli.actors import actor_for
from remembrancer.cli.output import as_json, console, day, table
from remembrancer.cli.runtime import with_store
from remembrancer.errors import InvalidInput
from remembrancer.memories.schemas import Category, Kind, Memory
from remembrancer.review.schemas import MOST_DECISIONS, Decision, ReviewDecision, ReviewResult
from remembrancer.validation import made

group = typer.Typer(
    help="What waits for somebody to say whether it is right.", no_args_is_help=True
)

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
As = Annotated[
    str,
    typer.Option("--user", help="Whose: id, platform:platform_user_id, or a name only one has."),
]
Ids = Annotated[list[str] | None, typer.Argument(help="Ids of memories that wait.")]
All = Annotated[bool, typer.Option("--all", help="All that waits.")]


@group.command("list")
def list_(context: typer.Context, user: As, json: Json = False) -> None:
    """List what waits for a user, the newest first."""

    async def work(app: Remembrancer) -> list[Memory]:
        return await _waiting(app, await actor_for(app, user, None))

    waiting = with_store(context, work)
    if json:
        as_json(waiting)
        return
    rows = [
        [one.id, day(one.created_at), one.category, one.content, str(one.message_id or "")]
        for one in waiting
    ]
    console().print(table("Id", "Found", "Category", "Content", "From message", rows=rows))


@group.command()
def confirm(
    context: typer.Context, user: As, ids: Ids = None, everything: All = False, json: Json = False
) -> None:
    """Say that something is right: it is recalled from now on."""
    _decide(context, user, ids, everything, Decision.CONFIRM, json=json)


@group.command()
def reject(
    context: typer.Context, user: As, ids: Ids = None, everything: All = False, json: Json = False
) -> None:
    """Say that something is wrong: it is forgotten, and not found in the same messages again."""
    _decide(context, user, ids, everything, Decision.REJECT, json=json)


@group.command()
def edit(
    context: typer.Context,
    user: As,
    memory_id: Annotated[str, typer.Argument(help="Id of a memory that waits.")],
    content: Annotated[str | None, typer.Argument(help="What it should say.")] = None,
    kind: Annotated[Kind | None, typer.Option(help="Of this kind.")] = None,
    category: Annotated[Category | None, typer.Option(help="Of this category.")] = None,
    json: Json = False,
) -> None:
    """Put something in other words and say that these are right."""
    given = {"content": content, "kind": kind, "category": category}
    changes = {name: value for name, value in given.items() if value is not None}
    if not changes:
        raise InvalidInput("say what should be different", field="content")
    _decide(context, user, [memory_id], False, Decision.CONFIRM, json=json, **changes)


@group.command()
def reopen(context: typer.Context, user: As, ids: Ids = None, json: Json = False) -> None:
    """Let wait again what was rejected by mistake."""
    _decide(context, user, ids, False, Decision.REOPEN, json=json)


@group.command()
def share(context: typer.Context, user: As, ids: Ids = None, json: Json = False) -> None:
    """Say that something is right and show it to the members of its space."""
    _decide(context, user, ids, False, Decision.SHARE, json=json)


def _decide(
    context: typer.Context,
    user: str,
    ids: list[str] | None,
    everything: bool,
    decision: Decision,
    *,
    json: bool,
    **changes: Any,
) -> None:
    if everything == bool(ids):
        raise InvalidInput("name some, or give --all", field="ids")

    async def work(app: Remembrancer) -> list[ReviewResult]:
        actor = await actor_for(app, user, None)
        chosen = ids or [one.id for one in await _waiting(app, actor)]
        done: list[ReviewResult] = []
        for start in range(0, len(chosen), MOST_DECISIONS):
            some = [
                made(ReviewDecision, memory_id=one, decision=decision, **changes)
                for one in chosen[start : start + MOST_DECISIONS]
            ]
            done += await app.review.decide(actor, some)
        return done

    done = with_store(context, work)
    if json:
        as_json(done)
        return
    rows = [[one.memory_id, one.outcome, one.now or "", one.reason or ""] for one in done]
    console().print(table("Id", "Outcome", "Now", "Why", rows=rows))


async def _waiting(app: Remembrancer, actor: Actor) -> list[Memory]:
    found: list[Memory] = []
    cursor = None
    while True:
        page = await app.review.list(actor, limit=200, cursor=cursor)
        found += page.memories
        cursor = page.next_cursor
        if cursor is None:
            return found
