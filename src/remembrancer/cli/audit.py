"""``audit``: who read or changed which ids of whom."""

from typing import Annotated

import typer

from remembrancer.access import Actor, Role
from remembrancer.app import Remembrancer
from remembrancer.audit.schemas import AuditFilter, AuditLine
from remembrancer.cli.output import as_json, console, table
from remembrancer.cli.people import find_user
from remembrancer.cli.running import with_store

ADMIN = Actor(Role.ADMIN, entry_point="cli")
_SHOWN_IDS = 3


def audit(
    context: typer.Context,
    user: Annotated[
        str | None, typer.Option(help="Whose data: id, platform:platform_user_id, or a name.")
    ] = None,
    action: Annotated[str | None, typer.Option(help="Such as memory, or memory.update.")] = None,
    target: Annotated[str | None, typer.Option(help="Lines that name this id.")] = None,
    refused: Annotated[bool, typer.Option(help="Only what was refused.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=200, help="Most lines.")] = 50,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print the latest lines of the audit log. Ids and outcomes, never content."""

    async def work(memory: Remembrancer) -> list[AuditLine]:
        wanted = AuditFilter(
            user_id=await find_user(memory, user) if user is not None else None,
            action=action,
            target_id=target,
            outcome="refused" if refused else None,
        )
        return (await memory.audit_log.list(ADMIN, wanted, limit=limit)).items

    lines = with_store(context, work)
    if json:
        as_json(lines)
        return
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
