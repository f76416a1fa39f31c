"""Messages can be edited, and have a platform's id once in their conversation.

Revision ID: 0007
Revises: 0006
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("SET LOCAL statement_timeout = '15min'")
    op.add_column("messages", sa.Column("edited_at", sa.DateTime(timezone=True)))
    # Row-level security holds for the owner of the tables too.
    op.execute("SELECT app_act_as(NULL, 'system')")
    # A message that was delivered twice stays, and loses the id that the first one has.
    op.execute("""
        UPDATE messages AS m
           SET platform_message_id = NULL
          FROM (SELECT owner_id, id, row_number() OVER (
                           PARTITION BY conversation_id, platform_message_id
                           ORDER BY position, id) AS delivery
                  FROM messages
                 WHERE platform_message_id IS NOT NULL) AS d
         WHERE m.owner_id = d.owner_id AND m.id = d.id AND d.delivery > 1
    """)
    op.create_index(
        "uq_messages_platform",
        "messages",
        ["conversation_id", "platform_message_id", "owner_id"],
        unique=True,
        postgresql_nulls_not_distinct=True,
        postgresql_where=sa.text("platform_message_id IS NOT NULL"),
    )


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.drop_index("uq_messages_platform", table_name="messages")
    op.drop_column("messages", "edited_at")
