"""The admin page about usage: what agents did by day, and the size of the database."""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Final
from uuid import UUID

from fastapi import APIRouter
from starlette.responses import Response

from remembrancer.errors import InvalidInput
from remembrancer.usage.durations import percentile, total
from remembrancer.usage.schemas import DailyUsage, UsageKind
from remembrancer.web import labels
from remembrancer.web.charts import DayColumn, day_columns
from remembrancer.web.dependencies import AdminRequest, PageRequest
from remembrancer.web.languages import gettext, lazy, number, short_day
from remembrancer.web.memories import as_agent_id

router = APIRouter(prefix="/admin/usage")

PERIODS: Final = {
    "7": lazy("7 days"),
    "30": lazy("30 days"),
    "90": lazy("90 days"),
    "365": lazy("A year"),
}
_TIMED: Final = {
    UsageKind.RECALL: (lazy("Recalls"), lazy("Time of a recall")),
    UsageKind.WRITE: (lazy("Writes"), lazy("Time of a write")),
}
_COUNTED: Final = {
    UsageKind.REFUSAL: lazy("Refused"),
    UsageKind.EVICTION: lazy("Evicted memories"),
    UsageKind.TOKENS: lazy("Tokens given to prompts"),
}
_DISK: Final = lazy("Size of the database")


@dataclass(frozen=True, slots=True)
class Chart:
    """Numbers by day: as columns, and as rows of texts."""

    title: str
    summary: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    columns: Sequence[DayColumn]


@dataclass(slots=True)
class AgentUsage:
    """What an agent did in all days."""

    agent_id: UUID | None
    name: str
    amounts: defaultdict[UsageKind, int] = field(default_factory=lambda: defaultdict(int))
    durations: list[int] = field(default_factory=list)

    @property
    def usual(self) -> str:
        return labels.milliseconds(percentile(self.durations, 0.5))

    @property
    def slow(self) -> str:
        return labels.milliseconds(percentile(self.durations, 0.95))


@router.get("")
async def usage(request: AdminRequest, days: str = "30", agent: str = "") -> Response:
    if days not in PERIODS:
        raise InvalidInput(f"must be one of {', '.join(PERIODS)}", field="days")
    agent_id = as_agent_id(agent, "agent")
    charts, agents = await asyncio.gather(
        charts_of(request, int(days), agent_id),
        request.app.agents.list(request.actor, limit=200),
    )
    return request.render(
        "admin/usage.html",
        charts=charts.charts,
        by_agent=charts.by_agent,
        agents=[(agent.id, agent.name) for agent in agents.items],
        periods=list(PERIODS.items()),
        days=days,
        agent=agent_id or "",
    )


@dataclass(frozen=True, slots=True)
class Charts:
    charts: Sequence[Chart]
    by_agent: Sequence[AgentUsage]


async def charts_of(request: PageRequest, days: int, agent_id: UUID | None = None) -> Charts:
    """Return what happened in the last days, of one agent if it is given."""
    today = datetime.now(UTC).date()
    since = today - timedelta(days=days - 1)
    usage = await request.app.usage.list(request.actor, since=since, agent_id=agent_id)
    period = [since + timedelta(days=number) for number in range(days)]
    return Charts(charts(usage.items, period), by_agent(usage.items))


def charts(usage: Sequence[DailyUsage], period: Sequence[date]) -> list[Chart]:
    """Return a chart of each kind of usage, for the days of a period."""
    amounts: dict[UsageKind, dict[date, int]] = {kind: defaultdict(int) for kind in UsageKind}
    durations: dict[tuple[UsageKind, date], list[int]] = {}
    for line in usage:
        amounts[line.kind][line.day] += line.amount
        key = line.kind, line.day
        durations[key] = total([durations.get(key, []), line.durations])
    drawn: list[Chart] = []
    for kind, (title, time) in _TIMED.items():
        drawn.append(_counts(title, amounts[kind], period))
        drawn.append(_times(time, {day: durations.get((kind, day), []) for day in period}))
    drawn += [_counts(title, amounts[kind], period) for kind, title in _COUNTED.items()]
    if disk := amounts[UsageKind.DISK]:
        drawn.append(_sizes(_DISK, disk, period))
    return drawn


def by_agent(usage: Sequence[DailyUsage]) -> list[AgentUsage]:
    """Return the sums of each agent, those with the most recalls first."""
    agents: dict[UUID | None, AgentUsage] = {}
    for line in usage:
        if line.kind is UsageKind.DISK:
            continue
        name = line.agent or gettext("Without an agent")
        agent = agents.setdefault(line.agent_id, AgentUsage(line.agent_id, name))
        agent.amounts[line.kind] += line.amount
        if line.kind is UsageKind.RECALL:
            agent.durations = total([agent.durations, line.durations])
    return sorted(agents.values(), key=lambda agent: -agent.amounts[UsageKind.RECALL])


def _counts(title: str, by_day: Mapping[date, int], period: Sequence[date]) -> Chart:
    values = [by_day.get(day, 0) for day in period]
    rows = [(short_day(day), number(value)) for day, value in zip(period, values, strict=True)]
    return Chart(
        title,
        number(sum(values)),
        (gettext("Day"), gettext("Number")),
        rows,
        day_columns(rows, values),
    )


def _times(title: str, by_day: Mapping[date, Sequence[int]]) -> Chart:
    rows: list[tuple[str, str, str]] = []
    values: list[float] = []
    for day, durations in by_day.items():
        half, most = percentile(durations, 0.5), percentile(durations, 0.95)
        texts = labels.milliseconds(most), labels.milliseconds(half)
        rows.append((short_day(day), *texts))
        values.append(most or 0)
    everything = total(by_day.values())
    usual, slow = (labels.milliseconds(percentile(everything, share)) for share in (0.5, 0.95))
    summary = (
        gettext("%(usual)s, 95 of 100 within %(slow)s", usual=usual, slow=slow)
        if everything
        else gettext("none")
    )
    return Chart(
        title,
        summary,
        (gettext("Day"), gettext("95 of 100 within"), gettext("Half within")),
        rows,
        day_columns(rows, values),
    )


def _sizes(title: str, by_day: Mapping[date, int], period: Sequence[date]) -> Chart:
    known = [day for day in period if day in by_day]
    rows = [(short_day(day), labels.size(by_day[day])) for day in known]
    bars = day_columns(rows, [by_day[day] for day in known])
    return Chart(
        title,
        rows[-1][1] if rows else gettext("unknown"),
        (gettext("Day"), gettext("Size")),
        rows,
        bars,
    )
