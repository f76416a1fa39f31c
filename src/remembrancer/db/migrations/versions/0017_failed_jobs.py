"""The sweep reads failed jobs by an index.

Revision ID: 0017
Revises: 0016
"""

from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute(
        "CREATE INDEX ix_procrastinate_jobs_failed"
        " ON jobs.procrastinate_jobs (task_name) WHERE status = 'failed'"
    )


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("DROP INDEX jobs.ix_procrastinate_jobs_failed")
