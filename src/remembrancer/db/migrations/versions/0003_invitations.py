"""Invitations into spaces, and the users who left or declined.

Revision ID: 0003
Revises: 0002
"""

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

SQL = """
CREATE TABLE space_invitations (
    space_id UUID NOT NULL,
    invitee TEXT NOT NULL,
    invited_by UUID NOT NULL,
    role TEXT DEFAULT 'member' NOT NULL,
    created_at timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_space_invitations PRIMARY KEY (space_id, invitee),
    CONSTRAINT ck_space_invitations_role CHECK (role IN ('owner', 'member')),
    CONSTRAINT fk_space_invitations_space_id FOREIGN KEY (space_id)
        REFERENCES spaces (id) ON DELETE CASCADE
);
CREATE INDEX ix_space_invitations_invitee ON space_invitations (invitee);

CREATE TABLE space_refusals (
    user_id UUID NOT NULL,
    space_id UUID NOT NULL,
    declined BOOLEAN NOT NULL,
    created_at timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_space_refusals PRIMARY KEY (user_id, space_id)
);

CREATE INDEX ix_users_merged_into ON users (merged_into) WHERE merged_into IS NOT NULL;

-- Whom an invitation names may be nobody yet, so no user but the system reads them.
CREATE POLICY bookkeeping ON space_invitations USING ((SELECT app_role()) = 'system');
CREATE POLICY own ON space_refusals
    USING (user_id = (SELECT app_user_id()) OR (SELECT app_role()) = 'system');
ALTER TABLE space_invitations ENABLE ROW LEVEL SECURITY;
ALTER TABLE space_invitations FORCE ROW LEVEL SECURITY;
ALTER TABLE space_refusals ENABLE ROW LEVEL SECURITY;
ALTER TABLE space_refusals FORCE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE, DELETE ON space_invitations, space_refusals TO remembrancer_app;
"""


def upgrade() -> None:
    """Create the tables with their row-level security, and index former ids of users."""
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute(SQL)


def downgrade() -> None:
    """Drop them: who was invited, left or declined is forgotten."""
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("DROP TABLE space_invitations, space_refusals")
    op.execute("DROP INDEX ix_users_merged_into")
