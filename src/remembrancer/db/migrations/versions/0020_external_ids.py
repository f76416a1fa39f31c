"""Memories may have an id of their writer.

Revision ID: 0020
Revises: 0017
"""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.add_column("memories", sa.Column("external_id", sa.Text))
    op.create_index(
        "ix_memories_external_id",
        "memories",
        ["owner_id", "external_id"],
        postgresql_where=sa.text("external_id IS NOT NULL"),
    )


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.drop_column("memories", "external_id")
