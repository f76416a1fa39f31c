"""Filters of the memories that a user saved under a name.

Revision ID: 0026
Revises: 0025
"""

from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None

_TABLE = """
CREATE TABLE saved_filters (
    user_id uuid NOT NULL,
    id uuid NOT NULL,
    name text NOT NULL,
    filters jsonb NOT NULL,
    created_at timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_saved_filters PRIMARY KEY (user_id, id)
);
CREATE POLICY own ON saved_filters USING (
    user_id = (SELECT app_user_id()) OR (SELECT app_role()) = 'system');
ALTER TABLE saved_filters ENABLE ROW LEVEL SECURITY;
ALTER TABLE saved_filters FORCE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE, DELETE ON saved_filters TO remembrancer_app;
"""


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute(_TABLE)


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("DROP TABLE saved_filters")
