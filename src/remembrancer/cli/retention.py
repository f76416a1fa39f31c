"""``retention``: what is stored how long."""

from typing import Annotated

import typer
from rich.console import Group

from remembrancer.app import Remembrancer
from remembrancer.cli.command import Output, store_command
from remembrancer.cli.output import Rows, error_console, table
from remembrancer.cli.runtime import ADMIN
from remembrancer.retention.schemas import RetentionReport
from remembrancer.text import plural


@store_command()
async def retention(
    app: Remembrancer,
    apply: Annotated[
        bool, typer.Option("--apply", help="Remove it for good. Without it, only count.")
    ] = False,
) -> Output:
    """Say what is stored how long; remove what is older.

    The settings `retention.*` say how long. Servers and workers remove what is older every hour.
    Safe to interrupt.

    Examples:
      remembrancer retention
      remembrancer retention --apply
    """
    report = await app.retention.run(ADMIN, dry_run=not apply)
    removed = {line.what: line.count for line in report.items}
    while not report.is_complete:
        error_console().print(f"{plural(sum(removed.values()), 'row')} removed so far.")
        report = await app.retention.run(ADMIN, dry_run=False)
        removed = {line.what: removed[line.what] + line.count for line in report.items}
    items = [line.model_copy(update={"count": removed[line.what]}) for line in report.items]
    report = report.model_copy(update={"items": items})
    total = plural(sum(removed.values()), "row")
    text = f"{total} removed." if apply else f"{total} to remove for good. To remove: --apply"
    return Output(report, Group(_table(report), text))


def _table(report: RetentionReport) -> Rows:
    rows = [
        [line.what, plural(line.days, "day") if line.days else "for ever", f"{line.count:,}"]
        for line in report.items
    ]
    return table("What", "Stored", "To remove" if report.dry_run else "Removed", rows=rows)
