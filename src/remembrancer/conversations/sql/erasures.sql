-- Conversations and messages of a user, deleted for good.

-- name: leave
DELETE FROM participants WHERE user_id = :user_id RETURNING conversation_id;

-- name: erase_empty
DELETE FROM conversations AS c
 WHERE c.id = ANY (CAST(:ids AS uuid[]))
   AND NOT EXISTS (SELECT FROM participants AS p WHERE p.conversation_id = c.id)
RETURNING c.id;

-- name: erase_messages
DELETE FROM messages
 WHERE owner_id = :owner_id
   AND (CAST(:ids AS uuid[]) IS NULL OR id = ANY (CAST(:ids AS uuid[])));

-- The foreign keys of messages are checked at the end of the statement.
-- name: erase_conversation
WITH erased_messages AS (
    DELETE FROM messages WHERE conversation_id = :id RETURNING 1
),
left_participants AS (
    DELETE FROM participants WHERE conversation_id = :id RETURNING 1
),
erased AS (
    DELETE FROM conversations WHERE id = :id RETURNING 1
)
SELECT (SELECT count(*) FROM erased_messages) AS messages,
       (SELECT count(*) FROM left_participants) AS participants,
       (SELECT count(*) FROM erased) AS conversations;
