"""The geometry of pictures: bars of a chart, and memories with their associations. Pure."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from remembrancer.associations.schemas import Association, Neighbourhood, Node

WIDTH: Final = 800
HEIGHT: Final = 560
_RINGS: Final = {0: (0.0,), 1: (0.0, 0.8), 2: (0.0, 0.48, 0.94)}
"""Ring radii as shares of the picture, by the largest number of steps from the middle."""


@dataclass(frozen=True, slots=True)
class Bar:
    name: str
    value: int
    length: float


def bars(values: Mapping[str, int]) -> list[Bar]:
    longest = max(values.values(), default=0) or 1
    return [Bar(name, value, round(100 * value / longest, 2)) for name, value in values.items()]


@dataclass(frozen=True, slots=True)
class Dot:
    node: Node
    x: float
    y: float
    radius: float

    @property
    def label_y(self) -> float:
        above = self.y < HEIGHT / 2
        return round(self.y - self.radius - 7 if above else self.y + self.radius + 16, 1)


@dataclass(frozen=True, slots=True)
class Line:
    edge: Association
    x1: float
    y1: float
    x2: float
    y2: float


@dataclass(frozen=True, slots=True)
class Picture:
    dots: Sequence[Dot]
    lines: Sequence[Line]


def picture(around: Neighbourhood) -> Picture:
    """Place memories on rings around the middle, near their neighbours, so that few lines cross."""
    angles = _angles(around)
    rings = _RINGS[max(node.depth for node in around.nodes)]
    dots = {_key(node): _dot(node, rings, angles[_key(node)]) for node in around.nodes}
    lines = [
        _line(edge, dots[start], dots[end])
        for edge in around.edges
        if (start := (edge.user_id, edge.memory_id)) in dots
        and (end := (edge.target_user_id, edge.target_id)) in dots
    ]
    return Picture(list(dots.values()), lines)


def _key(node: Node) -> tuple[object, str]:
    return node.user_id, node.id


def _angles(around: Neighbourhood) -> dict[tuple[object, str], float]:
    neighbours: dict[tuple[object, str], set[tuple[object, str]]] = {}
    for edge in around.edges:
        start, end = (edge.user_id, edge.memory_id), (edge.target_user_id, edge.target_id)
        neighbours.setdefault(start, set()).add(end)
        neighbours.setdefault(end, set()).add(start)
    angles: dict[tuple[object, str], float] = {}
    for depth in sorted({node.depth for node in around.nodes}):
        ring = [_key(node) for node in around.nodes if node.depth == depth]
        # Neighbours of the same inner memory stand side by side.
        inner = {
            key: min((angles[n] for n in neighbours.get(key, ()) if n in angles), default=0.0)
            for key in ring
        }
        ring.sort(key=lambda key: (inner[key], str(key)))
        if depth < 2:
            turn = 2 * math.pi / len(ring)
            angles |= {
                key: (index + depth / 2) * turn - math.pi / 2 for index, key in enumerate(ring)
            }
            continue
        # Each stands beyond its neighbour, in the part of the circle that is the neighbour's, so
        # that no line goes through the middle.
        part = 2 * math.pi / sum(node.depth == 1 for node in around.nodes)
        for angle, group in groupby(ring, key=inner.__getitem__):
            keys = list(group)
            angles |= {
                key: angle + part * ((index + 0.5) / len(keys) - 0.5)
                for index, key in enumerate(keys)
            }
    return angles


def _dot(node: Node, rings: Sequence[float], angle: float) -> Dot:
    away = rings[node.depth]
    return Dot(
        node,
        x=round(WIDTH / 2 + (WIDTH / 2 - 90) * away * math.cos(angle), 1),
        y=round(HEIGHT / 2 + (HEIGHT / 2 - 45) * away * math.sin(angle), 1),
        radius=round(7 + 9 * node.importance, 1),
    )


def _line(edge: Association, start: Dot, end: Dot) -> Line:
    length = math.hypot(end.x - start.x, end.y - start.y) or 1.0
    across, down = (end.x - start.x) / length, (end.y - start.y) / length
    return Line(
        edge,
        x1=round(start.x + across * start.radius, 1),
        y1=round(start.y + down * start.radius, 1),
        x2=round(end.x - across * (end.radius + 5), 1),
        y2=round(end.y - down * (end.radius + 5), 1),
    )
