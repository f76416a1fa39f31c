"""Decisions about many preferences at once: is a file sound, what do the numbers say. Pure."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import product
from typing import Any
from uuid import UUID

from remembrancer.access import Scope, effective_scope
from remembrancer.errors import InvalidInput
from remembrancer.preferences.schemas import PreferenceRow, ScopeCounts, SourceCounts

Wanted = tuple[UUID, UUID, bool]
"""A preference to set: user, agent and value."""


def field_of_row(row: int, field: str) -> str:
    """Return how an error names a field of the row at an index."""
    return f"preferences.{row}.{field}"


def owned_by(rows: Sequence[PreferenceRow], user_id: UUID, also: Collection[UUID]) -> list[Wanted]:
    """Return the rows of one user's file; ``also`` are other ids that mean the same user.

    Raises ``InvalidInput`` for a row of somebody else.
    """
    for index, row in enumerate(rows):
        if row.user_id not in {None, user_id, *also}:
            raise InvalidInput("is not this user", field=field_of_row(index, "user_id"))
    return [(user_id, row.agent_id, row.allow_agent_specific_memory) for row in rows]


def owned_by_each(rows: Sequence[PreferenceRow], now: Mapping[UUID, UUID]) -> list[Wanted]:
    """Return the rows of everybody's file; ``now`` says who each known user is by now.

    Raises ``InvalidInput`` for a row that names no user, or one nobody knows.
    """
    wanted = []
    for index, row in enumerate(rows):
        if row.user_id is None:
            raise InvalidInput("is missing", field=field_of_row(index, "user_id"))
        if row.user_id not in now:
            raise InvalidInput("no such user", field=field_of_row(index, "user_id"))
        wanted.append((now[row.user_id], row.agent_id, row.allow_agent_specific_memory))
    return wanted


def check_rows(wanted: Sequence[Wanted], agents: Collection[UUID]) -> None:
    """Raise ``InvalidInput`` for a row of an unknown agent, or for a pair named before."""
    first: dict[tuple[UUID, UUID], int] = {}
    for index, (user_id, agent_id, _) in enumerate(wanted):
        if agent_id not in agents:
            raise InvalidInput("no such agent", field=field_of_row(index, "agent_id"))
        earlier = first.setdefault((user_id, agent_id), index)
        if earlier != index:
            raise InvalidInput(
                f"this user and agent stand in row {earlier} already",
                field=field_of_row(index, "agent_id"),
            )


def tabulate(
    cells: Iterable[Any], *, policy_allows: bool
) -> dict[str, ScopeCounts | SourceCounts | int]:
    """Return numbers of pairs and users by effective scope and source.

    A cell says how many ``users`` have one value of the toggle and so many agents of each
    kind: ``off_global`` are those with a preference that is off and a global default, and so on.
    The scope of each kind is what ``access.effective_scope`` says, as everywhere.
    """
    pairs: dict[str, int] = {}
    users: dict[str, int] = {}
    everybody = 0
    for cell in cells:
        everybody += cell.users
        found: set[str] = set()
        kinds = product((("none", None), ("off", False), ("on", True)), Scope)
        for (word, preference), default in kinds:
            number = getattr(cell, f"{word}_{default.value}")
            if number == 0:
                continue
            decided = effective_scope(
                policy_allows=policy_allows,
                preference=preference,
                toggle=cell.toggle,
                agent_default=default,
            )
            for key in (decided.scope.value, decided.source.value):
                pairs[key] = pairs.get(key, 0) + number * cell.users
                found.add(key)
        for key in found:
            users[key] = users.get(key, 0) + cell.users
    return {
        "users": everybody,
        "pairs_by_effective_scope": scope_counts(pairs),
        "pairs_by_source": SourceCounts.model_validate(_only(SourceCounts, pairs)),
        "users_by_effective_scope": scope_counts(users),
        "users_by_source": SourceCounts.model_validate(_only(SourceCounts, users)),
    }


def scope_counts(numbers: Mapping[str, int]) -> ScopeCounts:
    """Return numbers by scope; what is not counted is 0."""
    return ScopeCounts(global_=numbers.get("global", 0), agent=numbers.get("agent", 0))


def _only(model: type[SourceCounts], numbers: Mapping[str, int]) -> dict[str, int]:
    return {name: numbers.get(name, 0) for name in model.model_fields}
