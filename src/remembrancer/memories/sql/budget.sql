-- The token budget of an owner. Pinned memories count and are never evicted. The order: inactive
-- ones first, then the least decayed importance, then the oldest; those written just now go last.

-- name: evict
WITH counted AS (
    SELECT m.id, m.status, m.pinned, m.tokens, m.created_at,
           m.id = ANY (CAST(:written AS text[])) AS written,
           /*[importance*/ m.importance /*]*/ AS decayed
      FROM memories AS m
     WHERE m.owner_id = :owner_id AND m.space_id IS NULL
       AND m.status IN ('active', 'inactive')
),
used AS MATERIALIZED (  -- or it is summed up again for every memory
    SELECT CAST(coalesce(sum(tokens), 0) AS bigint) AS tokens FROM counted
),
ranked AS (
    SELECT c.id, row_number() OVER eviction AS rank, sum(tokens) OVER eviction - tokens AS before
      FROM counted AS c
     WHERE NOT pinned
    WINDOW eviction AS (
           ORDER BY written, status = 'active', decayed, created_at, id
           ROWS UNBOUNDED PRECEDING)
)
SELECT r.id AS value
  FROM ranked AS r, used
 WHERE r.before < used.tokens - :budget
 ORDER BY r.rank;

-- name: used
SELECT CAST(coalesce(sum(tokens), 0) AS bigint) AS tokens,
       CAST(coalesce(sum(tokens) FILTER (WHERE pinned), 0) AS bigint) AS pinned
  FROM memories AS m
 WHERE m.owner_id = :owner_id AND m.space_id IS NULL AND m.status IN ('active', 'inactive');

-- name: candidates
WITH counted AS (
    SELECT m.id, m.kind, m.status, m.content, m.pinned, m.tokens, m.created_at,
           /*[importance*/ m.importance /*]*/ AS importance
      FROM memories AS m
     WHERE m.owner_id = :owner_id AND m.space_id IS NULL
       AND m.status IN ('active', 'inactive')
),
used AS MATERIALIZED (
    SELECT CAST(coalesce(sum(tokens), 0) AS bigint) AS tokens FROM counted
),
ranked AS (
    SELECT c.*, row_number() OVER eviction AS rank, sum(tokens) OVER eviction - tokens AS before
      FROM counted AS c
     WHERE NOT pinned
    WINDOW eviction AS (
           ORDER BY status = 'active', importance, created_at, id
           ROWS UNBOUNDED PRECEDING)
)
SELECT r.id, r.kind, r.status, r.content, r.tokens, r.importance, r.created_at
  FROM ranked AS r, used
 WHERE r.before < used.tokens + :adding - :budget
 ORDER BY r.rank;
