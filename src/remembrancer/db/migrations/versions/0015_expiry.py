"""Memories may expire.

Revision ID: 0015
Revises: 0010
"""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.add_column("memories", sa.Column("expires_at", sa.DateTime(timezone=True)))
    op.create_index(
        "ix_memories_expiry",
        "memories",
        ["expires_at"],
        postgresql_where=sa.text("expires_at IS NOT NULL AND status <> 'forgotten'"),
    )


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.drop_column("memories", "expires_at")
