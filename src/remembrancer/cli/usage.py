"""``usage``: what agents did, by day."""

from collections.abc import Sequence
from datetime import date, datetime
from typing import Annotated

import typer

from remembrancer.app import Remembrancer
from remembrancer.cli.actors import find_agent
from remembrancer.cli.command import Output, store_command
from remembrancer.cli.output import Rows, table
from remembrancer.cli.runtime import ADMIN
from remembrancer.usage.durations import percentile
from remembrancer.usage.schemas import DailyUsage

_DAY = ["%Y-%m-%d"]


@store_command()
async def usage(
    app: Remembrancer,
    since: Annotated[
        datetime | None,
        typer.Option(
            formats=_DAY,
            metavar="<day>",
            help="First day, in UTC. By default 29 days before the last.",
        ),
    ] = None,
    until: Annotated[
        datetime | None,
        typer.Option(formats=_DAY, metavar="<day>", help="Last day, in UTC. By default today."),
    ] = None,
    agent: Annotated[
        str | None, typer.Option(help="Only what this agent did: an id or a name.")
    ] = None,
) -> Output:
    """Print recalls, writes, refusals, evictions, tokens and disk by day and agent.

    Numbers only. Of recalls and writes, it says within how many milliseconds half of them ended,
    and 95 of 100.

    Examples:
      remembrancer usage --since 2026-11-01
      remembrancer usage --agent Pantry
    """
    items = (
        await app.usage.list(
            ADMIN,
            since=_day(since),
            until=_day(until),
            agent_id=None if agent is None else await find_agent(app, agent),
        )
    ).items
    return Output(items, _table(items))


def _day(value: datetime | None) -> date | None:
    return value.date() if value else None


def _table(lines: Sequence[DailyUsage]) -> Rows:
    rows = [
        [
            line.day.isoformat(),
            line.agent or "",
            line.kind.value,
            f"{line.amount:,}",
            *(_milliseconds(percentile(line.durations, share)) for share in (0.5, 0.95)),
        ]
        for line in lines
    ]
    return table(
        "Day",
        "Agent",
        "Kind",
        "Amount",
        "Half within ms",
        "95 of 100 within ms",
        rows=rows,
        empty="Nothing was recalled or written in this time.",
    )


def _milliseconds(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"
