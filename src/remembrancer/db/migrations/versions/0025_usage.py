"""Usage by day and agent, the progress of imports, and the last use of keys.

Revision ID: 0025
Revises: 0024
"""

from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None

_TABLES = """
CREATE TABLE daily_usage (
    day date NOT NULL,
    agent_id uuid NOT NULL,
    kind text NOT NULL,
    amount bigint NOT NULL,
    durations bigint[] NOT NULL,
    CONSTRAINT pk_daily_usage PRIMARY KEY (day, agent_id, kind)
);
CREATE POLICY bookkeeping ON daily_usage USING ((SELECT app_role()) = 'system');
ALTER TABLE daily_usage ENABLE ROW LEVEL SECURITY;
ALTER TABLE daily_usage FORCE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE, DELETE ON daily_usage TO remembrancer_app;
CREATE TABLE imports (
    id uuid NOT NULL,
    started_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    ended_at timestamptz,
    total bigint NOT NULL,
    done bigint NOT NULL DEFAULT 0,
    reason text,
    CONSTRAINT pk_imports PRIMARY KEY (id)
);
CREATE POLICY bookkeeping ON imports USING ((SELECT app_role()) = 'system');
ALTER TABLE imports ENABLE ROW LEVEL SECURITY;
ALTER TABLE imports FORCE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE, DELETE ON imports TO remembrancer_app;
"""


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("ALTER TABLE api_keys ADD COLUMN last_used_at timestamptz")
    op.execute(_TABLES)


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("DROP TABLE imports, daily_usage")
    op.execute("ALTER TABLE api_keys DROP COLUMN last_used_at")
