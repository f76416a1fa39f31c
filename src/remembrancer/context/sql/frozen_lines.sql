-- The lines of frozen blocks.

-- name: add
-- Only of memories that exist, and each is held until its line is stored: an erasure then either
-- finds the line or leaves no memory for it.
INSERT INTO frozen_lines (owner_id, conversation_id, agent_id, position, memory_owner_id,
                          memory_id, version, kind, category, subject, shared, quoted,
                          mentions, mentioned_in, created_at)
SELECT :owner_id, :conversation_id, :agent_id, l.position, l.memory_owner_id,
       l.memory_id, l.version, l.kind, l.category, l.subject, l.shared, l.quoted,
       l.mentions, l.mentioned_in, l.created_at
  FROM (SELECT l.*
          FROM jsonb_populate_recordset(CAST(NULL AS frozen_lines), CAST(:lines AS jsonb)) AS l
          JOIN memories AS m ON m.owner_id = l.memory_owner_id AND m.id = l.memory_id
         ORDER BY m.owner_id, m.id
           FOR KEY SHARE OF m) AS l;

-- name: drop_moved
DELETE FROM frozen_lines AS l
 WHERE l.memory_owner_id IN (:giver, :taker)
   AND NOT EXISTS (
       SELECT FROM memories AS m WHERE m.owner_id = l.memory_owner_id AND m.id = l.memory_id);

-- name: erase
DELETE FROM frozen_lines AS l
 USING unnest(CAST(:owners AS uuid[]), CAST(:ids AS text[])) AS k (owner_id, id)
 WHERE l.memory_owner_id = k.owner_id AND l.memory_id = k.id;
