"""Spaces as subjects: the space of a conversation, its frozen block, the names in a space.

Revision ID: 0006
Revises: 0005
"""

from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

# Who takes part in a conversation and through which agent: for those who do, and for an agent's
# backend that names nobody. Null for everybody else. The space is null unless all who take part
# are its members: what is told in the conversation reaches them all.
_CONVERSATION = """
CREATE FUNCTION app_conversation(
    which uuid, OUT participants uuid[], OUT agent_id uuid, OUT message_count int,
    OUT space_id uuid
) LANGUAGE plpgsql AS $$
DECLARE
    asking constant text := app_role();
    me     constant uuid := app_user_id();
BEGIN
    PERFORM set_config('app.role', 'system', true);
    SELECT ARRAY(SELECT p.user_id FROM participants AS p WHERE p.conversation_id = c.id),
           c.agent_id, c.message_count,
           CASE WHEN NOT EXISTS (
                    SELECT FROM participants AS p
                     WHERE p.conversation_id = c.id
                       AND NOT EXISTS (SELECT FROM space_members AS m
                                        WHERE m.user_id = p.user_id AND m.space_id = c.space_id))
                THEN c.space_id
           END
      INTO participants, agent_id, message_count, space_id
      FROM conversations AS c
     WHERE c.id = which;
    PERFORM set_config('app.role', asking, true);
    IF NOT (me = ANY (participants) OR (me IS NULL AND asking IN ('service', 'admin'))) THEN
        participants := NULL; agent_id := NULL; message_count := NULL; space_id := NULL;
    END IF;
END
$$
"""

_CONVERSATION_BEFORE = """
CREATE FUNCTION app_conversation(
    which uuid, OUT participants uuid[], OUT agent_id uuid, OUT message_count int
) LANGUAGE plpgsql AS $$
DECLARE
    asking constant text := app_role();
    me     constant uuid := app_user_id();
BEGIN
    PERFORM set_config('app.role', 'system', true);
    SELECT ARRAY(SELECT p.user_id FROM participants AS p WHERE p.conversation_id = c.id),
           c.agent_id, c.message_count
      INTO participants, agent_id, message_count
      FROM conversations AS c
     WHERE c.id = which;
    PERFORM set_config('app.role', asking, true);
    IF NOT (me = ANY (participants) OR (me IS NULL AND asking IN ('service', 'admin'))) THEN
        participants := NULL; agent_id := NULL; message_count := NULL;
    END IF;
END
$$
"""

# The names of the asker's spaces, and of the authors of what is shared there, by id. The index
# has the authors of a space in order, so that each is found without reading what they shared.
_NAMES = """
CREATE FUNCTION app_space_names(OUT spaces jsonb, OUT authors jsonb) LANGUAGE plpgsql AS $$
DECLARE
    asking constant text := app_role();
    mine   constant uuid[] := app_spaces();
BEGIN
    IF mine = '{}' THEN
        RETURN;
    END IF;
    PERFORM set_config('app.role', 'system', true);
    SELECT jsonb_object_agg(s.id, s.name) INTO spaces FROM spaces AS s WHERE s.id = ANY (mine);
    WITH RECURSIVE author AS (
        SELECT s.id AS space_id, CAST('00000000-0000-0000-0000-000000000000' AS uuid) AS user_id
          FROM unnest(mine) AS s (id)
        UNION ALL
        SELECT a.space_id, (SELECT i.owner_id
                              FROM recall_items AS i
                             WHERE i.visibility = 'shared'
                               AND i.space_id = a.space_id
                               AND i.owner_id > a.user_id
                             ORDER BY i.owner_id
                             LIMIT 1)
          FROM author AS a
         WHERE a.user_id IS NOT NULL
    )
    SELECT jsonb_object_agg(u.id, u.display_name) INTO authors
      FROM users AS u
     WHERE u.id IN (SELECT user_id FROM author);
    PERFORM set_config('app.role', asking, true);
END
$$
"""

# Private talk in a space follows the scope in effect, as it does outside of spaces.
_SCOPES = """
CREATE TEMPORARY TABLE scoped ON COMMIT DROP AS
SELECT c.id AS conversation_id, c.agent_id, p.user_id
  FROM conversations AS c
  JOIN agents AS a ON a.id = c.agent_id AND a.deleted_at IS NULL
  JOIN participants AS p ON p.conversation_id = c.id
  JOIN users AS u ON u.id = p.user_id
  LEFT JOIN memory_preferences AS r ON r.user_id = p.user_id AND r.agent_id = c.agent_id
 WHERE c.space_id IS NOT NULL
   AND (SELECT allow_agent_specific_memory FROM memory_policy)
   AND coalesce(r.allow_agent_specific_memory,
                u.allow_agent_specific_memory IS NOT FALSE AND a.memory_scope = 'agent')
"""
_PLACE = """
UPDATE {table} AS t SET agent_id = s.agent_id
  FROM scoped AS s
 WHERE t.owner_id = s.user_id AND t.conversation_id = s.conversation_id
   AND t.agent_id IS NULL AND t.space_id IS NOT NULL AND t.visibility = 'private'
"""
_OF_TALK = "AND t.source_type IN ('message', 'chunk')"

_UNFREEZE = """
DELETE FROM frozen_contexts AS c
 USING frozen_lines AS l
  JOIN memories AS m ON m.owner_id = l.memory_owner_id AND m.id = l.memory_id
 WHERE m.space_id IS NOT NULL
   AND l.owner_id = c.owner_id
   AND l.conversation_id = c.conversation_id
   AND l.agent_id = c.agent_id
"""


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("SET LOCAL statement_timeout = '15min'")
    # The tables are under row-level security for their owner too.
    op.execute("SELECT set_config('app.role', 'system', true)")
    op.execute("DROP FUNCTION app_conversation(uuid)")
    op.execute(_CONVERSATION)
    _index_shared("space_id", "owner_id")
    op.execute(_NAMES)
    # The block of a group in a space belongs to the space, so that its members read it.
    _let_read_blocks(" OR owner_id = ANY ((SELECT app_spaces())::uuid[])")
    op.execute(_SCOPES)
    for table in ("messages", "chunks"):
        op.execute(_PLACE.format(table=table))
    op.execute(_PLACE.format(table="recall_items") + _OF_TALK)
    # Blocks with facts of other spaces than their conversation's are frozen anew.
    op.execute(_UNFREEZE)


def downgrade() -> None:
    """Private talk stays where it is: where it lay before is not recorded."""
    op.execute("SET LOCAL lock_timeout = '4s'")
    _let_read_blocks("")
    op.execute("DROP FUNCTION app_space_names()")
    _index_shared("space_id")
    op.execute("DROP FUNCTION app_conversation(uuid)")
    op.execute(_CONVERSATION_BEFORE)


def _index_shared(*columns: str) -> None:
    name, table = "ix_recall_items_shared_space", "recall_items"
    op.drop_index(name, table)
    op.create_index(name, table, [*columns], postgresql_where="visibility = 'shared'")


def _let_read_blocks(members: str) -> None:
    for table in ("frozen_contexts", "frozen_lines"):
        op.execute(f"DROP POLICY own ON {table}")
        op.execute(
            f"CREATE POLICY own ON {table} USING ("
            " owner_id = (SELECT app_user_id())"
            f" OR owner_id = '00000000-0000-0000-0000-000000000000'{members}"
            " OR (SELECT app_role()) = 'system')"
            " WITH CHECK ((SELECT app_role()) = 'system')"
        )
