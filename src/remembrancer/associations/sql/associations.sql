-- Associations between memories. An association belongs to the owner of its first memory.

-- The owners of visible active memories by id; if two have the same id, the actor first.
-- name: owners
SELECT DISTINCT ON (m.id) m.id, m.owner_id
  FROM memories AS m
 WHERE m.id = ANY (CAST(:ids AS text[]))
   AND m.status = 'active'
   AND /*[visible m*/ true /*]*/
 ORDER BY m.id, (m.owner_id = :user_id) DESC, m.owner_id;

-- Add associations, or set their weights. An association is shared in the space in which its
-- first memory is.
-- name: set
INSERT INTO associations AS a (owner_id, memory_id, target_owner_id, target_id, relation,
                               weight, shared_space_id)
SELECT new.owner_id, new.memory_id, new.target_owner_id, new.target_id, new.relation, new.weight,
       CASE WHEN m.visibility = 'shared' THEN m.space_id END
  FROM unnest(CAST(:owner_ids AS uuid[]), CAST(:memory_ids AS text[]),
              CAST(:target_owner_ids AS uuid[]), CAST(:target_ids AS text[]),
              CAST(:relations AS text[]), CAST(:weights AS float8[]))
       AS new (owner_id, memory_id, target_owner_id, target_id, relation, weight)
  JOIN memories AS m ON m.owner_id = new.owner_id AND m.id = new.memory_id
    ON CONFLICT (owner_id, memory_id, target_owner_id, target_id, relation) DO UPDATE
   SET weight = excluded.weight,
       shared_space_id = excluded.shared_space_id,
       updated_at = CASE WHEN a.weight = excluded.weight THEN a.updated_at
                         ELSE excluded.updated_at END
RETURNING a.*;

-- The associations of a visible memory with other visible memories, the strongest first.
-- name: page
SELECT *
  FROM (
       SELECT a.*
         FROM associations AS a
         JOIN memories AS m ON m.owner_id = a.target_owner_id AND m.id = a.target_id
        WHERE a.owner_id = :owner_id AND a.memory_id = :memory_id
          AND m.status = 'active' AND /*[visible m*/ true /*]*/
       UNION ALL
       SELECT a.*
         FROM associations AS a
         JOIN memories AS m ON m.owner_id = a.owner_id AND m.id = a.memory_id
        WHERE a.target_owner_id = :owner_id AND a.target_id = :memory_id
          AND m.status = 'active' AND /*[visible m*/ true /*]*/
       ) AS a
 WHERE CAST(:weight AS float8) IS NULL
    OR (weight, owner_id, memory_id, target_owner_id, target_id, relation) < (
       CAST(:weight AS float8), CAST(:after_owner_id AS uuid), CAST(:after_memory_id AS text),
       CAST(:after_target_owner_id AS uuid), CAST(:after_target_id AS text),
       CAST(:after_relation AS text))
 ORDER BY weight DESC, owner_id DESC, memory_id DESC, target_owner_id DESC, target_id DESC,
       relation DESC
 LIMIT :count;

-- The visible memories one step away from each node, by its `most` strongest associations in each
-- direction. The look-ups follow the weights and stop at `most`.
-- name: neighbours
SELECT n.owner_id AS from_owner_id, n.memory_id AS from_id, neighbour.*
  FROM unnest(CAST(:owners AS uuid[]), CAST(:ids AS text[]))
       AS n (owner_id, memory_id)
 CROSS JOIN LATERAL (
       (SELECT a.weight, true AS outgoing, m.*
          FROM (SELECT weight, target_owner_id AS other_owner_id, target_id AS other_id, relation
                  FROM associations
                 WHERE owner_id = n.owner_id AND memory_id = n.memory_id
                 ORDER BY weight DESC, other_owner_id DESC, other_id DESC, relation DESC
                OFFSET 0) AS a
         CROSS JOIN LATERAL (
               SELECT m.owner_id, m.id, m.kind, m.category, m.subject, m.content, m.importance
                 FROM memories AS m
                WHERE m.owner_id = a.other_owner_id AND m.id = a.other_id
                  AND m.status = 'active' AND /*[visible m*/ true /*]*/
               OFFSET 0
         ) AS m
         ORDER BY a.weight DESC, a.other_owner_id DESC, a.other_id DESC, a.relation DESC
         LIMIT :most)
       UNION ALL
       (SELECT a.weight, false, m.*
          FROM (SELECT weight, owner_id AS other_owner_id, memory_id AS other_id, relation
                  FROM associations
                 WHERE target_owner_id = n.owner_id AND target_id = n.memory_id
                 ORDER BY weight DESC, other_owner_id DESC, other_id DESC, relation DESC
                OFFSET 0) AS a
         CROSS JOIN LATERAL (
               SELECT m.owner_id, m.id, m.kind, m.category, m.subject, m.content, m.importance
                 FROM memories AS m
                WHERE m.owner_id = a.other_owner_id AND m.id = a.other_id
                  AND m.status = 'active' AND /*[visible m*/ true /*]*/
               OFFSET 0
         ) AS m
         ORDER BY a.weight DESC, a.other_owner_id DESC, a.other_id DESC, a.relation DESC
         LIMIT :most)
       ) AS neighbour;

-- The associations between visible memories, the strongest first.
-- name: between
WITH nodes AS MATERIALIZED (
    SELECT *
      FROM unnest(CAST(:owners AS uuid[]), CAST(:ids AS text[]))
           AS n (owner_id, memory_id)
)
SELECT a.*
  FROM nodes AS source
 CROSS JOIN nodes AS target
  JOIN associations AS a
    ON a.owner_id = source.owner_id AND a.memory_id = source.memory_id
   AND a.target_owner_id = target.owner_id AND a.target_id = target.memory_id
 ORDER BY a.weight DESC, a.owner_id DESC, a.memory_id DESC, a.target_owner_id DESC,
       a.target_id DESC, a.relation DESC;

-- For each memory, the nearest visible ones of the same owner, and the latest on the same subject,
-- without an association.
-- name: similar
WITH given AS MATERIALIZED (
    SELECT i.memory_id, i.embedding, i.recorded_at, m.kind, m.subject_key, m.content
      FROM recall_items AS i
      JOIN memories AS m ON m.owner_id = i.owner_id AND m.id = i.memory_id
     WHERE i.owner_id = :owner_id
       AND i.memory_id = ANY (CAST(:ids AS text[]))
       AND i.active
       AND i.superseded_at IS NULL
)
SELECT given.memory_id, given.content, near.memory_id AS target_id,
       m.content AS target_content, near.similarity,
       given.subject_key = m.subject_key AND given.kind = m.kind AS same_subject,
       given.recorded_at > near.recorded_at AS later
  FROM given
 CROSS JOIN LATERAL (
       (SELECT i.memory_id, i.recorded_at, 1 - (i.embedding <=> given.embedding) AS similarity
          FROM recall_items AS i
         WHERE i.owner_id = :owner_id
           AND i.source_type = 'memory'
           AND i.active
           AND i.superseded_at IS NULL
           AND 1 - (i.embedding <=> given.embedding) >= :least
           AND i.memory_id <> given.memory_id
           AND /*[visible i*/ true /*]*/
         ORDER BY i.embedding <=> given.embedding, i.id
         LIMIT :count)
       UNION
       (SELECT i.memory_id, i.recorded_at, 1 - (i.embedding <=> given.embedding)
          FROM memories AS other
          JOIN recall_items AS i ON i.owner_id = other.owner_id AND i.memory_id = other.id
         WHERE other.owner_id = :owner_id
           AND other.subject_key = given.subject_key
           AND other.kind = given.kind
           AND other.id <> given.memory_id
           AND i.active
           AND i.superseded_at IS NULL
           AND /*[visible i*/ true /*]*/
         ORDER BY i.recorded_at DESC, i.id
         LIMIT :count)
       ) AS near
 CROSS JOIN LATERAL (
       -- After the search: OFFSET keeps it from being made anew for each memory of the owner.
       SELECT m.subject_key, m.kind, m.content
         FROM memories AS m
        WHERE m.owner_id = :owner_id AND m.id = near.memory_id
       OFFSET 0
       ) AS m
 WHERE NOT EXISTS (
       SELECT FROM associations AS a
        WHERE a.owner_id = :owner_id AND a.memory_id = given.memory_id
          AND a.target_owner_id = :owner_id AND a.target_id = near.memory_id)
   AND NOT EXISTS (
       SELECT FROM associations AS a
        WHERE a.owner_id = :owner_id AND a.memory_id = near.memory_id
          AND a.target_owner_id = :owner_id AND a.target_id = given.memory_id)
 ORDER BY given.memory_id, near.similarity DESC, near.memory_id;

-- The associations from and to memories.
-- name: erase
DELETE FROM associations AS a
 USING unnest(CAST(:owners AS uuid[]), CAST(:ids AS text[])) AS k (owner_id, id)
 WHERE (a.owner_id = k.owner_id AND a.memory_id = k.id)
    OR (a.target_owner_id = k.owner_id AND a.target_id = k.id);
