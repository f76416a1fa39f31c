-- What is stored already of the people in a transcript.

-- The memories nearest to messages, of their owners and in the messages' namespaces; in a space
-- those for every agent too. The vectors are those of the search items.
--
-- Binds: owners, messages, conversation_id (null: memories from any conversation), shared (memories
-- shared in the space too), count.
-- name: nearest
WITH said AS MATERIALIZED (
    SELECT owner_id, agent_id, space_id, embedding
      FROM recall_items
     WHERE owner_id = ANY (CAST(:owners AS uuid[]))
       AND source_type = 'message'
       AND source_id = ANY (CAST(:messages AS uuid[]))
),
near AS (
    SELECT s.owner_id, i.memory_id, min(i.embedding <=> s.embedding) AS distance
      FROM said AS s
      JOIN recall_items AS i
        ON i.owner_id = s.owner_id AND i.source_type = 'memory'
       AND i.active AND i.superseded_at IS NULL
       AND (i.agent_id IS NOT DISTINCT FROM s.agent_id
            OR (i.agent_id IS NULL AND i.space_id IS NOT NULL))
       AND i.space_id IS NOT DISTINCT FROM s.space_id
     GROUP BY s.owner_id, i.memory_id
),
ranked AS (
    SELECT m.owner_id, m.id, m.content,
           row_number() OVER (PARTITION BY n.owner_id ORDER BY n.distance, n.memory_id) AS rank
      FROM near AS n
      JOIN memories AS m ON m.owner_id = n.owner_id AND m.id = n.memory_id
     WHERE CAST(:conversation_id AS uuid) IS NULL OR m.conversation_id = :conversation_id
        OR (:shared AND m.visibility = 'shared')
)
SELECT owner_id, id, content FROM ranked WHERE rank <= :count ORDER BY owner_id, rank;

-- Versions of memories that these messages have given before, for each fact of their owner, and
-- whether the owner has forgotten that memory while it is similar to the fact.
--
-- Binds: messages, similarity, and an owner and vector for each fact.
-- name: given
WITH facts AS MATERIALIZED (
    SELECT owner_id, CAST(vector AS halfvec) AS vector, number
      FROM unnest(CAST(:owners AS uuid[]), CAST(:vectors AS text[]))
           WITH ORDINALITY AS f (owner_id, vector, number)
),
given AS MATERIALIZED (
    SELECT owner_id, memory_id FROM mentions
     WHERE owner_id = ANY (CAST(:owners AS uuid[]))
       AND message_id = ANY (CAST(:messages AS uuid[]))
     UNION
    SELECT owner_id, memory_id FROM memory_versions
     WHERE owner_id = ANY (CAST(:owners AS uuid[]))
       AND message_id = ANY (CAST(:messages AS uuid[]))
)
SELECT f.number - 1 AS number, v.content, v.valid_from,
       m.status = 'forgotten'
       AND coalesce(1 - (i.embedding <=> f.vector) >= :similarity, false) AS forgotten
  FROM facts AS f
  JOIN given AS g ON g.owner_id = f.owner_id
  JOIN memories AS m ON m.owner_id = g.owner_id AND m.id = g.memory_id
  JOIN memory_versions AS v ON v.owner_id = m.owner_id AND v.memory_id = m.id
  LEFT JOIN recall_items AS i ON i.owner_id = v.owner_id AND i.memory_id = v.memory_id
                             AND i.memory_version = v.version;

-- Facts, by their index, that are near the memory they replace.
--
-- Binds: similarity, and an owner, memory and vector for each fact.
-- name: replacing
SELECT f.number - 1 AS number
  FROM unnest(CAST(:owners AS uuid[]), CAST(:memories AS text[]), CAST(:vectors AS text[]))
       WITH ORDINALITY AS f (owner_id, memory_id, vector, number)
  JOIN recall_items AS i
    ON i.owner_id = f.owner_id AND i.memory_id = f.memory_id AND i.superseded_at IS NULL
 WHERE 1 - (i.embedding <=> CAST(f.vector AS halfvec)) >= :similarity;
