"""The first schema.

Revision ID: 0001
Revises:
"""

from pathlib import Path

from alembic import op
from procrastinate.schema import SchemaManager

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

PROCRASTINATE = "-- {procrastinate}\n"
"""Stands where procrastinate's own schema goes, which its package holds."""

_DROP = """
DROP SCHEMA jobs CASCADE;
DROP TABLE
    users, platform_links, spaces, space_members, agents, memory_preferences, memory_policy,
    memories, memory_versions, mentions, associations, conversations, participants, messages,
    chunks, frozen_contexts, frozen_lines, recall_items, postings, reembeddings, embedding_model,
    api_keys, audit_log, undo_records, idempotency_keys
CASCADE;
DROP FUNCTION IF EXISTS app_spaces(), app_conversation(uuid), app_act_as(uuid, text);
DROP FUNCTION app_user_id(), app_role();
"""


def upgrade() -> None:
    """Create our tables from the SQL files beside this one, and procrastinate's."""
    op.execute("SET LOCAL lock_timeout = '4s'")
    here = Path(__file__).parent
    before, after = (here / "0001_jobs.sql").read_text(encoding="utf-8").split(PROCRASTINATE)
    initial = Path(__file__).with_suffix(".sql").read_text(encoding="utf-8")
    cursor = op.get_bind().connection.cursor()
    for sql in (initial, before, SchemaManager.get_schema(), after):
        # The driver's own cursor, without parameters, takes a file of many statements as it is.
        cursor.execute(sql)


def downgrade() -> None:
    """Drop the store. The role, which is the cluster's, and the extension stay."""
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute(_DROP)
