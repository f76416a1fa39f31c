-- Replace the vectors of a model with those of another.

-- name: is_moving
SELECT FROM pg_publication WHERE pubname = 'remembrancer_move';

-- name: missing
-- The texts of the next items without a vector of the new model.
SELECT i.owner_id, i.id,
       coalesce(m.sender_name, '') AS speaker,
       coalesce(m.content, v.content, c.content, '') AS content
  FROM recall_items AS i
  LEFT JOIN reembeddings AS r ON r.owner_id = i.owner_id AND r.item_id = i.id
  LEFT JOIN messages AS m
    ON i.source_type = 'message' AND m.owner_id = i.owner_id AND m.id = i.source_id
  LEFT JOIN memory_versions AS v
    ON i.source_type = 'memory' AND v.owner_id = i.owner_id
   AND v.memory_id = i.memory_id AND v.version = i.memory_version
  LEFT JOIN chunks AS c
    ON i.source_type = 'chunk' AND c.owner_id = i.owner_id AND c.id = i.source_id
 WHERE r.item_id IS NULL AND (i.owner_id, i.id) > (CAST(:owner_id AS uuid), :item_id)
 ORDER BY i.owner_id, i.id
 LIMIT :batch;

-- name: progress
SELECT (SELECT count(*) FROM recall_items) AS items,
       (SELECT count(*) FROM reembeddings) AS done;

-- name: running
-- No row if nothing is under way.
SELECT (SELECT count(*) FROM recall_items) AS items,
       (SELECT count(*) FROM reembeddings) AS done
 WHERE EXISTS (SELECT FROM reembeddings);

-- name: add
-- Selected from the items: one that was erased meanwhile gets no vector.
INSERT INTO reembeddings (owner_id, item_id, model, embedding)
SELECT i.owner_id, i.id, :model, CAST(v.embedding AS halfvec)
  FROM unnest(CAST(:owners AS uuid[]), CAST(:ids AS bigint[]), CAST(:embeddings AS text[]))
       AS v (owner_id, id, embedding)
  JOIN recall_items AS i ON i.owner_id = v.owner_id AND i.id = v.id
   FOR KEY SHARE OF i
    ON CONFLICT DO NOTHING;

-- name: replace_vectors
UPDATE recall_items AS i
   SET embedding = r.embedding
  FROM reembeddings AS r
 WHERE r.owner_id = i.owner_id AND r.item_id = i.id;
