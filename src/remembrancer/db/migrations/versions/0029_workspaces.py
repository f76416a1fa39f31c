"""The registry of workspaces, which the host's own store has rows in.

Revision ID: 0029
Revises: 0028
"""

from alembic import op

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None

_TABLE = """
CREATE TABLE workspaces (
    id uuid NOT NULL,
    name text NOT NULL,
    server text NOT NULL,
    database text NOT NULL,
    state text DEFAULT 'creating' NOT NULL,
    revision text NOT NULL,
    limits jsonb DEFAULT '{}' NOT NULL,
    created_at timestamptz DEFAULT now() NOT NULL,
    changed_at timestamptz DEFAULT now() NOT NULL,
    used_at timestamptz,
    holder uuid,
    held_until timestamptz,
    CONSTRAINT pk_workspaces PRIMARY KEY (id),
    CONSTRAINT uq_workspaces_name UNIQUE (name),
    CONSTRAINT ck_workspaces_state
        CHECK (state IN ('creating', 'active', 'suspended', 'dropping'))
);
CREATE POLICY bookkeeping ON workspaces USING ((SELECT app_role()) = 'system');
ALTER TABLE workspaces ENABLE ROW LEVEL SECURITY;
ALTER TABLE workspaces FORCE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE, DELETE ON workspaces TO remembrancer_app;
"""


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute(_TABLE)


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("DROP TABLE workspaces")
