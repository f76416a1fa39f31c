"""The decay of importance over time. Pure, with its SQL twin.

The stored importance never changes. The decayed one is computed at each read, from the age of the
memory: no job rewrites memories.
"""

from datetime import datetime
from typing import Final

from remembrancer.memories.schemas import Kind

HALF_LIFE_DAYS: Final[dict[Kind, float | None]] = {
    Kind.IDENTITY: None,
    Kind.PREFERENCE: 365.0,
    Kind.PLACE: 365.0,
    Kind.FACT: 180.0,
    Kind.DECISION: 180.0,
    Kind.GOAL: 180.0,
    Kind.TODO: 60.0,
    Kind.EVENT: 30.0,
    Kind.OBSERVATION: 30.0,
}
"""Days after which half of a memory's importance is left, by kind; None never fades."""
LONGEST_DAYS: Final = 30_000.0
"""From here on nothing fades further. Postgres takes a number that is too small for an error."""


def decayed(importance: float, kind: Kind, since: datetime, now: datetime) -> float:
    """Return what is left at ``now`` of an importance of 0 to 1.

    ``since`` is when the memory was last of use: written, changed or recalled. Half is left
    after the half-life of its kind, a quarter after two. Identity never fades.
    """
    half_life = HALF_LIFE_DAYS[kind]
    days = min((now - since).total_seconds() / 86_400, LONGEST_DAYS)
    if half_life is None or days <= 0:
        return importance
    return float(importance * 0.5 ** (days / half_life))


def decayed_sql(importance: str, kind: str, since: str, now: str) -> str:
    days = f"least(greatest(extract(epoch FROM {now} - {since}), 0) / 86400.0, {LONGEST_DAYS})"
    cases = " ".join(
        f"WHEN '{name}' THEN {half_life}"
        for name, half_life in HALF_LIFE_DAYS.items()
        if half_life is not None
    )
    left = f"power(0.5, CAST({days} AS float8) / CASE {kind} {cases} END)"
    return f"({importance} * coalesce({left}, 1.0))"
