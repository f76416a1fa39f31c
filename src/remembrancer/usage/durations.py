"""Numbers of requests by duration, and percentiles of them. Pure."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

BOUNDS: Final = (5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
"""Milliseconds up to which the numbers count, in order; the last number counts what took longer."""


def place(milliseconds: float) -> int:
    """Return the index of the number that counts a request of this duration."""
    return bisect_left(BOUNDS, milliseconds)


def total(durations: Iterable[Sequence[int]]) -> list[int]:
    """Return the sum of numbers by duration; an empty list counts nothing."""
    return [sum(numbers) for numbers in zip(*(d for d in durations if d), strict=True)]


def percentile(durations: Sequence[int], share: float) -> float | None:
    """Return the milliseconds within which a share (0 to 1) of the requests ended.

    An estimate: durations between two bounds count as evenly spread. Null without requests, and
    10,000 for what took longer.
    """
    wanted, before = share * sum(durations), 0
    for number, (low, high) in zip(durations, pairwise((0, *BOUNDS, BOUNDS[-1])), strict=False):
        if number and before + number >= wanted:
            return low + (high - low) * max(wanted - before, 0) / number
        before += number
    return None
