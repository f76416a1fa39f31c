"""Sweeps, retention and deletions read by indexes what they are about.

Revision ID: 0030
Revises: 0029
"""

from typing import Final

from alembic import op

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None

_INDEXES: Final = (
    "ix_conversations_behind ON conversations (id) WHERE is_behind",
    "ix_memories_left"
    " ON memories ((CASE WHEN forgotten_at IS NULL THEN updated_at ELSE forgotten_at END))"
    " WHERE status IN ('evicted', 'forgotten')",
    "ix_memory_versions_superseded ON memory_versions (superseded_at)"
    " WHERE superseded_at IS NOT NULL",
    "ix_messages_created ON messages USING brin (created_at)",
    "ix_frozen_contexts_conversation_id ON frozen_contexts (conversation_id)",
    "ix_api_keys_user_id ON api_keys (user_id)",
    "ix_procrastinate_jobs_key ON jobs.procrastinate_jobs (lock)",
)


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute(
        "ALTER TABLE conversations ADD COLUMN is_behind boolean NOT NULL"
        " GENERATED ALWAYS AS (message_count - summarised_to > 20) STORED"
    )
    # Room for the counts of recalls, which then write no index.
    op.execute("ALTER TABLE memories SET (fillfactor = 90)")
    for index in _INDEXES:
        op.execute(f"CREATE INDEX {index}")


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    for index in _INDEXES:
        name, _, rest = index.partition(" ON ")
        op.execute(f"DROP INDEX {'jobs.' if rest.startswith('jobs.') else ''}{name}")
    op.execute("ALTER TABLE memories RESET (fillfactor)")
    op.execute("ALTER TABLE conversations DROP COLUMN is_behind")
