-- Sources that an imported document cites.

-- name: of_others
-- Which of these ids are conversations without the user, or messages in such a conversation.
-- Messages have no index by id alone; an import is rare, and this is one scan.
SELECT c.id
  FROM conversations AS c
 WHERE c.id = ANY (CAST(:ids AS uuid[]))
   AND NOT EXISTS (SELECT FROM participants AS p
                    WHERE p.conversation_id = c.id AND p.user_id = :user_id)
 UNION ALL
SELECT m.id
  FROM messages AS m
 WHERE m.id = ANY (CAST(:ids AS uuid[]))
   AND NOT EXISTS (SELECT FROM participants AS p
                    WHERE p.conversation_id = m.conversation_id AND p.user_id = :user_id);
