"""``memories``: the token budget, and permanent deletion."""

from typing import Annotated

import typer
from rich.text import Text

from remembrancer.app import Remembrancer
from remembrancer.cli.actors import actor_for
from remembrancer.cli.erasure import erase as run_erasure
from remembrancer.cli.options import Apply, Json, UserArgument, Yes
from remembrancer.cli.output import as_json, clipped, console, day, table
from remembrancer.cli.runtime import with_store
from remembrancer.erasure.schemas import Receipt
from remembrancer.memories.schemas import BudgetPreview, EvictionCandidate

group = typer.Typer(help="A user's memories.", no_args_is_help=True)


@group.command()
def budget(
    context: typer.Context,
    user: UserArgument,
    adding: Annotated[int, typer.Option(min=0, max=1_000_000, help="Tokens to add.")] = 0,
    json: Json = False,
) -> None:
    """Show a user's token budget, and the memories that new tokens would evict."""

    async def work(app: Remembrancer) -> BudgetPreview:
        return await app.memories.budget(await actor_for(app, user), adding=adding)

    preview = with_store(context, work)
    if json:
        as_json(preview)
        return
    screen = console()
    limit = f"of {preview.budget:,} tokens" if preview.budget else "tokens, without a limit,"
    screen.print(f"{preview.used:,} {limit} are used, {preview.pinned:,} of them pinned.")
    if not preview.would_go:
        screen.print(f"Nothing would be evicted for {adding:,} more.")
        return
    screen.print(
        table(
            "Id",
            "Kind",
            "Tokens",
            "Importance",
            "Added",
            "Memory",
            title=f"Would be evicted for {adding:,} more",
            rows=[_row(candidate) for candidate in preview.would_go],
        )
    )


def _row(memory: EvictionCandidate) -> list[str | Text]:
    return [
        memory.id,
        memory.kind if memory.status == "active" else f"{memory.kind}, {memory.status}",
        f"{memory.tokens:,}",
        f"{memory.importance:.2f}",
        day(memory.created_at),
        clipped(memory.content, 80),
    ]


@group.command()
def erase(
    context: typer.Context,
    user: UserArgument,
    memory_id: str,
    apply: Apply = False,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Delete a memory permanently, with its versions, mentions and associations."""

    async def delete(app: Remembrancer, dry_run: bool) -> Receipt:
        return await app.memories.erase(await actor_for(app, user), memory_id, dry_run=dry_run)

    run_erasure(context, delete, apply=apply, yes=yes, json=json)
