-- Memories deleted for good.

-- name: erase
WITH keys AS MATERIALIZED (
    SELECT * FROM unnest(CAST(:owners AS uuid[]), CAST(:ids AS text[])) AS k (owner_id, id)
),
erased_mentions AS (
    DELETE FROM mentions AS t USING keys AS k
     WHERE t.owner_id = k.owner_id AND t.memory_id = k.id
    RETURNING 1
),
erased_versions AS (
    DELETE FROM memory_versions AS t USING keys AS k
     WHERE t.owner_id = k.owner_id AND t.memory_id = k.id
    RETURNING 1
),
erased_memories AS (
    DELETE FROM memories AS t USING keys AS k
     WHERE t.owner_id = k.owner_id AND t.id = k.id
    RETURNING 1
)
SELECT (SELECT count(*) FROM erased_mentions) AS mentions,
       (SELECT count(*) FROM erased_versions) AS memory_versions,
       (SELECT count(*) FROM erased_memories) AS memories;
