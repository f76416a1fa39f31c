"""The look-up of a transaction's user is planned once a connection.

Revision ID: 0016
Revises: 0015
"""

from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

_ACT_AS = "ALTER FUNCTION app_act_as(uuid, text)"


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    # It reads by key, whatever the size of the table when it is planned.
    op.execute(f"{_ACT_AS} SET plan_cache_mode = 'force_generic_plan' SET enable_seqscan = off")


def downgrade() -> None:
    op.execute(f"{_ACT_AS} RESET ALL")
