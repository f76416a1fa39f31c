"""The queue of background jobs, in a schema of its own.

Revision ID: 0002
Revises: 0001
"""

from pathlib import Path

from alembic import op
from procrastinate.schema import SchemaManager

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

THEIRS = "-- {procrastinate}\n"
"""Stands where procrastinate's own schema goes, which its package holds."""


def upgrade() -> None:
    """Create procrastinate's tables as its package has them, and ours around them."""
    op.execute("SET LOCAL lock_timeout = '4s'")
    before, after = Path(__file__).with_suffix(".sql").read_text(encoding="utf-8").split(THEIRS)
    cursor = op.get_bind().connection.cursor()
    for sql in (before, SchemaManager.get_schema(), after):
        # The driver's own cursor, without parameters, takes a file of many statements as it is.
        cursor.execute(sql)


def downgrade() -> None:
    """Drop the queue and whatever is in it."""
    op.execute("DROP SCHEMA jobs CASCADE")
