-- Conversations of a user who becomes another one, and back.
--
-- Binds: giver and taker are users, ids are messages or conversations (null: all of the giver's).

-- name: join
INSERT INTO participants (user_id, conversation_id, joined_at)
SELECT :taker, conversation_id, joined_at FROM participants WHERE user_id = :giver
ON CONFLICT DO NOTHING
RETURNING conversation_id;

-- name: move_messages
WITH moved AS (
    DELETE FROM messages
     WHERE owner_id = :giver
       AND (CAST(:ids AS uuid[]) IS NULL OR id = ANY (CAST(:ids AS uuid[])))
    RETURNING *
)
INSERT INTO messages (owner_id, id, conversation_id, position, agent_id, space_id, visibility,
                      role, sender_name, content, platform, platform_message_id, off_record,
                      metadata, sent_at, created_at, edited_at)
SELECT :taker, id, conversation_id, position, agent_id, space_id, visibility,
       role, sender_name, content, platform, platform_message_id, off_record,
       metadata, sent_at, created_at, edited_at
  FROM moved
RETURNING id;

-- In the order in which erasures of others there lock conversations.
-- name: move_opened
WITH opened AS MATERIALIZED (
    SELECT id FROM conversations
     WHERE opened_by = :giver
       AND (CAST(:ids AS uuid[]) IS NULL OR id = ANY (CAST(:ids AS uuid[])))
     ORDER BY id
       FOR NO KEY UPDATE
)
UPDATE conversations AS c SET opened_by = :taker
  FROM opened AS o
 WHERE c.id = o.id
RETURNING c.id;

-- name: rejoin
INSERT INTO participants (user_id, conversation_id)
SELECT :taker, c.id FROM conversations AS c WHERE c.id = ANY (CAST(:ids AS uuid[]))
ON CONFLICT DO NOTHING;

-- A user with messages or summaries there stays a participant.
-- name: leave_unused
DELETE FROM participants AS p
 WHERE p.user_id = :giver
   AND p.conversation_id = ANY (CAST(:ids AS uuid[]))
   AND NOT EXISTS (SELECT FROM messages AS m
                    WHERE m.owner_id = p.user_id AND m.conversation_id = p.conversation_id)
   AND NOT EXISTS (SELECT FROM chunks AS c
                    WHERE c.owner_id = p.user_id AND c.conversation_id = p.conversation_id);
