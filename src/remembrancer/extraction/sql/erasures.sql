-- Summaries, deleted for good.

-- Everybody's summaries over messages of an owner.
--
-- Binds: owner_id, message_ids (null: all of the owner's).
-- name: erase_over
DELETE FROM chunks AS c
 USING (SELECT DISTINCT c.owner_id, c.id
          FROM chunks AS c
          JOIN messages AS m ON m.conversation_id = c.conversation_id
                            AND m.position BETWEEN c.range_start AND c.range_end
         WHERE m.owner_id = :owner_id
           AND (CAST(:message_ids AS uuid[]) IS NULL
                OR m.id = ANY (CAST(:message_ids AS uuid[])))) AS over
 WHERE c.owner_id = over.owner_id AND c.id = over.id
RETURNING c.owner_id, c.id;

-- name: erase_owner
DELETE FROM chunks WHERE owner_id = :owner_id RETURNING owner_id, id;
