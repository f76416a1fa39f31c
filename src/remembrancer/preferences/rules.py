"""Validate files of preferences, and tabulate scopes. Pure."""

from collections.abc import Collection, Mapping, Sequence
from itertools import product
from uuid import UUID

from remembrancer.access import Scope, effective_scope
from remembrancer.errors import InvalidInput
from remembrancer.preferences.rows import CellRow
from remembrancer.preferences.schemas import PreferenceEntry, ScopeCounts, SourceCounts
from remembrancer.user_names import AnyUser

Setting = tuple[UUID, UUID, bool]
"""A preference to set: user, agent and value."""


def field_of_row(row: int, field: str) -> str:
    return f"preferences.{row}.{field}"


def settings_of_user(
    rows: Sequence[PreferenceEntry],
    user_id: UUID,
    former_ids: Collection[UUID],
    ids: Mapping[AnyUser, UUID],
) -> list[Setting]:
    """Raise ``InvalidInput`` for a row of another user; ``ids`` are those of all rows."""
    for index, row in enumerate(rows):
        if row.user_id is not None and ids[row.user_id] not in {user_id, *former_ids}:
            raise InvalidInput("is not this user", field=field_of_row(index, "user_id"))
    return [(user_id, row.agent_id, row.allow_agent_specific_memory) for row in rows]


def settings_of_users(
    rows: Sequence[PreferenceEntry],
    current_ids: Mapping[UUID, UUID],
    ids: Mapping[AnyUser, UUID],
) -> list[Setting]:
    """Raise ``InvalidInput`` for a row without a known user; ``ids`` are those of all rows."""
    settings = []
    for index, row in enumerate(rows):
        if row.user_id is None:
            raise InvalidInput("must not be empty", field=field_of_row(index, "user_id"))
        user_id = current_ids.get(ids[row.user_id])
        if user_id is None:
            raise InvalidInput("no such user", field=field_of_row(index, "user_id"))
        settings.append((user_id, row.agent_id, row.allow_agent_specific_memory))
    return settings


def check_rows(settings: Sequence[Setting], agents: Collection[UUID]) -> None:
    """Raise ``InvalidInput`` for an unknown agent, and for a repeated pair of user and agent."""
    first: dict[tuple[UUID, UUID], int] = {}
    for index, (user_id, agent_id, _) in enumerate(settings):
        if agent_id not in agents:
            raise InvalidInput("no such agent", field=field_of_row(index, "agent_id"))
        earlier = first.setdefault((user_id, agent_id), index)
        if earlier != index:
            raise InvalidInput(
                f"repeats the user and agent of row {earlier}",
                field=field_of_row(index, "agent_id"),
            )


def tabulate(
    cells: Sequence[CellRow], *, policy_allows: bool
) -> dict[str, ScopeCounts | SourceCounts | int]:
    """Return the numbers of pairs and users by effective scope and by source."""
    pairs: dict[str, int] = {}
    users: dict[str, int] = {}
    for cell in cells:
        keys: set[str] = set()
        kinds = product((("none", None), ("off", False), ("on", True)), Scope)
        for (word, preference), default in kinds:
            number = getattr(cell, f"{word}_{default.value}")
            if number == 0:
                continue
            effective = effective_scope(
                policy_allows=policy_allows,
                preference=preference,
                toggle=cell.toggle,
                agent_default=default,
            )
            for key in (effective.scope.value, effective.source.value):
                pairs[key] = pairs.get(key, 0) + number * cell.users
                keys.add(key)
        for key in keys:
            users[key] = users.get(key, 0) + cell.users
    return {
        "users": sum(cell.users for cell in cells),
        "pairs_by_effective_scope": scope_counts(pairs),
        "pairs_by_source": SourceCounts.model_validate(_only(SourceCounts, pairs)),
        "users_by_effective_scope": scope_counts(users),
        "users_by_source": SourceCounts.model_validate(_only(SourceCounts, users)),
    }


def scope_counts(numbers: Mapping[str, int]) -> ScopeCounts:
    return ScopeCounts(global_=numbers.get("global", 0), agent=numbers.get("agent", 0))


def _only(model: type[SourceCounts], numbers: Mapping[str, int]) -> dict[str, int]:
    return {name: numbers.get(name, 0) for name in model.model_fields}
