-- Summaries made anew: those over messages that changed, are gone, or are in recall again.

-- Empty everybody's summaries over messages, given by conversation and position.
--
-- Binds: conversations, positions (pairs).
-- name: empty
UPDATE chunks AS c
   SET content = '', stale = true
  FROM (SELECT DISTINCT c.owner_id, c.id
          FROM unnest(CAST(:conversations AS uuid[]), CAST(:positions AS int[]))
               AS m (conversation_id, position)
          JOIN participants AS p ON p.conversation_id = m.conversation_id
          JOIN chunks AS c ON c.owner_id = p.user_id
                          AND c.conversation_id = p.conversation_id
                          AND m.position BETWEEN c.range_start AND c.range_end) AS over
 WHERE c.owner_id = over.owner_id AND c.id = over.id
RETURNING c.owner_id, c.id, c.conversation_id;

-- name: enqueue
SELECT count(/*[enqueue c.id*/ c.id /*]*/)
  FROM unnest(CAST(:conversations AS uuid[])) AS c (id);

-- name: stale_ranges
SELECT DISTINCT range_start, range_end
  FROM chunks
 WHERE conversation_id = :conversation_id AND stale
 ORDER BY range_start;

-- Binds: conversation_id, range_start, range_end, content, readers (null: all who have a copy).
-- name: fill
UPDATE chunks
   SET content = :content, stale = false
 WHERE conversation_id = :conversation_id AND range_start = :range_start AND range_end = :range_end
   AND stale
   AND (CAST(:readers AS uuid[]) IS NULL OR owner_id = ANY (CAST(:readers AS uuid[])))
RETURNING *;

-- Edited messages of a range that no memory cites: an edit took those of the old words.
--
-- Binds: conversation_id, range_start, range_end.
-- name: edited
SELECT m.id
  FROM messages AS m
 WHERE m.conversation_id = :conversation_id AND m.position BETWEEN :range_start AND :range_end
   AND m.edited_at IS NOT NULL
   AND NOT EXISTS (SELECT FROM mentions AS n WHERE n.message_id = m.id);
