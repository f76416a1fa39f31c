-- Old rows: how many, and the keys of the next batch. A batch goes on where the last one ended.

-- name: count_messages
SELECT count(*) AS count FROM messages WHERE created_at < :before;

-- The oldest messages of conversations, in the order of these. The messages of a conversation are
-- stored in their order, so the first one says whether any is old.
--
-- Binds: before, after (a conversation), most.
-- name: messages
SELECT m.conversation_id, m.id
  FROM conversations AS c
 CROSS JOIN LATERAL (
       SELECT created_at FROM messages
        WHERE conversation_id = c.id ORDER BY position LIMIT 1) AS first
 CROSS JOIN LATERAL (
       SELECT conversation_id, id, position FROM messages
        WHERE conversation_id = c.id AND created_at < :before
        ORDER BY position LIMIT :most) AS m
 WHERE c.id >= :after AND c.created_at < :before AND first.created_at < :before
 ORDER BY c.id, m.position
 LIMIT :most;

-- The age of a memory is written as its index has it. Row-level security lets no index be used for
-- coalesce.
-- name: count_memories
SELECT count(*) AS count
  FROM memories WHERE status = :status AND CASE WHEN forgotten_at IS NULL THEN updated_at ELSE forgotten_at END < :before;

-- Binds: status, before, after_owner, after_id, most.
-- name: memories
SELECT owner_id, id
  FROM memories
 WHERE status = :status AND CASE WHEN forgotten_at IS NULL THEN updated_at ELSE forgotten_at END < :before
   AND (owner_id, id) > (CAST(:after_owner AS uuid), CAST(:after_id AS text))
 ORDER BY owner_id, id
 LIMIT :most;

-- Memories of an owner that are still old, locked.
-- name: lock_memories
SELECT owner_id, id
  FROM memories
 WHERE owner_id = :owner_id AND id = ANY (CAST(:ids AS text[]))
   AND status = :status AND CASE WHEN forgotten_at IS NULL THEN updated_at ELSE forgotten_at END < :before
 ORDER BY owner_id, id
   FOR UPDATE;

-- name: count_versions
SELECT count(*) AS count FROM memory_versions WHERE superseded_at < :before;

-- Memories with old versions. Binds: before, after_owner, after_id, most.
-- name: versions
SELECT DISTINCT owner_id, memory_id AS id
  FROM memory_versions
 WHERE superseded_at < :before
   AND (owner_id, memory_id) > (CAST(:after_owner AS uuid), CAST(:after_id AS text))
 ORDER BY owner_id, memory_id
 LIMIT :most;

-- name: count_undo
SELECT count(*) AS count FROM undo_records WHERE created_at < :before;

-- name: count_usage
SELECT count(*) AS count FROM daily_usage WHERE day < CAST(:before AS date);

-- name: count_jobs
SELECT count(*) AS count
  FROM jobs.procrastinate_jobs AS j
 WHERE CAST(j.status AS text) = ANY (CAST(:statuses AS text[]))
   AND NOT EXISTS (SELECT FROM jobs.procrastinate_events AS e
                    WHERE e.job_id = j.id AND e.at >= :before);

-- name: count_sessions
SELECT count(*) AS count
  FROM (SELECT expires_at FROM sessions UNION ALL SELECT expires_at FROM sign_in_links) AS s
 WHERE expires_at <= now();

-- name: count_uploads
SELECT count(*) AS count
  FROM uploads WHERE created_at < :before AND status NOT IN ('checking', 'storing');

-- name: count_idempotency_keys
SELECT count(*) AS count FROM idempotency_keys WHERE created_at < :before;
