"""``review``: list pending memories and decide on them."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any

import typer

from remembrancer.access import Actor
from remembrancer.app import Remembrancer
from remembrancer.cli.actors import actor_for
from remembrancer.cli.command import command
from remembrancer.cli.options import RequiredUser
from remembrancer.cli.output import day, table
from remembrancer.errors import InvalidInput
from remembrancer.memories.schemas import Category, Kind, Memory
from remembrancer.paging import all_items
from remembrancer.review.schemas import MOST_DECISIONS, Decision, ReviewDecision, ReviewResult
from remembrancer.validation import validate

group = typer.Typer()

Ids = Annotated[
    list[str] | None, typer.Argument(help="Ids of memories, as `review list` shows them.")
]
All = Annotated[bool, typer.Option("--all", help="All memories that wait.")]


def _memory_table(memories: Sequence[Memory]) -> object:
    rows = [
        [m.id, day(m.created_at), m.category, m.content, str(m.message_id or "")] for m in memories
    ]
    return table(
        "Id",
        "Created",
        "Category",
        "Content",
        "From message",
        rows=rows,
        empty="No memory waits for a decision.",
    )


def _result_table(results: Sequence[ReviewResult]) -> object:
    rows = [[r.memory_id, r.outcome, r.now or "", r.reason or ""] for r in results]
    return table("Id", "Outcome", "Now", "Why", rows=rows, empty="No memory waits for a decision.")


@command(group, "list", render=_memory_table)
async def list_(app: Remembrancer, user: RequiredUser) -> list[Memory]:
    """List the memories of a user that wait for a decision, the newest first.

    Examples:
      remembrancer review list --user Ada
    """
    return await _pending(app, await actor_for(app, user))


@command(group, render=_result_table)
async def confirm(
    app: Remembrancer, user: RequiredUser, ids: Ids = None, everything: All = False
) -> list[ReviewResult]:
    """Confirm memories. They are recalled from now on.

    Examples:
      remembrancer review confirm a1B2c3D4 --user Ada
      remembrancer review confirm --all --user Ada
    """
    return await _decide(app, user, ids, Decision.CONFIRM, everything)


@command(group, render=_result_table)
async def reject(
    app: Remembrancer, user: RequiredUser, ids: Ids = None, everything: All = False
) -> list[ReviewResult]:
    """Reject memories. They are forgotten, and not found in the same messages again.

    Examples:
      remembrancer review reject a1B2c3D4 --user Ada
    """
    return await _decide(app, user, ids, Decision.REJECT, everything)


@command(group, render=_result_table)
async def edit(
    app: Remembrancer,
    user: RequiredUser,
    memory_id: Annotated[str, typer.Argument(help="Id of a memory, as `review list` shows it.")],
    content: Annotated[str | None, typer.Argument(help="The new text.")] = None,
    kind: Annotated[Kind | None, typer.Option(help="The new kind.")] = None,
    category: Annotated[Category | None, typer.Option(help="The new category.")] = None,
) -> list[ReviewResult]:
    """Edit a memory and confirm it.

    Examples:
      remembrancer review edit a1B2c3D4 "Ada likes green tea." --user Ada
    """
    values = {"content": content, "kind": kind, "category": category}
    changes = {name: value for name, value in values.items() if value is not None}
    if not changes:
        raise InvalidInput("give a new text, kind or category", field="content")
    return await _decide(app, user, [memory_id], Decision.CONFIRM, changes=changes)


@command(group, render=_result_table)
async def reopen(app: Remembrancer, user: RequiredUser, ids: Ids = None) -> list[ReviewResult]:
    """Let rejected memories wait for a decision again.

    Examples:
      remembrancer review reopen a1B2c3D4 --user Ada
    """
    return await _decide(app, user, ids, Decision.REOPEN)


@command(group, render=_result_table)
async def share(app: Remembrancer, user: RequiredUser, ids: Ids = None) -> list[ReviewResult]:
    """Confirm memories and share them with the members of their space.

    Examples:
      remembrancer review share a1B2c3D4 --user Ada
    """
    return await _decide(app, user, ids, Decision.SHARE)


async def _decide(
    app: Remembrancer,
    user: str,
    ids: list[str] | None,
    decision: Decision,
    everything: bool = False,
    changes: dict[str, Any] | None = None,
) -> list[ReviewResult]:
    if everything == bool(ids):
        raise InvalidInput("give either ids or --all", field="ids")
    actor = await actor_for(app, user)
    memory_ids = ids or [memory.id for memory in await _pending(app, actor)]
    decisions = [
        validate(ReviewDecision, memory_id=memory_id, decision=decision, **changes or {})
        for memory_id in memory_ids
    ]
    results: list[ReviewResult] = []
    for start in range(0, len(decisions), MOST_DECISIONS):
        batch = decisions[start : start + MOST_DECISIONS]
        results += (await app.review.decide(actor, batch)).items
    return results


async def _pending(app: Remembrancer, actor: Actor) -> list[Memory]:
    return await all_items(partial(app.review.list, actor))
