"""What else belongs to a person: links, preferences, memberships.

Each function moves one kind of thing from ``giver`` to ``taker`` and returns what has to be
known to move it back.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

Json = dict[str, Any]

_MADE = text("UPDATE spaces SET created_by = :taker WHERE created_by = :giver RETURNING id")

_PREFERENCES = text("""
    WITH given AS (
        DELETE FROM memory_preferences WHERE user_id = :giver RETURNING *
    ),
    kept AS (
        INSERT INTO memory_preferences
               (user_id, agent_id, id, allow_agent_specific_memory, created_at, updated_at)
        SELECT :taker, agent_id, id, allow_agent_specific_memory, created_at, updated_at
          FROM given
        ON CONFLICT DO NOTHING
        RETURNING agent_id
    )
    SELECT g.agent_id, g.allow_agent_specific_memory AS allow, k.agent_id IS NOT NULL AS moved
      FROM given AS g
      LEFT JOIN kept AS k USING (agent_id)
""")

# An owner stays one: of two roles in a space the survivor has the higher.
_SPACES = text("""
    WITH given AS (
        DELETE FROM space_members WHERE user_id = :giver RETURNING *
    ),
    had AS (
        SELECT space_id, role FROM space_members WHERE user_id = :taker
    ),
    kept AS (
        INSERT INTO space_members AS m (user_id, space_id, role, joined_at)
        SELECT :taker, space_id, role, joined_at FROM given
        ON CONFLICT (user_id, space_id) DO UPDATE
           SET role = CASE WHEN excluded.role = 'owner' THEN 'owner' ELSE m.role END
    )
    SELECT g.space_id, g.role, h.role AS had
      FROM given AS g
      LEFT JOIN had AS h USING (space_id)
""")

_LINKS = text("""
    UPDATE platform_links SET user_id = :taker WHERE user_id = :giver
    RETURNING platform, platform_user_id
""")
_FORWARD = text("""
    UPDATE users SET merged_into = :taker WHERE merged_into = :giver RETURNING id
""")
_BECOME = text("""
    UPDATE users SET merged_into = :taker, version = version + 1, updated_at = now()
     WHERE id = :giver
""")

# A request that is sent again after the merge is still the same request.
_REQUESTS = text("""
    WITH given AS (
        DELETE FROM idempotency_keys WHERE owner_id = :giver RETURNING *
    )
    INSERT INTO idempotency_keys (owner_id, action, key, fingerprint, answer, created_at)
    SELECT :taker, action, key, fingerprint, answer, created_at FROM given
    ON CONFLICT DO NOTHING
""")
_RECORDS = text("""
    WITH given AS (
        DELETE FROM undo_records WHERE owner_id = :giver RETURNING *
    )
    INSERT INTO undo_records (owner_id, id, action, record, created_at, undone_at)
    SELECT :taker, id, action, record, created_at, undone_at FROM given
    RETURNING id
""")


async def _rows(connection: AsyncConnection, statement: Any, **binds: Any) -> list[Json]:
    found = await connection.execute(statement, binds)
    return [dict(row) for row in found.mappings()]


async def _ids(connection: AsyncConnection, statement: Any, **binds: Any) -> list[str]:
    return [str(value) for value in (await connection.execute(statement, binds)).scalars()]


async def hand_over(connection: AsyncConnection, giver: UUID, taker: UUID) -> Json:
    """Move all the rest, once messages and memories have moved; the giver becomes the taker."""
    both = {"giver": giver, "taker": taker}
    await connection.execute(_REQUESTS, both)
    preferences = await _rows(connection, _PREFERENCES, **both)
    memberships = await _rows(connection, _SPACES, **both)
    record = {
        "made": await _ids(connection, _MADE, **both),
        "preferences": [{**row, "agent_id": str(row["agent_id"])} for row in preferences],
        "spaces": [{**row, "space_id": str(row["space_id"])} for row in memberships],
        "links": await _rows(connection, _LINKS, **both),
        "forwarded": await _ids(connection, _FORWARD, **both),
        "records": await _ids(connection, _RECORDS, **both),
    }
    await connection.execute(_BECOME, both)
    return record


# Back again -------------------------------------------------------------------------------

_BACK = (
    text("UPDATE spaces SET created_by = :giver"
         " WHERE created_by = :taker AND id = ANY (CAST(:made AS uuid[]))"),
    text("UPDATE users SET merged_into = :giver"
         " WHERE merged_into = :taker AND id = ANY (CAST(:forwarded AS uuid[]))"),
    text("UPDATE users SET merged_into = NULL, version = version + 1, updated_at = now()"
         " WHERE id = :giver"),
    text("""
    UPDATE platform_links SET user_id = :giver
     WHERE user_id = :taker AND (platform, platform_user_id) IN (
           SELECT * FROM unnest(CAST(:platforms AS text[]), CAST(:platform_user_ids AS text[])))
"""),
    text("""
    WITH back AS (
        DELETE FROM memory_preferences
         WHERE user_id = :taker AND agent_id = ANY (CAST(:moved AS uuid[])) RETURNING *
    )
    INSERT INTO memory_preferences
           (user_id, agent_id, id, allow_agent_specific_memory, created_at, updated_at)
    SELECT :giver, agent_id, id, allow_agent_specific_memory, created_at, updated_at FROM back
"""),
    text("""
    INSERT INTO memory_preferences (user_id, agent_id, id, allow_agent_specific_memory)
    SELECT :giver, d.agent_id, gen_random_uuid(), d.allow
      FROM unnest(CAST(:dropped AS uuid[]), CAST(:allowed AS boolean[])) AS d (agent_id, allow)
      JOIN agents AS a ON a.id = d.agent_id
"""),
    text("""
    INSERT INTO space_members (user_id, space_id, role)
    SELECT :giver, s.space_id, s.role
      FROM unnest(CAST(:space_ids AS uuid[]), CAST(:roles AS text[])) AS s (space_id, role)
      JOIN spaces ON spaces.id = s.space_id
"""),
    text("""
    UPDATE space_members AS m SET role = s.had
      FROM unnest(CAST(:space_ids AS uuid[]), CAST(:had AS text[])) AS s (space_id, had)
     WHERE m.user_id = :taker AND m.space_id = s.space_id AND s.had IS NOT NULL
"""),
    text("""
    DELETE FROM space_members AS m
     USING unnest(CAST(:space_ids AS uuid[]), CAST(:had AS text[])) AS s (space_id, had)
     WHERE m.user_id = :taker AND m.space_id = s.space_id AND s.had IS NULL
"""),
    text("""
    WITH back AS (
        DELETE FROM undo_records
         WHERE owner_id = :taker AND id = ANY (CAST(:records AS uuid[])) RETURNING *
    )
    INSERT INTO undo_records (owner_id, id, action, record, created_at, undone_at)
    SELECT :giver, id, action, record, created_at, undone_at FROM back
"""),
)  # fmt: skip


async def hand_back(
    connection: AsyncConnection, giver: UUID, taker: UUID, record: Mapping[str, Any]
) -> None:
    """Undo ``hand_over``, after messages and memories went back."""
    binds = _binds(record) | {"giver": giver, "taker": taker}
    for statement in _BACK:
        used = statement.compile().params.keys()
        await connection.execute(statement, {name: binds[name] for name in used})


def _binds(record: Mapping[str, Any]) -> Json:
    preferences: Sequence[Json] = record["preferences"]
    lost = [row for row in preferences if not row["moved"]]
    return {
        **{name: record[name] for name in ("made", "forwarded", "records")},
        "platforms": [link["platform"] for link in record["links"]],
        "platform_user_ids": [link["platform_user_id"] for link in record["links"]],
        "moved": [row["agent_id"] for row in preferences if row["moved"]],
        "dropped": [row["agent_id"] for row in lost],
        "allowed": [row["allow"] for row in lost],
        "space_ids": [row["space_id"] for row in record["spaces"]],
        "roles": [row["role"] for row in record["spaces"]],
        "had": [row["had"] for row in record["spaces"]],
    }
