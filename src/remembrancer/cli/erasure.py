"""Permanent deletion with a preview and a confirmation."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import typer
from rich.console import Group

from remembrancer.app import Remembrancer
from remembrancer.cli.command import option, with_options
from remembrancer.cli.options import Apply, Json, Yes
from remembrancer.cli.output import Rows, day, error_console, show, table
from remembrancer.cli.runtime import with_store
from remembrancer.erasure.schemas import Receipt
from remembrancer.text import plural

Deletion = TypeVar("Deletion", bound=Callable[..., Awaitable[Receipt]])

_OPTIONS = [option("apply", Apply), option("yes", Yes), option("json", Json)]


def erasure(group: typer.Typer) -> Callable[[Deletion], Deletion]:
    """Register a deletion: count the rows; with ``--apply`` show the counts, ask, and delete."""

    def register(delete: Deletion) -> Deletion:
        def run(
            context: typer.Context, *, apply: bool, yes: bool, json: bool, **values: Any
        ) -> None:
            async def work(app: Remembrancer) -> Receipt:
                preview = await delete(app, dry_run=True, **values)
                if not apply:
                    return preview
                if not yes:
                    _confirm(preview)
                with error_console().status("Deleting"):
                    return await delete(app, dry_run=False, **values)

            show(with_store(context, work), json, _report)

        name = delete.__name__.replace("_", "-")
        group.command(name)(with_options(run, delete, *_OPTIONS))
        return delete

    return register


def _confirm(preview: Receipt) -> None:
    error_console().print(_table(preview))
    typer.confirm(f"Delete {plural(preview.total, 'row')} permanently?", abort=True, err=True)


def _report(receipt: Receipt) -> object:
    if receipt.dry_run:
        text = f"{plural(receipt.total, 'row')} to delete permanently. To delete: --apply"
    else:
        text = f"{plural(receipt.total, 'row')} deleted permanently at {day(receipt.at)}."
    return Group(_table(receipt), text)


def _table(receipt: Receipt) -> Rows:
    rows = [[name, f"{count:,}"] for name, count in receipt.rows.items()]
    return table("Table", "Rows", rows=rows)
