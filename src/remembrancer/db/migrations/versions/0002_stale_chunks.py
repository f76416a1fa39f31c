"""Summaries that wait to be made anew.

Revision ID: 0002
Revises: 0001
"""

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add `chunks.stale`."""
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("ALTER TABLE chunks ADD COLUMN stale boolean DEFAULT false NOT NULL")
    op.execute("CREATE INDEX ix_chunks_stale ON chunks (conversation_id) WHERE stale")


def downgrade() -> None:
    """Drop `chunks.stale`."""
    op.execute("ALTER TABLE chunks DROP COLUMN stale")
