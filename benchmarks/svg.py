"""Line plots as SVG: a line for each series, both axes logarithmic."""

import math
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Final

Points = Sequence[tuple[float, float]]

WIDTH, HEIGHT = 640, 360
LEFT, RIGHT, TOP, BOTTOM = 64, 150, 40, 48
COLOURS: Final = ("#2563eb", "#dc2626", "#059669", "#9333ea")


def plot(path: Path, title: str, x: str, y: str, series: Mapping[str, Points]) -> None:
    """Write a plot of series of positive points, by name."""
    points = [point for line in series.values() for point in line]
    across = Scale([x for x, _ in points], LEFT, WIDTH - RIGHT)
    up = Scale([y for _, y in points], HEIGHT - BOTTOM, TOP)
    parts = [_text(LEFT, 22, title, "start", 15)]
    for value in across.ticks:
        parts.append(_line(across(value), TOP, across(value), HEIGHT - BOTTOM))
        parts.append(_text(across(value), HEIGHT - BOTTOM + 18, _number(value)))
    for value in up.ticks:
        parts.append(_line(LEFT, up(value), WIDTH - RIGHT, up(value)))
        parts.append(_text(LEFT - 8, up(value) + 4, _number(value), "end"))
    parts.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, x))
    parts.append(_text(LEFT - 8, TOP - 10, y, "end"))
    for colour, (name, line) in zip(COLOURS, series.items(), strict=False):
        placed = [(across(x), up(y)) for x, y in line]
        path_of = " ".join(f"{x:.1f},{y:.1f}" for x, y in placed)
        parts.append(
            f'<polyline points="{path_of}" fill="none" stroke="{colour}" stroke-width="2"/>'
        )
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in placed]
        parts.append(_text(placed[-1][0] + 8, placed[-1][1] + 4, name, "start", 12, colour))
    body = "\n".join(parts)
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'font-family="sans-serif" role="img" aria-label="{escape(title)}">\n'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>\n{body}\n</svg>\n',
        encoding="utf-8",
    )


class Scale:
    """Places values of a logarithmic axis between two ends."""

    def __init__(self, values: Sequence[float], start: float, end: float) -> None:
        low, high = math.log10(min(values)), math.log10(max(values))
        if high - low < 0.5:
            low, high = low - 0.2, high + 0.2
        self._low, self._step, self._start = low, (end - start) / (high - low), start
        decades = range(math.floor(low) - 1, math.ceil(high) + 1)
        marks = [m * 10.0**d for d in decades for m in ((1, 2, 5) if high - low < 3 else (1,))]
        self.ticks = [mark for mark in marks if low - 1e-9 <= math.log10(mark) <= high + 1e-9]

    def __call__(self, value: float) -> float:
        return self._start + (math.log10(value) - self._low) * self._step


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#e5e7eb"/>'


def _text(
    x: float, y: float, text: str, anchor: str = "middle", size: int = 11, fill: str = "#374151"
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" '
        f'fill="{fill}">{escape(text)}</text>'
    )
