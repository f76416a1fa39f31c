-- What must be so in a whole store. Each statement returns the ids of rows where it is not.

-- name: positions_twice
SELECT conversation_id || ' at ' || position AS id
  FROM messages
 GROUP BY conversation_id, position
HAVING count(*) > 1;

-- name: positions_beyond
SELECT m.id::text AS id
  FROM messages AS m
  JOIN conversations AS c ON c.id = m.conversation_id
 WHERE m.position NOT BETWEEN 1 AND c.message_count;

-- name: summarised_beyond
SELECT id::text AS id
  FROM conversations
 WHERE summarised_to NOT BETWEEN 0 AND greatest(message_count - :window_size, 0);

-- name: chunks_overlap
SELECT c.id::text AS id
  FROM chunks AS c
  JOIN chunks AS o ON o.owner_id = c.owner_id AND o.conversation_id = c.conversation_id
                  AND o.id <> c.id
                  AND o.range_start BETWEEN c.range_start AND c.range_end;

-- name: chunks_beyond
SELECT h.id::text AS id
  FROM chunks AS h
  JOIN conversations AS c ON c.id = h.conversation_id
 WHERE h.range_start < 1 OR h.range_end > c.summarised_to;

-- name: chunks_stale
SELECT id::text AS id FROM chunks WHERE stale AND content <> '';

-- name: versions_current
SELECT m.id
  FROM memories AS m
  LEFT JOIN memory_versions AS v
    ON v.owner_id = m.owner_id AND v.memory_id = m.id AND v.version = m.version
 WHERE v.content IS DISTINCT FROM m.content OR v.superseded_at IS NOT NULL;

-- name: versions_open
SELECT DISTINCT v.memory_id AS id
  FROM memory_versions AS v
  JOIN memories AS m ON m.owner_id = v.owner_id AND m.id = v.memory_id
 WHERE v.version > m.version OR (v.version < m.version AND v.superseded_at IS NULL);

-- name: mention_counts
SELECT m.id
  FROM memories AS m
 WHERE m.mention_count <> (SELECT count(*) FROM mentions AS n
                            WHERE n.owner_id = m.owner_id AND n.memory_id = m.id);

-- Owners that are nobody, and users who were merged: what they had belongs to the survivor.
-- name: owners
SELECT o.what || ' of ' || o.owner_id AS id
  FROM (SELECT 'memories' AS what, owner_id FROM memories
        UNION SELECT 'messages', owner_id FROM messages
        UNION SELECT 'summaries', owner_id FROM chunks
        UNION SELECT 'search entries', owner_id FROM recall_items
        UNION SELECT 'associations', owner_id FROM associations
        UNION SELECT 'participants', user_id FROM participants
        UNION SELECT 'space members', user_id FROM space_members
        UNION SELECT 'preferences', user_id FROM memory_preferences) AS o
  LEFT JOIN users AS u ON u.id = o.owner_id
 WHERE o.owner_id <> '00000000-0000-0000-0000-000000000000'
   AND (u.id IS NULL OR u.merged_into IS NOT NULL);

-- name: survivors
SELECT u.id::text AS id
  FROM users AS u
  LEFT JOIN users AS s ON s.id = u.merged_into
 WHERE u.merged_into IS NOT NULL AND (s.id IS NULL OR s.merged_into IS NOT NULL);

-- name: shared_nowhere
SELECT 'memory ' || id AS id FROM memories WHERE visibility = 'shared' AND space_id IS NULL
UNION ALL
SELECT 'message ' || id FROM messages WHERE visibility = 'shared' AND space_id IS NULL
UNION ALL
SELECT 'summary ' || id FROM chunks WHERE visibility = 'shared' AND space_id IS NULL;

-- References without a foreign key.
-- name: orphans
SELECT 'participant of conversation ' || p.conversation_id AS id
  FROM participants AS p
 WHERE NOT EXISTS (SELECT FROM conversations AS c WHERE c.id = p.conversation_id)
UNION ALL
SELECT 'association of memory ' || a.memory_id
  FROM associations AS a
 WHERE NOT EXISTS (SELECT FROM memories AS m
                    WHERE m.owner_id = a.target_owner_id AND m.id = a.target_id)
UNION ALL
SELECT 'frozen context of conversation ' || f.conversation_id
  FROM frozen_contexts AS f
 WHERE NOT EXISTS (SELECT FROM conversations AS c WHERE c.id = f.conversation_id)
UNION ALL
SELECT 'memory ' || m.id || ' of a space'
  FROM memories AS m
 WHERE m.space_id IS NOT NULL AND m.status <> 'forgotten'
   AND NOT EXISTS (SELECT FROM spaces AS s WHERE s.id = m.space_id)
UNION ALL
SELECT 'conversation ' || c.id || ' of a space'
  FROM conversations AS c
 WHERE c.space_id IS NOT NULL AND NOT EXISTS (SELECT FROM spaces AS s WHERE s.id = c.space_id)
UNION ALL
SELECT 'memory ' || m.id || ' of an agent'
  FROM memories AS m
 WHERE m.agent_id IS NOT NULL AND NOT EXISTS (SELECT FROM agents AS a WHERE a.id = m.agent_id)
UNION ALL
SELECT 'conversation ' || c.id || ' of an agent'
  FROM conversations AS c
 WHERE c.agent_id IS NOT NULL AND NOT EXISTS (SELECT FROM agents AS a WHERE a.id = c.agent_id);

-- name: items_without_source
SELECT i.id::text AS id
  FROM recall_items AS i
 WHERE CASE i.source_type
       WHEN 'memory' THEN NOT EXISTS (
            SELECT FROM memory_versions AS v
             WHERE v.owner_id = i.owner_id AND v.memory_id = i.memory_id
               AND v.version = i.memory_version)
       WHEN 'message' THEN NOT EXISTS (
            SELECT FROM messages AS m WHERE m.owner_id = i.owner_id AND m.id = i.source_id)
       ELSE NOT EXISTS (
            SELECT FROM chunks AS c WHERE c.owner_id = i.owner_id AND c.id = i.source_id)
       END;

-- Binds: blank, the characters of which a message may consist without being searched.
-- name: sources_without_item
SELECT 'memory ' || m.id AS id
  FROM memories AS m
 WHERE NOT EXISTS (SELECT FROM recall_items AS i
                    WHERE i.owner_id = m.owner_id AND i.memory_id = m.id
                      AND i.memory_version = m.version AND i.superseded_at IS NULL)
UNION ALL
SELECT 'message ' || m.id
  FROM messages AS m
 WHERE m.role IN ('user', 'assistant') AND NOT m.off_record AND btrim(m.content, :blank) <> ''
   AND NOT EXISTS (SELECT FROM recall_items AS i
                    WHERE i.owner_id = m.owner_id AND i.source_id = m.id)
UNION ALL
SELECT 'summary ' || c.id
  FROM chunks AS c
 WHERE c.content <> '' AND NOT c.stale
   AND NOT EXISTS (SELECT FROM recall_items AS i
                    WHERE i.owner_id = c.owner_id AND i.source_id = c.id);

-- name: items_twice
SELECT min(i.id)::text AS id
  FROM recall_items AS i
 GROUP BY i.owner_id, i.source_type, i.memory_id, i.memory_version, i.source_id
HAVING count(*) > 1;

-- The columns that recall filters by are copies, of the current version where there are several.
-- name: items_of_memories
SELECT i.id::text AS id
  FROM recall_items AS i
  JOIN memories AS m ON m.owner_id = i.owner_id AND m.id = i.memory_id
 WHERE i.source_type = 'memory'
   AND ((i.active, i.agent_id, i.space_id, i.visibility)
        IS DISTINCT FROM (m.in_use, m.agent_id, m.space_id, m.visibility)
        OR (i.superseded_at IS NULL) <> (i.memory_version = m.version)
        OR (i.memory_version = m.version
            AND (i.kind, i.category, i.importance, i.valid_from, i.valid_to)
                IS DISTINCT FROM (m.kind, m.category, m.importance, m.valid_from, m.valid_to)));

-- name: items_of_messages
SELECT i.id::text AS id
  FROM recall_items AS i
  JOIN messages AS m ON m.owner_id = i.owner_id AND m.id = i.source_id
 WHERE i.source_type = 'message'
   AND ((i.agent_id, i.space_id, i.visibility, i.conversation_id, i.position)
        IS DISTINCT FROM (m.agent_id, m.space_id, m.visibility, m.conversation_id, m.position)
        OR i.active = EXISTS (SELECT FROM withheld_messages AS w
                               WHERE w.owner_id = m.owner_id AND w.message_id = m.id)
        OR m.off_record);

-- name: items_of_chunks
SELECT i.id::text AS id
  FROM recall_items AS i
  JOIN chunks AS c ON c.owner_id = i.owner_id AND c.id = i.source_id
 WHERE i.source_type = 'chunk'
   AND ((i.agent_id, i.space_id, i.visibility, i.conversation_id)
        IS DISTINCT FROM (c.agent_id, c.space_id, c.visibility, c.conversation_id)
        OR c.stale);

-- name: vectors
SELECT i.id::text AS id
  FROM recall_items AS i
  LEFT JOIN embedding_model AS e ON true
 WHERE vector_dims(i.embedding) IS DISTINCT FROM e.dimensions;

-- name: postings
SELECT DISTINCT coalesce(t.item_id, p.item_id)::text AS id
  FROM (SELECT i.owner_id, i.id AS item_id, w.term COLLATE "C" AS term, count(*) AS frequency
          FROM recall_items AS i
         CROSS JOIN LATERAL string_to_table(i.terms, ' ') AS w (term)
         WHERE i.terms <> ''
         GROUP BY 1, 2, 3) AS t
  FULL JOIN postings AS p
    ON p.owner_id = t.owner_id AND p.item_id = t.item_id AND p.term = t.term
 WHERE t.frequency IS DISTINCT FROM p.frequency;

-- name: shared_postings
SELECT DISTINCT i.id::text AS id
  FROM recall_items AS i
  JOIN postings AS p ON p.owner_id = i.owner_id AND p.item_id = i.id
 WHERE p.shared_space_id IS DISTINCT FROM CASE WHEN i.visibility = 'shared' THEN i.space_id END;

-- name: shared_associations
SELECT DISTINCT a.memory_id AS id
  FROM associations AS a
  JOIN memories AS m ON m.owner_id = a.owner_id AND m.id = a.memory_id
 WHERE a.shared_space_id IS DISTINCT FROM CASE WHEN m.visibility = 'shared' THEN m.space_id END;

-- name: item_changes
SELECT DISTINCT i.owner_id::text AS id
  FROM recall_items AS i
 WHERE NOT EXISTS (SELECT FROM item_changes AS c WHERE c.owner_id = i.owner_id);

-- name: memory_count
SELECT count(*) AS count FROM memories;

-- name: item_count
SELECT count(*) AS count FROM recall_items;

-- name: next_memories
SELECT owner_id, id, content, content_hash, tokens, subject, subject_key, valid_from, valid_to,
       place_id, address, external_id
  FROM memories
 WHERE (owner_id, id) > (CAST(:owner_id AS uuid), CAST(:id AS text))
 ORDER BY owner_id, id
 LIMIT :batch;

-- name: next_items
SELECT i.owner_id, i.id, i.content_hash, i.traits, i.terms, i.length,
       coalesce(m.sender_name, '') AS speaker,
       coalesce(m.content, v.content, c.content) AS content
  FROM recall_items AS i
  LEFT JOIN messages AS m
    ON i.source_type = 'message' AND m.owner_id = i.owner_id AND m.id = i.source_id
  LEFT JOIN memory_versions AS v
    ON i.source_type = 'memory' AND v.owner_id = i.owner_id
   AND v.memory_id = i.memory_id AND v.version = i.memory_version
  LEFT JOIN chunks AS c
    ON i.source_type = 'chunk' AND c.owner_id = i.owner_id AND c.id = i.source_id
 WHERE (i.owner_id, i.id) > (CAST(:owner_id AS uuid), CAST(:id AS bigint))
 ORDER BY i.owner_id, i.id
 LIMIT :batch;
