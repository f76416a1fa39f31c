"""``audit``: who read or changed which ids of whom."""

from collections.abc import Sequence
from typing import Annotated

import typer

from remembrancer.app import Remembrancer
from remembrancer.audit.schemas import AuditFilter, AuditLine
from remembrancer.cli.actors import find_user
from remembrancer.cli.output import as_json, console, error_console, table
from remembrancer.cli.runtime import ADMIN, with_store
from remembrancer.paging import Page
from remembrancer.validation import made

_SHOWN_IDS = 3


def audit(
    context: typer.Context,
    user: Annotated[
        str | None, typer.Option(help="Whose data: id, platform:platform_user_id, or a name.")
    ] = None,
    action: Annotated[str | None, typer.Option(help="Such as memory, or memory.update.")] = None,
    target: Annotated[str | None, typer.Option(help="Lines that name this id.")] = None,
    actor: Annotated[
        str | None, typer.Option(help="For whom it was done: a user, as in --user.")
    ] = None,
    entry_point: Annotated[str | None, typer.Option(help="Such as rest, cli or python.")] = None,
    since: Annotated[
        str | None, typer.Option(help="Lines from then on: 2030-01-31T12:00:00Z.")
    ] = None,
    until: Annotated[str | None, typer.Option(help="Lines before then.")] = None,
    refused: Annotated[bool, typer.Option(help="Only what was refused.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=200, help="Most lines.")] = 50,
    cursor: Annotated[
        str | None, typer.Option(help="Lines before those of an earlier call, which says it.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print the latest lines of the audit log. Ids and outcomes, never content."""

    async def work(app: Remembrancer) -> Page[AuditLine]:
        wanted = made(
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
        return await app.audit.list(ADMIN, wanted, limit=limit, cursor=cursor)

    page = with_store(context, work)
    if json:
        as_json(page.items)
    else:
        _show(page.items)
    if page.next_cursor:
        error_console().print(f"There are more: --cursor {page.next_cursor}", soft_wrap=True)


def _show(lines: Sequence[AuditLine]) -> None:
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
    console().print(table("When", "Whose", "What", "Outcome", "By", "Ids", rows=rows))


def _ids(ids: list[str]) -> str:
    more = len(ids) - _SHOWN_IDS
    return ", ".join(ids[:_SHOWN_IDS]) + (f" and {more:,} more" if more > 0 else "")
