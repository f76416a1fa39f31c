"""Permanent deletion with a preview and a confirmation."""

from collections.abc import Awaitable, Callable

import typer

from remembrancer.app import Remembrancer
from remembrancer.cli.output import as_json, console, error_console, table
from remembrancer.cli.runtime import with_store
from remembrancer.erasure.schemas import Receipt

Delete = Callable[[Remembrancer, bool], Awaitable[Receipt]]
"""Deletes; with ``dry_run`` (the second argument) it only counts."""


def erase(context: typer.Context, delete: Delete, *, apply: bool, yes: bool, json: bool) -> None:
    """Count the rows to delete; with ``apply`` show the counts, ask, and delete."""

    async def work(app: Remembrancer) -> Receipt:
        preview = await delete(app, True)
        if not apply:
            return preview
        if not yes:
            error_console().print(_table(preview))
            typer.confirm(f"Delete {preview.total:,} rows permanently?", abort=True, err=True)
        with error_console().status("Deleting"):
            return await delete(app, False)

    receipt = with_store(context, work)
    if json:
        as_json(receipt)
        return
    screen = console()
    screen.print(_table(receipt))
    if receipt.dry_run:
        screen.print(f"{receipt.total:,} rows would be deleted permanently. To delete: --apply")
    else:
        at = f"{receipt.at:%Y-%m-%d %H:%M}"
        screen.print(f"{receipt.total:,} rows were deleted permanently at {at}.")


def _table(receipt: Receipt) -> object:
    rows = [[name, f"{count:,}"] for name, count in receipt.rows.items()]
    return table("Table", "Rows", rows=rows)
