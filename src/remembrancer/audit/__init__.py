"""The audit log: reads, changes and refusals, with ids and outcomes, never content."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.access import Actor, Role
from remembrancer.db.sql import json_rows
from remembrancer.db.trips import Trip, together
from remembrancer.ids import SHARED_OWNER, new_uuid

Outcome = Literal["done", "refused"]

_COLUMNS: Final = (
    "owner_id, id, actor_role, actor_user_id, actor_agent_id, actor_key_id, entry_point, action,"
    " target_ids, outcome"
)
_ADD: Final = text(
    f"INSERT INTO audit_log ({_COLUMNS}, at) SELECT {_COLUMNS}, coalesce(at, now())"  # noqa: S608 - of constants
    " FROM jsonb_populate_recordset(CAST(NULL AS audit_log), CAST(:lines AS jsonb))"
)


async def note(
    connection: AsyncConnection,
    actor: Actor,
    action: str,
    target_ids: Sequence[str],
    *,
    owner_id: UUID | None = None,
    outcome: Outcome = "done",
) -> None:
    """Add one line: ``actor`` did ``action`` to ``target_ids`` of ``owner_id``."""
    async with together(connection) as trip:
        write(trip, [line(actor, action, target_ids, owner_id, outcome)])


async def note_each(
    connection: AsyncConnection, actor: Actor, action: str, by_owner: Mapping[UUID, Sequence[str]]
) -> None:
    """Add a line for each owner: ``actor`` did ``action`` to these ids of theirs."""
    async with together(connection) as trip:
        add(trip, actor, action, by_owner)


def add(trip: Trip, actor: Actor, action: str, by_owner: Mapping[UUID, Sequence[str]]) -> None:
    """Let a trip do what :func:`note_each` does."""
    write(
        trip,
        [line(actor, action, ids, owner_id, "done") for owner_id, ids in by_owner.items()],
    )


async def note_look(
    connection: AsyncConnection, actor: Actor, action: str, by_owner: Mapping[UUID, Sequence[str]]
) -> None:
    """For an admin, add a line for each owner.

    For settings, which agents read all the time. ``Reads`` notes reads of messages and memories.
    """
    if actor.role is Role.ADMIN:
        await note_each(connection, actor, action, by_owner)


def write(trip: Trip, lines: Sequence[Mapping[str, object]]) -> None:
    """Let a trip add lines, each of now unless it has another time."""
    if lines:
        trip.add(_ADD, {"lines": json_rows(lines)})


def line(
    actor: Actor, action: str, target_ids: Sequence[str], owner_id: UUID | None, outcome: Outcome
) -> dict[str, Any]:
    """Return the columns of a line."""
    return {
        "owner_id": owner_id or actor.user_id or SHARED_OWNER,
        "id": new_uuid(),
        "actor_role": actor.role,
        "actor_user_id": actor.user_id,
        "actor_agent_id": actor.agent_id,
        "actor_key_id": actor.key_id,
        "entry_point": actor.entry_point,
        "action": action,
        "target_ids": list(target_ids),
        "outcome": outcome,
    }
