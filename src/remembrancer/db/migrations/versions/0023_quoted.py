"""Memories have the verdict on whether they read like an instruction, found when they are written.

Items have theirs anew: text in tags, variation selectors and the like is read now.

Revision ID: 0023
Revises: 0022
"""

from uuid import UUID

from alembic import op
from sqlalchemy import text

from remembrancer.guard.instructions import is_instruction
from remembrancer.search.traits import INSTRUCTS

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None

_MEMORIES = text("""
SELECT owner_id, id, content, coalesce(subject, '') AS subject
  FROM memories
 WHERE (owner_id, id) > (CAST(:owner_id AS uuid), :id)
 ORDER BY owner_id, id
 LIMIT 5000
""")
_QUOTED = text("""
UPDATE memories AS m
   SET quoted = true
  FROM unnest(CAST(:owners AS uuid[]), CAST(:ids AS text[])) AS n (owner_id, id)
 WHERE m.owner_id = n.owner_id AND m.id = n.id
""")
_ITEMS = text("""
SELECT i.owner_id, i.id, v.content
  FROM recall_items AS i
  JOIN memory_versions AS v
    ON v.owner_id = i.owner_id AND v.memory_id = i.memory_id AND v.version = i.memory_version
 WHERE i.source_type = 'memory' AND (i.traits & :bit) = 0
   AND octet_length(v.content) > char_length(v.content)
   AND (i.owner_id, i.id) > (CAST(:owner_id AS uuid), :id)
 ORDER BY i.owner_id, i.id
 LIMIT 5000
""")
_INSTRUCTS = text("""
UPDATE recall_items AS i
   SET traits = i.traits | CAST(:bit AS smallint)
  FROM unnest(CAST(:owners AS uuid[]), CAST(:ids AS bigint[])) AS n (owner_id, id)
 WHERE i.owner_id = n.owner_id AND i.id = n.id
""")


def _judge_memories() -> None:
    connection = op.get_bind()
    at = {"owner_id": UUID(int=0), "id": ""}
    while rows := connection.execute(_MEMORIES, at).all():
        quoted = [r for r in rows if is_instruction(r.content) or is_instruction(r.subject)]
        keys = {"owners": [row.owner_id for row in quoted], "ids": [row.id for row in quoted]}
        connection.execute(_QUOTED, keys)
        at = {"owner_id": rows[-1].owner_id, "id": rows[-1].id}


def _judge_items() -> None:
    connection = op.get_bind()
    owner_id, item_id, bit = UUID(int=0), -1, {"bit": INSTRUCTS}
    while rows := connection.execute(_ITEMS, {"owner_id": owner_id, "id": item_id} | bit).all():
        quoted = [row for row in rows if is_instruction(row.content)]
        keys = {"owners": [row.owner_id for row in quoted], "ids": [row.id for row in quoted]}
        connection.execute(_INSTRUCTS, keys | bit)
        owner_id, item_id = rows[-1].owner_id, rows[-1].id


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("SET LOCAL statement_timeout = '60min'")
    # The tables are under row-level security for their owner too.
    op.execute("SELECT set_config('app.role', 'system', true)")
    op.execute("ALTER TABLE memories ADD COLUMN quoted boolean NOT NULL DEFAULT false")
    _judge_memories()
    _judge_items()


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("ALTER TABLE memories DROP COLUMN quoted")
