"""Columns of agents are called as in the API.

Revision ID: 0005
Revises: 0004
"""

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

NAMES = {"provider": "llm_provider", "model": "llm_model", "voice": "tts_voice"}


def upgrade() -> None:
    """Rename the columns."""
    op.execute("SET LOCAL lock_timeout = '4s'")
    for old, new in NAMES.items():
        op.execute(f"ALTER TABLE agents RENAME COLUMN {old} TO {new}")


def downgrade() -> None:
    """Name them as before."""
    for old, new in NAMES.items():
        op.execute(f"ALTER TABLE agents RENAME COLUMN {new} TO {old}")
