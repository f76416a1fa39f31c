"""``memories``: the token budget, and permanent deletion."""

from typing import Annotated

import typer
from rich.console import Group
from rich.text import Text

from remembrancer.app import Remembrancer
from remembrancer.cli.actors import actor_for
from remembrancer.cli.command import command
from remembrancer.cli.erasure import erasure
from remembrancer.cli.options import UserArgument
from remembrancer.cli.output import clipped, day, table
from remembrancer.erasure.schemas import Receipt
from remembrancer.memories.schemas import BudgetPreview, EvictionCandidate

group = typer.Typer(help="A user's memories.", no_args_is_help=True)


def _preview(preview: BudgetPreview) -> Group:
    limit = f"of {preview.budget:,} tokens" if preview.budget else "tokens, without a limit,"
    use = f"{preview.used:,} {limit} are used, {preview.pinned:,} of them pinned."
    if not preview.would_go:
        return Group(use, "Nothing would be evicted.")
    rows = [_row(candidate) for candidate in preview.would_go]
    columns = ("Id", "Kind", "Tokens", "Importance", "Added", "Memory")
    return Group(use, table(*columns, title="Would be evicted", rows=rows))


def _row(memory: EvictionCandidate) -> list[str | Text]:
    return [
        memory.id,
        memory.kind if memory.status == "active" else f"{memory.kind}, {memory.status}",
        f"{memory.tokens:,}",
        f"{memory.importance:.2f}",
        day(memory.created_at),
        clipped(memory.content, 80),
    ]


@command(group, render=_preview)
async def budget(
    app: Remembrancer,
    user: UserArgument,
    adding: Annotated[int, typer.Option(min=0, max=1_000_000, help="Tokens to add.")] = 0,
) -> BudgetPreview:
    """Show a user's token budget, and the memories that new tokens would evict."""
    return await app.memories.budget(await actor_for(app, user), adding=adding)


@erasure(group)
async def erase(app: Remembrancer, user: UserArgument, memory_id: str, *, dry_run: bool) -> Receipt:
    """Delete a memory permanently, with its versions, mentions and associations."""
    return await app.memories.erase(await actor_for(app, user), memory_id, dry_run=dry_run)
