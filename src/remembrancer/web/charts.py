"""The geometry of charts: bars, columns over time and by day. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from remembrancer.lookup.schemas import Span

WIDTH: Final = 800
HEIGHT: Final = 160
DAYS_WIDTH: Final = 320
DAYS_HEIGHT: Final = 72


@dataclass(frozen=True, slots=True)
class Bar:
    name: str
    value: int
    length: float


def bars(values: Mapping[str, int]) -> list[Bar]:
    longest = max(values.values(), default=0) or 1
    return [Bar(name, value, round(100 * value / longest, 2)) for name, value in values.items()]


@dataclass(frozen=True, slots=True)
class DayColumn:
    title: str
    x: float
    y: float
    width: float
    height: float


def day_columns(rows: Sequence[Sequence[str]], values: Sequence[float]) -> list[DayColumn]:
    """Return a column for each value, named by the first texts of its row."""
    highest = max(values, default=0) or 1
    step = DAYS_WIDTH / max(len(values), 1)
    heights = [DAYS_HEIGHT * value / highest for value in values]
    return [
        DayColumn(
            ": ".join(row[:2]),
            x=round(number * step, 2),
            y=round(DAYS_HEIGHT - (max(height, 2)), 2),
            width=round(0.8 * step, 2),
            height=round(max(height, 2), 2) if height else 0,
        )
        for number, (row, height) in enumerate(zip(rows, heights, strict=True))
    ]


@dataclass(frozen=True, slots=True)
class Column:
    """The bars of a span: above the line what was learnt and changed, below what was forgotten."""

    span: Span
    x: float
    width: float
    learnt: tuple[float, float]
    changed: tuple[float, float]
    forgotten: tuple[float, float]
    """The top and the height of each bar."""
    is_past: bool
    """Whether the span ends on the day that one looks at, or before."""


def columns(spans: Sequence[Span], as_of: date) -> list[Column]:
    """Return a column for each span, in a chart of ``WIDTH`` by ``HEIGHT``.

    The chart has room for four at least, so that one is no tower.
    """
    up = max([4, *(span.learnt + span.changed for span in spans)])
    down = max((span.forgotten for span in spans), default=0)
    unit = HEIGHT / (up + down)
    line, step = up * unit, WIDTH / max(len(spans), 1)
    found = []
    for number, span in enumerate(spans):
        learnt, changed, forgotten = (
            round(count * unit, 1) for count in (span.learnt, span.changed, span.forgotten)
        )
        found.append(
            Column(
                span=span,
                x=round(number * step, 1),
                width=round(step, 1),
                learnt=(round(line - learnt, 1), learnt),
                changed=(round(line - learnt - changed, 1), changed),
                forgotten=(round(line, 1), forgotten),
                is_past=span.end <= as_of,
            )
        )
    return found
