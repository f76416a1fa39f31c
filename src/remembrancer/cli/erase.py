"""``erase`` and ``export``: what is deleted for good, and what a person takes with them."""

from json import dumps
from pathlib import Path
from typing import Annotated
from uuid import UUID

import typer

from remembrancer.app import Remembrancer
from remembrancer.cli.output import as_json, console, progress, table
from remembrancer.cli.people import find_user
from remembrancer.cli.running import SERVICE, with_store
from remembrancer.erasure.schemas import Receipt

app = typer.Typer(help="Delete for good; nothing of it can be undone.", no_args_is_help=True)

Apply = Annotated[bool, typer.Option("--apply", help="Delete; without it, only count.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Whom = Annotated[
    str, typer.Argument(help="Id, platform:platform_user_id, or a name that only one has.")
]


@app.command("user")
def erase_user(
    context: typer.Context,
    user: Whom,
    memories_only: Annotated[
        bool, typer.Option(help="Keep the user, with links, preferences and memberships.")
    ] = False,
    apply: Apply = False,
    json: Json = False,
) -> None:
    """Delete everything of a user: what they said, what was made of it, who they are."""

    async def work(memory: Remembrancer) -> Receipt:
        return await memory.erasure.erase_user(
            SERVICE,
            await find_user(memory, user),
            dry_run=not apply,
            memories_only=memories_only,
        )

    _show(with_store(context, work), json)


@app.command("memory")
def erase_memory(
    context: typer.Context, user: Whom, memory_id: str, apply: Apply = False, json: Json = False
) -> None:
    """Delete a user's memory, with its versions, mentions and associations."""

    async def work(memory: Remembrancer) -> Receipt:
        actor = SERVICE.acting_for(await find_user(memory, user))
        return await memory.erasure.erase_memory(actor, memory_id, dry_run=not apply)

    _show(with_store(context, work), json)


@app.command("message")
def erase_message(
    context: typer.Context,
    user: Whom,
    conversation_id: UUID,
    message_id: UUID,
    apply: Apply = False,
    json: Json = False,
) -> None:
    """Delete a user's message, the summaries over it, and what rests on it alone."""

    async def work(memory: Remembrancer) -> Receipt:
        actor = SERVICE.acting_for(await find_user(memory, user))
        return await memory.erasure.erase_message(
            actor, conversation_id, message_id, dry_run=not apply
        )

    _show(with_store(context, work), json)


def export(
    context: typer.Context,
    user: Whom,
    output: Annotated[Path, typer.Option("--output", "-o", help="A file that is not there yet.")],
) -> None:
    """Write everything that is kept of a user to a file, as JSON Lines."""

    async def work(memory: Remembrancer) -> int:
        user_id = await find_user(memory, user)
        count = 0
        with output.open("x", encoding="utf-8") as file, progress() as bar:
            task = bar.add_task("Rows", total=None)
            async for line in memory.export.lines(SERVICE, user_id):
                file.write(dumps(line, ensure_ascii=False) + "\n")
                count += 1
                bar.update(task, completed=count)
        return count

    if output.exists():
        raise typer.BadParameter("the file exists", param_hint="--output")
    console().print(f"{with_store(context, work):,} lines written to {output}.")


def _show(receipt: Receipt, json: bool) -> None:
    if json:
        as_json(receipt)
        return
    screen = console()
    rows = [[name, f"{count:,}"] for name, count in receipt.rows.items()]
    screen.print(table("Table", "Rows", rows=rows))
    if receipt.dry_run:
        screen.print(f"{receipt.total:,} rows would be deleted for good. To do it: --apply")
    else:
        screen.print(
            f"{receipt.total:,} rows were deleted for good at {receipt.at:%Y-%m-%d %H:%M}."
        )
