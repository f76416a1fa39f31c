"""The latest silence of a conversation, after which its stable block is frozen anew.

Revision ID: 0008
Revises: 0007
"""

from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

# When the latest silence of a conversation had lasted for so long; null without one among its last
# messages. The caller has checked that the asker takes part.
_SILENCE = """
CREATE FUNCTION app_silent_since(which uuid, length interval) RETURNS timestamptz
LANGUAGE plpgsql AS $$
DECLARE
    asking constant text := app_role();
    result timestamptz;
BEGIN
    PERFORM set_config('app.role', 'system', true);
    SELECT max(m.at + length) INTO result
      FROM (SELECT created_at AS at,
                   lead(created_at, 1, clock_timestamp()) OVER (ORDER BY position) AS next
              FROM (SELECT created_at, position
                      FROM messages
                     WHERE conversation_id = which
                     ORDER BY position DESC
                     LIMIT 50) AS latest) AS m
     WHERE m.next - m.at >= length;
    PERFORM set_config('app.role', asking, true);
    RETURN result;
END
$$
"""


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute(_SILENCE)


def downgrade() -> None:
    op.execute("DROP FUNCTION app_silent_since(uuid, interval)")
