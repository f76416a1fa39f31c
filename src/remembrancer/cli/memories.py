"""``memories``: list, forget and restore them; the token budget; permanent deletion."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Annotated
from uuid import UUID

import typer
from rich.console import Group
from rich.text import Text

from remembrancer.access import Actor
from remembrancer.app import Remembrancer
from remembrancer.cli.actors import actor_for, find_agent
from remembrancer.cli.command import command
from remembrancer.cli.erasure import erasure
from remembrancer.cli.options import TIMES, MetadataOption, UserArgument, UserOption, in_utc
from remembrancer.cli.output import clipped, day, plain, table
from remembrancer.erasure.schemas import Receipt
from remembrancer.errors import InvalidInput
from remembrancer.memories.batch_schemas import ForgetManyResult, ForgetUndoResult
from remembrancer.memories.schemas import (
    BudgetPreview,
    Category,
    EvictionCandidate,
    ForgetResult,
    Kind,
    Memory,
    MemoryFilter,
    Status,
)
from remembrancer.paging import all_items
from remembrancer.text import plural
from remembrancer.validation import validate

group = typer.Typer()

_ID = "its id, or external: and an id of your own"
MemoryId = Annotated[str, typer.Argument(help=f"A memory: {_ID}.")]
Shared = Annotated[bool, typer.Option("--shared", help="What is shared with everybody.")]


async def _actor(app: Remembrancer, user: str | None, shared: bool) -> Actor:
    if (user is None) != shared:
        raise InvalidInput("name the user with --user, or use --shared", field="user")
    return await actor_for(app, user)


def _table(memories: Sequence[Memory]) -> object:
    rows = [[m.id, day(m.created_at), m.category, m.subject or "", m.content] for m in memories]
    return table(
        "Id",
        "Created",
        "Category",
        "Subject",
        "Content",
        rows=rows,
        empty="There are no such memories. To store one: remembrancer remember TEXT --user NAME",
    )


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
    status: Annotated[Status, typer.Option(help="Only memories with this status.")] = Status.ACTIVE,
    metadata: MetadataOption = "{}",
) -> list[Memory]:
    """List the memories of a user, or with --shared those for everybody, the newest first.

    Examples:
      remembrancer memories list --user Ada
      remembrancer memories list --user Ada --status forgotten
      remembrancer memories list --shared
    """
    filters = validate(MemoryFilter, shared=shared, statuses=[status], metadata=metadata)
    return await all_items(partial(app.memories.list, await _actor(app, user, shared), filters))


_count = partial(plural, singular="memory", plural="memories")


def _forgotten(result: ForgetResult | ForgetManyResult) -> object:
    if isinstance(result, ForgetResult):
        return _changed(result)
    what = "Would forget" if result.dry_run else "Forgot"
    messages = plural(result.messages, "message")
    lines: list[str | Text] = [f"{what} {_count(result.memories)} and {messages} that say them."]
    if result.remaining:
        lines.append(f"{_count(result.remaining)} more match. Repeat the command for them.")
    if result.not_found:
        lines.append(plain(f"Not found: {', '.join(result.not_found)}"))
    if result.undo_id:
        lines.append(f"To undo it: remembrancer memories undo-forget {result.undo_id}")
    return Group(*lines)


@command(group, render=_forgotten)
async def forget(
    app: Remembrancer,
    memory_ids: Annotated[
        list[str] | None, typer.Argument(help=f"Memories, each by its {_ID}.")
    ] = None,
    user: UserOption = None,
    agent: Annotated[
        str | None, typer.Option(help="Only what is for this agent alone: id, or a unique name.")
    ] = None,
    kind: Annotated[Kind | None, typer.Option(help="Only this kind.")] = None,
    category: Annotated[Category | None, typer.Option(help="Only this category.")] = None,
    metadata: MetadataOption = "{}",
    before: Annotated[
        datetime | None,
        typer.Option(help=f"Only what was stored before this time, in UTC: {TIMES}."),
    ] = None,
    preview: Annotated[bool, typer.Option("--dry-run", help="Count; change nothing.")] = False,
    shared: Shared = False,
) -> ForgetResult | ForgetManyResult:
    """Forget memories and the messages that say them: by id, or all that match the options.

    `restore` and `undo-forget` bring them back.

    Examples:
      remembrancer memories forget a1B2c3D4 --user Ada
      remembrancer memories forget a1B2c3D4 external:note-17 --user Ada
      remembrancer memories forget --user Ada --category hobby --before 2026-01-01 --dry-run
    """
    actor = await _actor(app, user, shared)
    chosen = {
        "kept_for": agent and await find_agent(app, agent),
        "kinds": kind and [kind],
        "categories": category and [category],
        "metadata": None if metadata == "{}" else metadata,
        "until": in_utc(before),
    }
    given = {name: value for name, value in chosen.items() if value is not None}
    if memory_ids and len(memory_ids) == 1 and not given and not preview:
        return await app.memories.forget(actor, memory_ids[0])
    filters = validate(MemoryFilter, **given)
    return await app.memories.forget_many(actor, memory_ids or [], filters, dry_run=preview)


def _returned(result: ForgetUndoResult) -> str:
    stayed = f" {_count(result.stayed)} stayed forgotten." if result.stayed else ""
    return f"Restored {_count(result.returned)}.{stayed}"


@command(group, render=_returned)
async def undo_forget(
    app: Remembrancer,
    undo_id: Annotated[UUID, typer.Argument(help="The id that `forget` printed.")],
    user: UserOption = None,
    shared: Shared = False,
) -> ForgetUndoResult:
    """Undo a command that forgot many memories, by the id that it printed.

    Examples:
      remembrancer memories undo-forget UNDO --user Ada
    """
    return await app.memories.undo_forget(await _actor(app, user, shared), undo_id)


@command(group, render=_changed)
async def restore(
    app: Remembrancer, memory_id: MemoryId, user: UserOption = None, shared: Shared = False
) -> Memory:
    """Bring a forgotten, inactive or evicted memory back, with its messages.

    Examples:
      remembrancer memories restore a1B2c3D4 --user Ada
    """
    return await app.memories.restore(await _actor(app, user, shared), memory_id)


def _preview(preview: BudgetPreview) -> Group:
    limit = f"of {preview.budget:,} tokens" if preview.budget else "tokens, without a limit,"
    use = f"{preview.used:,} {limit} are used, {preview.pinned:,} of them pinned."
    if not preview.would_go:
        return Group(use, "Nothing would be evicted.")
    rows = [_row(candidate) for candidate in preview.would_go]
    columns = ("Id", "Kind", "Tokens", "Importance", "Added", "Memory")
    return Group(use, "Would be evicted:", table(*columns, rows=rows))


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
    adding: Annotated[
        int, typer.Option(min=0, max=1_000_000, help="Tokens that would be added.")
    ] = 0,
) -> BudgetPreview:
    """Show how many tokens a user's memories have, and which would go if more came.

    Examples:
      remembrancer memories budget Ada --adding 500
    """
    return await app.memories.budget(await actor_for(app, user), adding=adding)


@erasure(group)
async def erase(
    app: Remembrancer, user: UserArgument, memory_id: MemoryId, *, dry_run: bool
) -> Receipt:
    """Delete a memory for good, with messages that were forgotten with it.

    Examples:
      remembrancer memories erase Ada a1B2c3D4
      remembrancer memories erase Ada a1B2c3D4 --apply
    """
    return await app.memories.erase(await actor_for(app, user), memory_id, dry_run=dry_run)
