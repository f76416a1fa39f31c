"""Items have their terms and traits, and each owner a count of changes to them.

Revision ID: 0022
Revises: 0021
"""

from uuid import UUID

from alembic import op
from sqlalchemy import text

from remembrancer.search.traits import traits

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

_TABLE = """
CREATE TABLE item_changes (
    owner_id uuid NOT NULL,
    version bigint NOT NULL,
    recent bigint[] NOT NULL,
    CONSTRAINT pk_item_changes PRIMARY KEY (owner_id)
);
CREATE POLICY counting ON item_changes USING (
    owner_id = (SELECT app_user_id())
    OR owner_id = '00000000-0000-0000-0000-000000000000'
    OR (SELECT app_role()) IN ('service', 'admin', 'system'))
WITH CHECK (
    owner_id = (SELECT app_user_id())
    OR (SELECT app_role()) IN ('service', 'admin', 'system'));
ALTER TABLE item_changes ENABLE ROW LEVEL SECURITY;
ALTER TABLE item_changes FORCE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE, DELETE ON item_changes TO remembrancer_app;
"""
_TERMS = """
UPDATE recall_items AS i
   SET terms = p.terms
  FROM (SELECT owner_id, item_id,
               string_agg(rtrim(repeat(term || ' ', frequency)), ' ') AS terms
          FROM postings
         GROUP BY owner_id, item_id) AS p
 WHERE i.owner_id = p.owner_id AND i.id = p.item_id
"""
_COUNTS = """
INSERT INTO item_changes
SELECT DISTINCT owner_id, 1, CAST('{}' AS bigint[]) FROM recall_items
"""
_TEXTS = text("""
SELECT i.owner_id, i.id, coalesce(m.content, v.content, c.content, '') AS content
  FROM recall_items AS i
  LEFT JOIN messages AS m
    ON i.source_type = 'message' AND m.owner_id = i.owner_id AND m.id = i.source_id
  LEFT JOIN memory_versions AS v
    ON i.source_type = 'memory' AND v.owner_id = i.owner_id
   AND v.memory_id = i.memory_id AND v.version = i.memory_version
  LEFT JOIN chunks AS c
    ON i.source_type = 'chunk' AND c.owner_id = i.owner_id AND c.id = i.source_id
 WHERE (i.owner_id, i.id) > (CAST(:owner_id AS uuid), :id)
 ORDER BY i.owner_id, i.id
 LIMIT 5000
""")
_TRAITS = text("""
UPDATE recall_items AS i
   SET traits = n.traits
  FROM unnest(CAST(:owners AS uuid[]), CAST(:ids AS bigint[]), CAST(:traits AS smallint[]))
       AS n (owner_id, id, traits)
 WHERE i.owner_id = n.owner_id AND i.id = n.id
""")


def _store_traits() -> None:
    connection = op.get_bind()
    owner_id, item_id = UUID(int=0), -1
    while rows := connection.execute(_TEXTS, {"owner_id": owner_id, "id": item_id}).all():
        values = {
            "owners": [row.owner_id for row in rows],
            "ids": [row.id for row in rows],
            "traits": [traits(row.content) for row in rows],
        }
        connection.execute(_TRAITS, values)
        owner_id, item_id = rows[-1].owner_id, rows[-1].id


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("SET LOCAL statement_timeout = '60min'")
    # The tables are under row-level security for their owner too.
    op.execute("SELECT set_config('app.role', 'system', true)")
    op.execute("ALTER TABLE recall_items ADD COLUMN terms text NOT NULL DEFAULT ''")
    op.execute("ALTER TABLE recall_items ADD COLUMN traits smallint NOT NULL DEFAULT 0")
    op.execute(_TERMS)
    _store_traits()
    op.execute(_TABLE)
    op.execute(_COUNTS)


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("DROP TABLE item_changes")
    op.execute("ALTER TABLE recall_items DROP COLUMN terms, DROP COLUMN traits")
