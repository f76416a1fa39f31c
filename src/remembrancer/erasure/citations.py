"""What rests on messages: the memories, wordings and mentions that cite them, whosever they are.

A memory that nothing else supports goes with them. One that is said elsewhere as well loses a
source. Words that they gave it go, and the words before hold again.
"""

from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

from sqlalchemy import Row, text
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import tokens
from remembrancer.context import repository as contexts
from remembrancer.erasure.repository import (
    MEMORIES,
    Counts,
    Statements,
    delete,
    deleting_items,
    erase_memories,
    pairs,
)
from remembrancer.memories.rules import statement_hash
from remembrancer.memories.schemas import Status

_CITED: Final = """
    SELECT owner_id, memory_id FROM mentions WHERE message_id = ANY (CAST(:messages AS uuid[]))
     UNION
    SELECT owner_id, memory_id FROM memory_versions
     WHERE message_id = ANY (CAST(:messages AS uuid[]))
"""
_OWNERS = text(f"SELECT DISTINCT owner_id FROM ({_CITED}) AS c")


def _elsewhere(table: str) -> str:
    return f"""
        EXISTS (SELECT FROM {table} AS t
                 WHERE t.owner_id = m.owner_id AND t.memory_id = m.id
                   AND (t.message_id IS NULL
                        OR t.message_id <> ALL (CAST(:messages AS uuid[]))))
    """


# Locked in the order in which others lock memories, before anything of them changes.
_RESTING = text(f"""
    SELECT m.owner_id, m.id,
           {_elsewhere("mentions")} AS said_elsewhere,
           {_elsewhere("memory_versions")} AS worded_elsewhere
      FROM memories AS m
     WHERE (m.owner_id, m.id) IN ({_CITED})
     ORDER BY m.owner_id, m.id
       FOR UPDATE OF m
""")

_FORGET_MENTIONS = text("""
    WITH gone AS (
        DELETE FROM mentions WHERE message_id = ANY (CAST(:messages AS uuid[]))
        RETURNING owner_id, memory_id
    ),
    counted AS (
        UPDATE memories AS m SET mention_count = m.mention_count - g.times
          FROM (SELECT owner_id, memory_id, count(*) AS times
                  FROM gone GROUP BY owner_id, memory_id) AS g
         WHERE m.owner_id = g.owner_id AND m.id = g.memory_id
    )
    SELECT count(*) FROM gone
""")

_GOING = f"""
    SELECT v.owner_id, v.memory_id, v.version, v.content
      FROM memory_versions AS v, {MEMORIES}
     WHERE v.owner_id = s.owner_id AND v.memory_id = s.id
       AND v.message_id = ANY (CAST(:messages AS uuid[]))
"""
# An update without new words serves on with the vector of the version before, which gets it back.
_GIVE_BACK_ITEMS = text(f"""
    UPDATE recall_items AS i
       SET memory_version = k.version, valid_from = k.valid_from, valid_to = k.valid_to
      FROM ({_GOING}) AS g
     CROSS JOIN LATERAL (
           SELECT * FROM memory_versions AS k
            WHERE k.owner_id = g.owner_id AND k.memory_id = g.memory_id AND k.version < g.version
              AND (k.message_id IS NULL OR k.message_id <> ALL (CAST(:messages AS uuid[])))
            ORDER BY k.version DESC LIMIT 1
     ) AS k
     WHERE i.owner_id = g.owner_id AND i.memory_id = g.memory_id AND i.memory_version = g.version
       AND k.content = g.content
       AND NOT EXISTS (SELECT FROM recall_items AS o
                        WHERE o.owner_id = k.owner_id AND o.memory_id = k.memory_id
                          AND o.memory_version = k.version)
""")
_ITEMS_GOING = f"""
    SELECT i.owner_id, i.id FROM recall_items AS i, ({_GOING}) AS g
     WHERE i.owner_id = g.owner_id AND i.memory_id = g.memory_id AND i.memory_version = g.version
"""
_DROP_VERSIONS: Statements = (
    *deleting_items(_ITEMS_GOING),
    (
        "memory_versions",
        f"""
        DELETE FROM memory_versions AS v USING {MEMORIES}
         WHERE v.owner_id = s.owner_id AND v.memory_id = s.id
           AND v.message_id = ANY (CAST(:messages AS uuid[]))
        """,
    ),
)

# The latest of the versions that are left, where the one that held is gone. What search has of
# it still says until when it held by its own words.
_FELL_BACK = text(f"""
    SELECT DISTINCT ON (v.owner_id, v.memory_id)
           v.owner_id, v.memory_id AS id, v.version, v.content, v.valid_from,
           CASE WHEN i.id IS NULL THEN v.valid_to ELSE i.valid_to END AS valid_to,
           m.agent_id, m.space_id, m.status, m.place_id, m.address
      FROM {MEMORIES}
      JOIN memories AS m ON m.owner_id = s.owner_id AND m.id = s.id
      JOIN memory_versions AS v ON v.owner_id = m.owner_id AND v.memory_id = m.id
      LEFT JOIN recall_items AS i ON i.owner_id = v.owner_id AND i.memory_id = v.memory_id
                                 AND i.memory_version = v.version
     WHERE NOT EXISTS (SELECT FROM memory_versions AS c WHERE c.owner_id = m.owner_id
                          AND c.memory_id = m.id AND c.version = m.version)
     ORDER BY v.owner_id, v.memory_id, v.version DESC
""")
_SAID_ALREADY = text("""
    SELECT b.n
      FROM unnest(CAST(:owners AS uuid[]), CAST(:ids AS text[]), CAST(:hashes AS bytea[]))
           WITH ORDINALITY AS b (owner_id, id, hash, n)
      JOIN memories AS m ON m.owner_id = b.owner_id AND m.id = b.id
     WHERE EXISTS (SELECT FROM memories AS o
                    WHERE o.owner_id = m.owner_id AND o.id <> m.id AND o.status = 'active'
                      AND o.content_hash = b.hash
                      AND o.agent_id IS NOT DISTINCT FROM m.agent_id
                      AND o.space_id IS NOT DISTINCT FROM m.space_id)
""")
_HOLDS_AGAIN = (
    text("""
    UPDATE memories AS m
       SET content = v.content, content_hash = b.hash, version = v.version, status = b.status,
           tokens = b.tokens,
           valid_from = v.valid_from, valid_to = b.valid_to, source = v.source,
           platform = v.platform, conversation_id = v.conversation_id,
           message_id = v.message_id, updated_at = now()
      FROM unnest(CAST(:owners AS uuid[]), CAST(:ids AS text[]), CAST(:versions AS int[]),
                  CAST(:hashes AS bytea[]), CAST(:statuses AS text[]),
                  CAST(:valid_tos AS timestamptz[]), CAST(:tokens AS int[]))
           AS b (owner_id, id, version, hash, status, valid_to, tokens)
      JOIN memory_versions AS v ON v.owner_id = b.owner_id AND v.memory_id = b.id
                               AND v.version = b.version
     WHERE m.owner_id = b.owner_id AND m.id = b.id
"""),
    text(f"""
    UPDATE memory_versions AS v
       SET superseded_at = NULL, valid_to = m.valid_to
      FROM memories AS m, {MEMORIES}
     WHERE m.owner_id = s.owner_id AND m.id = s.id
       AND v.owner_id = m.owner_id AND v.memory_id = m.id AND v.version = m.version
"""),
    text(f"""
    UPDATE recall_items AS i
       SET active = m.in_use,
           superseded_at = CASE WHEN i.memory_version = m.version THEN NULL
                                ELSE i.superseded_at END
      FROM memories AS m, {MEMORIES}
     WHERE m.owner_id = s.owner_id AND m.id = s.id
       AND i.owner_id = m.owner_id AND i.memory_id = m.id
"""),
)
_UNCITE = (
    text(f"""
    UPDATE memories AS m SET message_id = NULL FROM {MEMORIES}
     WHERE m.owner_id = s.owner_id AND m.id = s.id
       AND m.message_id = ANY (CAST(:messages AS uuid[]))
"""),
    text(f"""
    UPDATE memory_versions AS v SET message_id = NULL FROM {MEMORIES}
     WHERE v.owner_id = s.owner_id AND v.memory_id = s.id
       AND v.message_id = ANY (CAST(:messages AS uuid[]))
"""),
)


async def owners(connection: AsyncConnection, messages: Sequence[UUID]) -> set[UUID]:
    """Return the owners of memories that cite one of these messages."""
    if not messages:
        return set()
    return set((await connection.execute(_OWNERS, {"messages": messages})).scalars())


async def erase(connection: AsyncConnection, messages: Sequence[UUID]) -> Counts:
    """Delete what rests on messages alone, of owners that are locked."""
    if not messages:
        return Counts()
    cite = {"messages": messages}
    cited = (await connection.execute(_RESTING, cite)).all()
    bare = [row for row in cited if not (row.said_elsewhere or row.worded_elsewhere)]
    kept = [row for row in cited if row.said_elsewhere or row.worded_elsewhere]
    counts = await erase_memories(connection, _keys(bare))
    counts += await _drop_versions(
        connection, messages, [row for row in kept if row.worded_elsewhere]
    )
    counts["mentions"] += (await connection.execute(_FORGET_MENTIONS, cite)).scalar_one()
    for statement in _UNCITE:
        await connection.execute(statement, {**pairs(_keys(kept)), **cite})
    return counts


async def _drop_versions(
    connection: AsyncConnection, messages: Sequence[UUID], reworded: Sequence[Row[Any]]
) -> Counts:
    """Delete the words that messages gave to memories; the words before hold again."""
    which: dict[str, Any] = {**pairs(_keys(reworded)), "messages": messages}
    await connection.execute(_GIVE_BACK_ITEMS, which)
    # A later version may have the same number, so the lines go with the version.
    counts = await contexts.erase_lines(connection, _keys(reworded))
    counts += await delete(connection, _DROP_VERSIONS, which)
    fell_back = (await connection.execute(_FELL_BACK, pairs(_keys(reworded)))).all()
    if fell_back:
        await _hold_again(connection, fell_back)
    return counts


async def _hold_again(connection: AsyncConnection, rows: Sequence[Row[Any]]) -> None:
    hashes = [
        statement_hash(row.content, row.valid_from, row.valid_to, row.place_id, row.address)
        for row in rows
    ]
    keys = pairs(_keys(rows))
    taken = set((await connection.execute(_SAID_ALREADY, {**keys, "hashes": hashes})).scalars())
    said: set[tuple[Any, ...]] = set()
    statuses = []
    for number, (row, hash_) in enumerate(zip(rows, hashes, strict=True), 1):
        # Another memory may say just that by now, or come to say it right here.
        ground = (row.owner_id, row.agent_id, row.space_id, hash_)
        active = row.status == Status.ACTIVE
        repeats = active and (number in taken or ground in said)
        statuses.append(Status.INACTIVE.value if repeats else row.status)
        if active:
            said.add(ground)
    binds = {
        **keys,
        "versions": [row.version for row in rows],
        "hashes": hashes,
        "statuses": statuses,
        "valid_tos": [row.valid_to for row in rows],
        "tokens": [tokens.count(row.content) for row in rows],
    }
    for statement in _HOLDS_AGAIN:
        used = statement.compile().params.keys()
        await connection.execute(statement, {name: binds[name] for name in used})


def _keys(rows: Sequence[Row[Any]]) -> list[tuple[UUID, str]]:
    return [(row.owner_id, row.id) for row in rows]
