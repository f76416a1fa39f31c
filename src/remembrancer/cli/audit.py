"""``audit``: print the audit log."""

from collections.abc import Sequence
from typing import Annotated

import typer

from remembrancer.app import Remembrancer
from remembrancer.audit.schemas import AuditFilter, AuditLine
from remembrancer.cli.actors import find_user
from remembrancer.cli.command import Output, store_command
from remembrancer.cli.output import error_console, table
from remembrancer.cli.runtime import ADMIN
from remembrancer.validation import validate

_MAX_IDS = 3


@store_command()
async def audit(
    app: Remembrancer,
    user: Annotated[
        str | None,
        typer.Option(help="Whose data: an id, platform:id such as discord:1844, or a name."),
    ] = None,
    action: Annotated[
        str | None, typer.Option(help="Only actions of this kind, such as memory or memory.update.")
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="Only lines about the memory, user or key with this id.")
    ] = None,
    actor: Annotated[
        str | None, typer.Option(help="Only what this user did, named as in --user.")
    ] = None,
    entry_point: Annotated[
        str | None, typer.Option(help="Only what came this way: rest, cli, python, mcp or web.")
    ] = None,
    since: Annotated[
        str | None, typer.Option(help="From this time on, such as 2026-11-01T00:00:00Z.")
    ] = None,
    until: Annotated[str | None, typer.Option(help="Before this time.")] = None,
    refused: Annotated[bool, typer.Option("--refused", help="Only refused actions.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=200, help="How many lines at most.")] = 50,
    cursor: Annotated[
        str | None,
        typer.Option(help="Go on after an earlier page, with the cursor that it printed."),
    ] = None,
) -> Output:
    """Print who read or changed what: ids and outcomes, never content.

    The newest line comes first.

    Examples:
      remembrancer audit --user Ada --action memory
      remembrancer audit --refused --since 2026-11-01T00:00:00Z
    """
    filters = validate(
        AuditFilter,
        user_id=await find_user(app, user) if user is not None else None,
        actor_user_id=await find_user(app, actor) if actor is not None else None,
        action=action,
        target_id=target,
        entry_point=entry_point,
        since=since,
        until=until,
        outcome="refused" if refused else None,
    )
    page = await app.audit.list(ADMIN, filters, limit=limit, cursor=cursor)
    if page.next_cursor:
        error_console().print(f"More lines: --cursor {page.next_cursor}")
    return Output(page.items, _table(page.items))


def _table(lines: Sequence[AuditLine]) -> object:
    rows = [
        [
            f"{line.at:%Y-%m-%d %H:%M:%S}",
            str(line.user_id or "shared"),
            line.action,
            line.outcome,
            f"{line.actor_role} ({line.entry_point})",
            _ids(line.target_ids),
        ]
        for line in lines
    ]
    return table(
        "When",
        "User",
        "Action",
        "Outcome",
        "By",
        "Ids",
        rows=rows,
        empty="No line of the log matches.",
    )


def _ids(ids: list[str]) -> str:
    more = len(ids) - _MAX_IDS
    return ", ".join(ids[:_MAX_IDS]) + (f" and {more:,} more" if more > 0 else "")
