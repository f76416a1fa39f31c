"""The first schema.

Revision ID: 0001
Revises:
"""

from pathlib import Path

from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create everything from the SQL file beside this one."""
    op.execute("SET LOCAL lock_timeout = '4s'")
    sql = Path(__file__).with_suffix(".sql").read_text(encoding="utf-8")
    # The driver's own cursor, without parameters, takes a file of many statements as it is.
    op.get_bind().connection.cursor().execute(sql)


def downgrade() -> None:
    """Refuse: before the first schema there is nothing to go back to."""
    raise NotImplementedError("drop the database instead")
