"""``review``: list pending memories and decide on them."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from remembrancer.access import Actor
from remembrancer.app import Remembrancer
from remembrancer.cli.actors import actor_for
from remembrancer.cli.options import Json, RequiredUser
from remembrancer.cli.output import day, show, table
from remembrancer.cli.runtime import with_store
from remembrancer.errors import InvalidInput
from remembrancer.memories.schemas import Category, Kind, Memory
from remembrancer.paging import LARGEST_PAGE
from remembrancer.review.schemas import MOST_DECISIONS, Decision, ReviewDecision, ReviewResult
from remembrancer.validation import made

group = typer.Typer(help="Pending memories and decisions on them.", no_args_is_help=True)

Ids = Annotated[list[str] | None, typer.Argument(help="Ids of pending memories.")]
All = Annotated[bool, typer.Option("--all", help="All pending memories.")]


@group.command("list")
def list_(context: typer.Context, user: RequiredUser, json: Json = False) -> None:
    """List a user's pending memories, the newest first."""

    async def work(app: Remembrancer) -> list[Memory]:
        return await _pending(app, await actor_for(app, user))

    show(with_store(context, work), json, _memory_table)


def _memory_table(memories: Sequence[Memory]) -> object:
    rows = [
        [
            memory.id,
            day(memory.created_at),
            memory.category,
            memory.content,
            str(memory.message_id or ""),
        ]
        for memory in memories
    ]
    return table("Id", "Created", "Category", "Content", "From message", rows=rows)


@group.command()
def confirm(
    context: typer.Context,
    user: RequiredUser,
    ids: Ids = None,
    everything: All = False,
    json: Json = False,
) -> None:
    """Confirm memories. They are recalled from now on."""
    _decide(context, user, ids, Decision.CONFIRM, everything=everything, json=json)


@group.command()
def reject(
    context: typer.Context,
    user: RequiredUser,
    ids: Ids = None,
    everything: All = False,
    json: Json = False,
) -> None:
    """Reject memories. They are forgotten and not extracted from the same messages again."""
    _decide(context, user, ids, Decision.REJECT, everything=everything, json=json)


@group.command()
def edit(
    context: typer.Context,
    user: RequiredUser,
    memory_id: Annotated[str, typer.Argument(help="Id of a pending memory.")],
    content: Annotated[str | None, typer.Argument(help="The new text.")] = None,
    kind: Annotated[Kind | None, typer.Option(help="The new kind.")] = None,
    category: Annotated[Category | None, typer.Option(help="The new category.")] = None,
    json: Json = False,
) -> None:
    """Edit a memory and confirm it."""
    values = {"content": content, "kind": kind, "category": category}
    changes: dict[str, Any] = {name: value for name, value in values.items() if value is not None}
    if not changes:
        raise InvalidInput("give a new text, kind or category", field="content")
    _decide(context, user, [memory_id], Decision.CONFIRM, json=json, **changes)


@group.command()
def reopen(context: typer.Context, user: RequiredUser, ids: Ids = None, json: Json = False) -> None:
    """Make rejected memories pending again."""
    _decide(context, user, ids, Decision.REOPEN, json=json)


@group.command()
def share(context: typer.Context, user: RequiredUser, ids: Ids = None, json: Json = False) -> None:
    """Confirm memories and share them with the members of their space."""
    _decide(context, user, ids, Decision.SHARE, json=json)


def _decide(
    context: typer.Context,
    user: str,
    ids: list[str] | None,
    decision: Decision,
    *,
    json: bool,
    everything: bool = False,
    **changes: Any,
) -> None:
    if everything == bool(ids):
        raise InvalidInput("give either ids or --all", field="ids")

    async def work(app: Remembrancer) -> list[ReviewResult]:
        actor = await actor_for(app, user)
        memory_ids = ids or [memory.id for memory in await _pending(app, actor)]
        decisions = [
            made(ReviewDecision, memory_id=memory_id, decision=decision, **changes)
            for memory_id in memory_ids
        ]
        results: list[ReviewResult] = []
        for start in range(0, len(decisions), MOST_DECISIONS):
            batch = decisions[start : start + MOST_DECISIONS]
            results += await app.review.decide(actor, batch)
        return results

    show(with_store(context, work), json, _result_table)


def _result_table(results: Sequence[ReviewResult]) -> object:
    rows = [
        [result.memory_id, result.outcome, result.now or "", result.reason or ""]
        for result in results
    ]
    return table("Id", "Outcome", "Now", "Why", rows=rows)


async def _pending(app: Remembrancer, actor: Actor) -> list[Memory]:
    memories: list[Memory] = []
    cursor = None
    while True:
        page = await app.review.list(actor, limit=LARGEST_PAGE, cursor=cursor)
        memories += page.memories
        cursor = page.next_cursor
        if cursor is None:
            return memories
