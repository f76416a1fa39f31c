"""What else belongs to a person: links, preferences, memberships, their part in conversations.

Each function moves one kind of thing from ``giver`` to ``taker`` and returns what has to be
known to move it back.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

Json = dict[str, Any]

_TAKE_PART = text("""
    INSERT INTO participants (user_id, conversation_id, joined_at)
    SELECT :taker, conversation_id, joined_at FROM participants WHERE user_id = :giver
    ON CONFLICT DO NOTHING
    RETURNING conversation_id
""")
_PARTS = text("SELECT conversation_id FROM participants WHERE user_id = :giver")
_LEAVE = text("DELETE FROM participants WHERE user_id = :giver")
_OPENED = text("""
    UPDATE conversations SET opened_by = :taker WHERE opened_by = :giver RETURNING id
""")
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

_SAME_CHUNKS = text("""
    SELECT c.id
      FROM chunks AS c
      JOIN chunks AS same USING (conversation_id, range_start, range_end)
     WHERE c.owner_id = :giver AND same.owner_id = :taker
""")
_DROP_CHUNKS = (
    text("""
    DELETE FROM postings
     WHERE owner_id = :giver AND item_id IN (
           SELECT id FROM recall_items
            WHERE owner_id = :giver AND source_id = ANY (CAST(:ids AS uuid[])))
"""),
    text("""
    DELETE FROM recall_items
     WHERE owner_id = :giver AND source_id = ANY (CAST(:ids AS uuid[]))
"""),
    text("""
    DELETE FROM chunks WHERE owner_id = :giver AND id = ANY (CAST(:ids AS uuid[]))
    RETURNING id, conversation_id, range_start, range_end
"""),
)


async def _rows(connection: AsyncConnection, statement: Any, **binds: Any) -> list[Json]:
    found = await connection.execute(statement, binds)
    return [dict(row) for row in found.mappings()]


async def _ids(connection: AsyncConnection, statement: Any, **binds: Any) -> list[str]:
    return [str(value) for value in (await connection.execute(statement, binds)).scalars()]


async def drop_same_chunks(connection: AsyncConnection, giver: UUID, taker: UUID) -> list[Json]:
    """Delete the giver's copy of a summary that the taker has as well."""
    ids = await _ids(connection, _SAME_CHUNKS, giver=giver, taker=taker)
    dropped: list[Json] = []
    for statement in _DROP_CHUNKS if ids else ():
        result = await connection.execute(statement, {"giver": giver, "ids": ids})
        if result.returns_rows:
            dropped = [{k: _plain(v) for k, v in row.items()} for row in result.mappings()]
    return dropped


# Conversations of both are told anew, and nothing is told under an owner who has it no more.
_THAW = (
    text("DELETE FROM frozen_contexts WHERE owner_id = :giver"),
    text("""
    DELETE FROM frozen_lines AS l
     WHERE l.memory_owner_id IN (:giver, :taker)
       AND NOT EXISTS (SELECT FROM memories AS m
                        WHERE m.owner_id = l.memory_owner_id AND m.id = l.memory_id)
"""),
)


async def thaw(connection: AsyncConnection, giver: UUID, taker: UUID) -> None:
    """Drop what conversations were told at their start of memories that have moved."""
    for statement in _THAW:
        used = statement.compile().params.keys()
        binds = {"giver": giver, "taker": taker}
        await connection.execute(statement, {name: binds[name] for name in used})


async def take_part(connection: AsyncConnection, giver: UUID, taker: UUID) -> Json:
    """Let the taker take part wherever the giver does; messages can follow then."""
    joined = await _ids(connection, _TAKE_PART, giver=giver, taker=taker)
    return {"conversations": await _ids(connection, _PARTS, giver=giver), "joined": joined}


async def hand_over(connection: AsyncConnection, giver: UUID, taker: UUID) -> Json:
    """Move all the rest, once messages and memories have moved; the giver becomes the taker."""
    both = {"giver": giver, "taker": taker}
    await connection.execute(_LEAVE, {"giver": giver})
    await connection.execute(_REQUESTS, both)
    preferences = await _rows(connection, _PREFERENCES, **both)
    memberships = await _rows(connection, _SPACES, **both)
    record = {
        "opened": await _ids(connection, _OPENED, **both),
        "made": await _ids(connection, _MADE, **both),
        "preferences": [{**row, "agent_id": str(row["agent_id"])} for row in preferences],
        "spaces": [{**row, "space_id": str(row["space_id"])} for row in memberships],
        "links": await _rows(connection, _LINKS, **both),
        "forwarded": await _ids(connection, _FORWARD, **both),
        "records": await _ids(connection, _RECORDS, **both),
    }
    await connection.execute(_BECOME, both)
    return record


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, UUID) else value


# Back again -------------------------------------------------------------------------------

_TAKE_PART_AGAIN = text("""
    INSERT INTO participants (user_id, conversation_id)
    SELECT :giver, c.id FROM conversations AS c WHERE c.id = ANY (CAST(:conversations AS uuid[]))
    ON CONFLICT DO NOTHING
""")
# Who has said something since, or has a summary, stays.
_LEAVE_AGAIN = text("""
    DELETE FROM participants AS p
     WHERE p.user_id = :taker AND p.conversation_id = ANY (CAST(:joined AS uuid[]))
       AND NOT EXISTS (SELECT FROM messages AS m WHERE m.owner_id = p.user_id
                          AND m.conversation_id = p.conversation_id)
       AND NOT EXISTS (SELECT FROM chunks AS c WHERE c.owner_id = p.user_id
                          AND c.conversation_id = p.conversation_id)
""")
_BACK = (
    text("UPDATE conversations SET opened_by = :giver"
         " WHERE opened_by = :taker AND id = ANY (CAST(:opened AS uuid[]))"),
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

# The taker's copy of a summary serves for both again.
_CHUNKS_AGAIN = text("""
    WITH dropped AS (
        SELECT * FROM unnest(CAST(:ids AS uuid[]), CAST(:conversations AS uuid[]),
                             CAST(:starts AS int[]), CAST(:ends AS int[]))
                 AS d (id, conversation_id, range_start, range_end)
    ),
    same AS (
        SELECT d.id AS new_id, c.*
          FROM dropped AS d
          JOIN chunks AS c USING (conversation_id, range_start, range_end)
         WHERE c.owner_id = :taker
    ),
    chunk AS (
        INSERT INTO chunks (owner_id, id, conversation_id, range_start, range_end, agent_id,
                            space_id, visibility, content, created_at)
        SELECT :giver, new_id, conversation_id, range_start, range_end, agent_id,
               space_id, visibility, content, created_at
          FROM same
    ),
    numbered AS MATERIALIZED (
        SELECT nextval(pg_get_serial_sequence('recall_items', 'id')) AS new_item, s.new_id, i.*
          FROM same AS s
          JOIN recall_items AS i ON i.owner_id = :taker AND i.source_id = s.id
    ),
    item AS (
        INSERT INTO recall_items (owner_id, id, length, active, visibility, agent_id, space_id,
                                  conversation_id, position, content_hash, embedding,
                                  source_type, source_id, at, recorded_at)
        SELECT :giver, new_item, length, active, visibility, agent_id, space_id,
               conversation_id, position, content_hash, embedding,
               source_type, new_id, at, recorded_at
          FROM numbered
    )
    INSERT INTO postings (owner_id, term, item_id, frequency, shared_space_id)
    SELECT :giver, p.term, n.new_item, p.frequency, p.shared_space_id
      FROM numbered AS n
      JOIN postings AS p ON p.owner_id = :taker AND p.item_id = n.id
""")


async def take_part_again(
    connection: AsyncConnection, giver: UUID, record: Mapping[str, Any]
) -> None:
    """Let the giver take part again, before their messages come back."""
    binds = {"giver": giver, "conversations": record["conversations"]}
    await connection.execute(_TAKE_PART_AGAIN, binds)


async def hand_back(
    connection: AsyncConnection, giver: UUID, taker: UUID, record: Mapping[str, Any]
) -> None:
    """Undo ``hand_over`` and ``drop_same_chunks``, after messages and memories went back."""
    dropped = record["chunks_dropped"]
    await connection.execute(
        _CHUNKS_AGAIN,
        {
            "giver": giver,
            "taker": taker,
            "ids": [chunk["id"] for chunk in dropped],
            "conversations": [chunk["conversation_id"] for chunk in dropped],
            "starts": [chunk["range_start"] for chunk in dropped],
            "ends": [chunk["range_end"] for chunk in dropped],
        },
    )
    await connection.execute(_LEAVE_AGAIN, {"taker": taker, "joined": record["joined"]})
    binds = _binds(record) | {"giver": giver, "taker": taker}
    for statement in _BACK:
        used = statement.compile().params.keys()
        await connection.execute(statement, {name: binds[name] for name in used})


def _binds(record: Mapping[str, Any]) -> Json:
    preferences: Sequence[Json] = record["preferences"]
    lost = [row for row in preferences if not row["moved"]]
    return {
        **{name: record[name] for name in ("opened", "made", "forwarded", "records")},
        "platforms": [link["platform"] for link in record["links"]],
        "platform_user_ids": [link["platform_user_id"] for link in record["links"]],
        "moved": [row["agent_id"] for row in preferences if row["moved"]],
        "dropped": [row["agent_id"] for row in lost],
        "allowed": [row["allow"] for row in lost],
        "space_ids": [row["space_id"] for row in record["spaces"]],
        "roles": [row["role"] for row in record["spaces"]],
        "had": [row["had"] for row in record["spaces"]],
    }
