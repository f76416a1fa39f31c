"""``erase`` and ``export``: what is deleted for good, and what a person takes with them."""

from collections.abc import Awaitable, Callable
from json import dumps
from pathlib import Path
from typing import Annotated
from uuid import UUID

import typer

from remembrancer.app import Remembrancer
from remembrancer.cli.actors import find_user
from remembrancer.cli.output import as_json, console, error_console, progress, table
from remembrancer.cli.runtime import SERVICE, with_store
from remembrancer.erasure.schemas import Receipt

group = typer.Typer(help="Delete for good; nothing of it can be undone.", no_args_is_help=True)

Apply = Annotated[bool, typer.Option("--apply", help="Delete; without it, only count.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask before deleting.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Whom = Annotated[
    str, typer.Argument(help="Id, platform:platform_user_id, or a name that only one has.")
]
Erase = Callable[[Remembrancer, bool], Awaitable[Receipt]]
"""Erases, or counts what would be if the second argument is true."""


@group.command("user")
def erase_user(
    context: typer.Context,
    user: Whom,
    memories_only: Annotated[
        bool, typer.Option(help="Keep the user, with links, preferences and memberships.")
    ] = False,
    apply: Apply = False,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Delete everything of a user: what they said, what was made of it, who they are."""

    async def erase(app: Remembrancer, dry_run: bool) -> Receipt:
        return await app.users.erase(
            SERVICE, await find_user(app, user), dry_run=dry_run, memories_only=memories_only
        )

    _carry_out(context, erase, apply=apply, yes=yes, json=json)


@group.command("memory")
def erase_memory(
    context: typer.Context,
    user: Whom,
    memory_id: str,
    apply: Apply = False,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Delete a user's memory, with its versions, mentions and associations."""

    async def erase(app: Remembrancer, dry_run: bool) -> Receipt:
        actor = SERVICE.acting_for(await find_user(app, user))
        return await app.memories.erase(actor, memory_id, dry_run=dry_run)

    _carry_out(context, erase, apply=apply, yes=yes, json=json)


@group.command("message")
def erase_message(
    context: typer.Context,
    user: Whom,
    conversation_id: UUID,
    message_id: UUID,
    apply: Apply = False,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Delete a user's message, the summaries over it, and what rests on it alone."""

    async def erase(app: Remembrancer, dry_run: bool) -> Receipt:
        actor = SERVICE.acting_for(await find_user(app, user))
        return await app.conversations.erase_message(
            actor, conversation_id, message_id, dry_run=dry_run
        )

    _carry_out(context, erase, apply=apply, yes=yes, json=json)


def export(
    context: typer.Context,
    user: Whom,
    output: Annotated[Path, typer.Option("--output", "-o", help="A file that is not there yet.")],
) -> None:
    """Write everything that is kept of a user to a file, as JSON Lines."""

    async def work(app: Remembrancer) -> int:
        user_id = await find_user(app, user)
        count = 0
        with output.open("x", encoding="utf-8") as file, progress() as bar:
            task = bar.add_task("Rows", total=None)
            async for line in app.users.export(SERVICE, user_id):
                file.write(dumps(line, ensure_ascii=False) + "\n")
                count += 1
                bar.update(task, completed=count)
        return count

    if output.exists():
        raise typer.BadParameter("the file exists", param_hint="--output")
    try:
        count = with_store(context, work)
    except BaseException:
        # Half of what is kept of somebody would pass for all of it.
        output.unlink(missing_ok=True)
        raise
    console().print(f"{count:,} lines written to {output}.")


def _carry_out(context: typer.Context, erase: Erase, *, apply: bool, yes: bool, json: bool) -> None:
    """Count what would be deleted; with ``apply`` show that, ask, and delete."""

    async def work(app: Remembrancer) -> Receipt:
        would = await erase(app, True)
        if not apply:
            return would
        if not yes:
            error_console().print(_counted(would))
            typer.confirm(f"Delete {would.total:,} rows for good?", abort=True, err=True)
        with error_console().status("Deleting"):
            return await erase(app, False)

    receipt = with_store(context, work)
    if json:
        as_json(receipt)
        return
    screen = console()
    screen.print(_counted(receipt))
    if receipt.dry_run:
        screen.print(f"{receipt.total:,} rows would be deleted for good. To do it: --apply")
    else:
        at = f"{receipt.at:%Y-%m-%d %H:%M}"
        screen.print(f"{receipt.total:,} rows were deleted for good at {at}.")


def _counted(receipt: Receipt) -> object:
    return table(
        "Table", "Rows", rows=[[name, f"{count:,}"] for name, count in receipt.rows.items()]
    )
