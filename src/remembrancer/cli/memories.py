"""``memories``: list, forget and restore them; the token budget; permanent deletion."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated

import typer
from rich.console import Group
from rich.text import Text

from remembrancer.access import Actor
from remembrancer.app import Remembrancer
from remembrancer.cli.actors import actor_for
from remembrancer.cli.command import command
from remembrancer.cli.erasure import erasure
from remembrancer.cli.options import MetadataOption, UserArgument, UserOption
from remembrancer.cli.output import clipped, day, plain, table
from remembrancer.erasure.schemas import Receipt
from remembrancer.errors import InvalidInput
from remembrancer.memories.schemas import (
    BudgetPreview,
    EvictionCandidate,
    ForgetResult,
    Memory,
    MemoryFilter,
    Status,
)
from remembrancer.paging import all_items
from remembrancer.validation import validate

group = typer.Typer(help="Memories of a user, and shared knowledge.", no_args_is_help=True)

MemoryId = Annotated[str, typer.Argument(help="Id of a memory.")]
Shared = Annotated[bool, typer.Option("--shared", help="Shared knowledge, told to every user.")]


async def _actor(app: Remembrancer, user: str | None, shared: bool) -> Actor:
    if (user is None) != shared:
        raise InvalidInput("name the user with --user, or use --shared", field="user")
    return await actor_for(app, user)


def _table(memories: Sequence[Memory]) -> object:
    rows = [[m.id, day(m.created_at), m.category, m.subject or "", m.content] for m in memories]
    return table("Id", "Created", "Category", "Subject", "Content", rows=rows)


def _changed(memory: Memory) -> Text:
    what = "Forgotten" if memory.status is Status.FORGOTTEN else "Restored"
    note = f"\n{memory.note}" if isinstance(memory, ForgetResult) else ""
    return Text.assemble(
        what, " for every user: " if memory.shared else ": ", plain(memory.content), note
    )


@command(group, "list", render=_table)
async def list_(
    app: Remembrancer,
    user: UserOption = None,
    shared: Shared = False,
    status: Annotated[Status, typer.Option(help="Their status.")] = Status.ACTIVE,
    metadata: MetadataOption = "{}",
) -> list[Memory]:
    """List a user's memories, or shared knowledge with --shared, the newest first."""
    filters = validate(MemoryFilter, shared=shared, statuses=[status], metadata=metadata)
    return await all_items(partial(app.memories.list, await _actor(app, user, shared), filters))


@command(group, render=_changed)
async def forget(
    app: Remembrancer, memory_id: MemoryId, user: UserOption = None, shared: Shared = False
) -> ForgetResult:
    """Forget a memory and the messages that say it, or shared knowledge with --shared."""
    return await app.memories.forget(await _actor(app, user, shared), memory_id)


@command(group, render=_changed)
async def restore(
    app: Remembrancer, memory_id: MemoryId, user: UserOption = None, shared: Shared = False
) -> Memory:
    """Restore a forgotten, inactive or evicted memory, with its messages."""
    return await app.memories.restore(await _actor(app, user, shared), memory_id)


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
    """Delete a memory permanently, with messages that were forgotten with it."""
    return await app.memories.erase(await actor_for(app, user), memory_id, dry_run=dry_run)
