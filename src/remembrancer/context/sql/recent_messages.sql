-- The latest messages of a user in other conversations.
--
-- Binds: user_id, agent_id, conversation_id, count.

-- name: recent_messages
WITH talk AS MATERIALIZED (
    SELECT t.space_id FROM app_conversation(CAST(:conversation_id AS uuid)) AS t
)
SELECT m.id, m.content, m.sent_at, m.space_id
  FROM messages AS m
 WHERE m.owner_id = :user_id
   AND /*[visible m*/ true /*]*/
   AND /*[told m*/ true /*]*/
   AND m.role = 'user'
   AND NOT m.off_record
   AND NOT EXISTS (SELECT FROM withheld_messages AS w
                    WHERE w.owner_id = m.owner_id AND w.message_id = m.id)
   AND m.conversation_id IS DISTINCT FROM :conversation_id
 ORDER BY m.sent_at DESC, m.id
 LIMIT :count;
