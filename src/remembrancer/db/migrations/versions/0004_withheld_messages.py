"""Messages that left recall with a forgotten memory.

Revision ID: 0004
Revises: 0003
"""

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_TABLE = """
CREATE TABLE withheld_messages (
    owner_id uuid NOT NULL,
    memory_id text NOT NULL,
    message_id uuid NOT NULL,
    CONSTRAINT pk_withheld_messages PRIMARY KEY (owner_id, memory_id, message_id)
);
CREATE INDEX ix_withheld_messages_message ON withheld_messages (owner_id, message_id);
-- Seen with its message, and written for whoever may forget the memory.
CREATE POLICY reading ON withheld_messages FOR SELECT USING (
    EXISTS (SELECT FROM messages AS m
             WHERE m.owner_id = withheld_messages.owner_id
               AND m.id = withheld_messages.message_id));
CREATE POLICY bookkeeping ON withheld_messages USING ((SELECT app_role()) = 'system');
ALTER TABLE withheld_messages ENABLE ROW LEVEL SECURITY;
ALTER TABLE withheld_messages FORCE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE, DELETE ON withheld_messages TO remembrancer_app;
"""


def upgrade() -> None:
    """Add `withheld_messages`."""
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute(_TABLE)


def downgrade() -> None:
    """Drop `withheld_messages`."""
    op.execute("DROP TABLE withheld_messages")
