-- name: mentions
-- The latest mentions of each place, by time: the order of ids is not that of the writers.
SELECT p.owner_id, p.id AS memory_id, n.conversation_id, n.message_id, n.mentioned_at
  FROM unnest(CAST(:owners AS uuid[]), CAST(:ids AS text[])) AS p (owner_id, id)
 CROSS JOIN LATERAL (
       SELECT *
         FROM mentions
        WHERE owner_id = p.owner_id AND memory_id = p.id
        ORDER BY mentioned_at DESC, mentions.id DESC
        LIMIT :most
 ) AS n
 ORDER BY p.owner_id, p.id, n.mentioned_at, n.id;
