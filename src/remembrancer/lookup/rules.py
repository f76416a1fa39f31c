"""Rules of what is looked up: how much of a graph is shown, how days become spans. Pure."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import date, timedelta
from heapq import heappop, heappush
from itertools import count
from typing import Final

from remembrancer.ids import MemoryKey
from remembrancer.lookup.rows import DayRow, EdgeRow
from remembrancer.lookup.schemas import Span

MOST_DAYS: Final = 62
"""From the first day to today: up to here each day is a span, up to as many months each month."""


def closest_edges(rows: Sequence[EdgeRow], most: int) -> list[EdgeRow]:
    """Return the edges, in order, between the ``most`` memories that belong together best.

    These grow from the memory with the greatest sum of weights: the next is always the one with
    the greatest sum to those that are there, or the greatest of the others if all have none.
    """
    numbers: dict[MemoryKey, int] = defaultdict(count().__next__)
    ends = [
        (numbers[row.owner_id, row.memory_id], numbers[row.target_owner_id, row.target_id])
        for row in rows
    ]
    neighbours: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for row, (one, other) in zip(rows, ends, strict=True):
        neighbours[one].append((other, row.weight))
        neighbours[other].append((one, row.weight))
    sums = {node: sum(weight for _, weight in near) for node, near in neighbours.items()}
    pulls = dict.fromkeys(sums, 0.0)
    waiting = sorted((0.0, -sums[node], node) for node in sums)
    nodes: set[int] = set()
    while waiting and len(nodes) < most:
        _, _, node = heappop(waiting)
        if node in nodes:
            continue
        nodes.add(node)
        for other, weight in neighbours[node]:
            pulls[other] += weight
            heappush(waiting, (-pulls[other], -sums[other], other))
    return [row for row, (one, other) in zip(rows, ends, strict=True) if {one, other} <= nodes]


def spans(days: Sequence[DayRow], today: date) -> tuple[str, list[Span]]:
    """Return the unit, and a span for each day, month or year from the first day to ``today``."""
    if not days:
        return "day", []
    first, last = days[0].day, max(days[-1].day, today)
    months = 12 * (last.year - first.year) + last.month - first.month
    unit = "day" if (last - first).days < MOST_DAYS else "month" if months < MOST_DAYS else "year"
    found: list[Span] = []
    start = _start(first, unit)
    while start <= last:
        following = _start(start + timedelta(days={"day": 1, "month": 31, "year": 366}[unit]), unit)
        within = [row for row in days if start <= row.day < following]
        found.append(
            Span(
                start=start,
                end=min(following - timedelta(days=1), last),
                learnt=sum(row.learnt for row in within),
                changed=sum(row.changed for row in within),
                forgotten=sum(row.forgotten for row in within),
            )
        )
        start = following
    return unit, found


def _start(day: date, unit: str) -> date:
    if unit == "day":
        return day
    return day.replace(day=1) if unit == "month" else day.replace(month=1, day=1)
