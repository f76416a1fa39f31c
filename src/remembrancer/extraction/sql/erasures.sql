-- Summaries, deleted for good.

-- Everybody's summaries over messages of an owner.
-- name: erase_over
DELETE FROM chunks AS c
 USING (SELECT DISTINCT c.owner_id, c.id
          FROM chunks AS c
          JOIN messages AS m ON m.conversation_id = c.conversation_id
                            AND m.position BETWEEN c.range_start AND c.range_end
         WHERE m.owner_id = :owner_id) AS over
 WHERE c.owner_id = over.owner_id AND c.id = over.id
RETURNING c.owner_id, c.id;

-- Everybody's summaries over messages, given by conversation and position, without any left.
-- name: erase_unsourced
DELETE FROM chunks AS c
 USING (SELECT DISTINCT c.owner_id, c.id
          FROM unnest(CAST(:conversations AS uuid[]), CAST(:positions AS int[]))
               AS m (conversation_id, position)
          JOIN participants AS p ON p.conversation_id = m.conversation_id
          JOIN chunks AS c ON c.owner_id = p.user_id
                          AND c.conversation_id = p.conversation_id
                          AND m.position BETWEEN c.range_start AND c.range_end
         WHERE NOT EXISTS (SELECT FROM messages AS s
                            WHERE s.conversation_id = c.conversation_id
                              AND s.position BETWEEN c.range_start AND c.range_end)) AS over
 WHERE c.owner_id = over.owner_id AND c.id = over.id
RETURNING c.owner_id, c.id;

-- name: erase_owner
DELETE FROM chunks WHERE owner_id = :owner_id RETURNING owner_id, id;

-- name: erase_conversation
DELETE FROM chunks AS c
 USING participants AS p
 WHERE p.conversation_id = :conversation_id
   AND c.owner_id = p.user_id AND c.conversation_id = p.conversation_id
RETURNING c.owner_id, c.id;
