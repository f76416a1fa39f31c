-- Memories whose versions or mentions cite messages that will be deleted.

-- name: owners
SELECT owner_id FROM mentions WHERE message_id = ANY (CAST(:messages AS uuid[]))
 UNION
SELECT owner_id FROM memory_versions WHERE message_id = ANY (CAST(:messages AS uuid[]));

-- name: lock
-- In the order in which others lock memories.
SELECT m.owner_id, m.id,
       EXISTS (SELECT FROM mentions AS n
                WHERE n.owner_id = m.owner_id AND n.memory_id = m.id
                  AND (n.message_id IS NULL OR n.message_id <> ALL (CAST(:messages AS uuid[]))))
       AS other_mentions,
       EXISTS (SELECT FROM memory_versions AS v
                WHERE v.owner_id = m.owner_id AND v.memory_id = m.id
                  AND (v.message_id IS NULL OR v.message_id <> ALL (CAST(:messages AS uuid[]))))
       AS other_versions
  FROM memories AS m
 WHERE (m.owner_id, m.id) IN (
       SELECT owner_id, memory_id FROM mentions WHERE message_id = ANY (CAST(:messages AS uuid[]))
        UNION
       SELECT owner_id, memory_id FROM memory_versions
        WHERE message_id = ANY (CAST(:messages AS uuid[])))
 ORDER BY m.owner_id, m.id
   FOR UPDATE OF m;

-- name: lock_with
-- The memories of an owner, and those that cite messages, in the same order.
SELECT m.owner_id, m.id
  FROM memories AS m
 WHERE (m.owner_id, m.id) IN (
       SELECT owner_id, id FROM memories WHERE owner_id = :owner_id
        UNION
       SELECT owner_id, memory_id FROM mentions WHERE message_id = ANY (CAST(:messages AS uuid[]))
        UNION
       SELECT owner_id, memory_id FROM memory_versions
        WHERE message_id = ANY (CAST(:messages AS uuid[])))
 ORDER BY m.owner_id, m.id
   FOR UPDATE OF m;

-- name: versions
SELECT v.owner_id, v.memory_id, v.version
  FROM unnest(CAST(:owners AS uuid[]), CAST(:ids AS text[])) AS k (owner_id, id)
  JOIN memory_versions AS v ON v.owner_id = k.owner_id AND v.memory_id = k.id
 WHERE v.message_id = ANY (CAST(:messages AS uuid[]));

-- name: delete_versions
DELETE FROM memory_versions AS v
 USING unnest(CAST(:owners AS uuid[]), CAST(:ids AS text[])) AS k (owner_id, id)
 WHERE v.owner_id = k.owner_id AND v.memory_id = k.id
   AND v.message_id = ANY (CAST(:messages AS uuid[]));

-- name: delete_superseded
DELETE FROM memory_versions AS v
 USING unnest(CAST(:owners AS uuid[]), CAST(:ids AS text[])) AS k (owner_id, id)
 WHERE v.owner_id = k.owner_id AND v.memory_id = k.id AND v.superseded_at < :before
RETURNING v.owner_id, v.memory_id, v.version;

-- name: fallbacks
-- The latest remaining version of each memory whose current one was deleted. Its item has the
-- interval that the version had before it was superseded.
SELECT DISTINCT ON (v.owner_id, v.memory_id)
       v.owner_id, v.memory_id AS id, v.version, v.content, v.valid_from,
       CASE WHEN i.id IS NULL THEN v.valid_to ELSE i.valid_to END AS valid_to,
       m.agent_id, m.space_id, m.status, m.place_id, m.address, m.external_id
  FROM unnest(CAST(:owners AS uuid[]), CAST(:ids AS text[])) AS k (owner_id, id)
  JOIN memories AS m ON m.owner_id = k.owner_id AND m.id = k.id
  JOIN memory_versions AS v ON v.owner_id = m.owner_id AND v.memory_id = m.id
  LEFT JOIN recall_items AS i ON i.owner_id = v.owner_id AND i.memory_id = v.memory_id
                             AND i.memory_version = v.version
 WHERE NOT EXISTS (
       SELECT FROM memory_versions AS current
        WHERE current.owner_id = m.owner_id AND current.memory_id = m.id
          AND current.version = m.version)
 ORDER BY v.owner_id, v.memory_id, v.version DESC;

-- name: repeats
-- Positions of the memories whose statement hash another active memory has.
SELECT k.position
  FROM unnest(CAST(:owners AS uuid[]), CAST(:ids AS text[]), CAST(:hashes AS bytea[]))
       WITH ORDINALITY AS k (owner_id, id, hash, position)
  JOIN memories AS m ON m.owner_id = k.owner_id AND m.id = k.id
 WHERE EXISTS (
       SELECT FROM memories AS other
        WHERE other.owner_id = m.owner_id AND other.id <> m.id AND other.status = 'active'
          AND other.content_hash = k.hash
          AND other.agent_id IS NOT DISTINCT FROM m.agent_id
          AND other.space_id IS NOT DISTINCT FROM m.space_id);

-- name: fall_back
-- Make a version the current one again.
WITH fallback AS (
    SELECT *
      FROM unnest(CAST(:owners AS uuid[]), CAST(:ids AS text[]), CAST(:versions AS int[]),
                  CAST(:hashes AS bytea[]), CAST(:statuses AS text[]),
                  CAST(:valid_tos AS timestamptz[]), CAST(:tokens AS int[]))
           AS f (owner_id, id, version, hash, status, valid_to, tokens)
),
changed AS (
    UPDATE memories AS m
       SET content = v.content, content_hash = f.hash, version = v.version, status = f.status,
           tokens = f.tokens, valid_from = v.valid_from, valid_to = f.valid_to,
           source = v.source, platform = v.platform, conversation_id = v.conversation_id,
           message_id = v.message_id, updated_at = now()
      FROM fallback AS f
      JOIN memory_versions AS v ON v.owner_id = f.owner_id AND v.memory_id = f.id
                               AND v.version = f.version
     WHERE m.owner_id = f.owner_id AND m.id = f.id
)
UPDATE memory_versions AS v
   SET superseded_at = NULL, valid_to = f.valid_to
  FROM fallback AS f
 WHERE v.owner_id = f.owner_id AND v.memory_id = f.id AND v.version = f.version;

-- name: delete_mentions
WITH deleted AS (
    DELETE FROM mentions WHERE message_id = ANY (CAST(:messages AS uuid[]))
    RETURNING owner_id, memory_id
),
counted AS (
    UPDATE memories AS m
       SET mention_count = m.mention_count - d.times
      FROM (SELECT owner_id, memory_id, count(*) AS times
              FROM deleted GROUP BY owner_id, memory_id) AS d
     WHERE m.owner_id = d.owner_id AND m.id = d.memory_id
)
SELECT count(*) FROM deleted;

-- name: remove_references
WITH memory_references AS (
    UPDATE memories AS m
       SET message_id = NULL
      FROM unnest(CAST(:owners AS uuid[]), CAST(:ids AS text[])) AS k (owner_id, id)
     WHERE m.owner_id = k.owner_id AND m.id = k.id
       AND m.message_id = ANY (CAST(:messages AS uuid[]))
)
UPDATE memory_versions AS v
   SET message_id = NULL
  FROM unnest(CAST(:owners AS uuid[]), CAST(:ids AS text[])) AS k (owner_id, id)
 WHERE v.owner_id = k.owner_id AND v.memory_id = k.id
   AND v.message_id = ANY (CAST(:messages AS uuid[]));

-- name: remove_conversation
WITH of_memories AS (
    UPDATE memories SET conversation_id = NULL
     WHERE owner_id = ANY (CAST(:owners AS uuid[])) AND conversation_id = :conversation_id
),
of_versions AS (
    UPDATE memory_versions SET conversation_id = NULL
     WHERE owner_id = ANY (CAST(:owners AS uuid[])) AND conversation_id = :conversation_id
)
UPDATE mentions SET conversation_id = NULL
 WHERE owner_id = ANY (CAST(:owners AS uuid[])) AND conversation_id = :conversation_id;
