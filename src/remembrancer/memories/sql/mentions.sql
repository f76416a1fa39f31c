-- Mentions of memories. Each statement updates memories.mention_count too.

-- name: add
INSERT INTO mentions (owner_id, memory_id, id, wording, agent_id, source, platform,
                      conversation_id, message_id, mentioned_at)
SELECT owner_id, memory_id, id, wording, agent_id, source, platform,
       conversation_id, message_id, mentioned_at
  FROM jsonb_populate_recordset(CAST(NULL AS mentions), CAST(:mentions AS jsonb));

-- name: count
-- Rows are locked in order, against deadlocks with the counts of accesses. A mention makes a memory
-- expire later, never earlier; one that has expired is remembered anew.
WITH repeated AS MATERIALIZED (
    SELECT m.id, r.times, r.expires_at
      FROM (SELECT id, count(*) AS times, max(expires_at) AS expires_at
              FROM unnest(CAST(:repeated AS text[]), CAST(:expiries AS timestamptz[]))
                   AS u (id, expires_at)
             GROUP BY id) AS r
      JOIN memories AS m ON m.owner_id = :owner_id AND m.id = r.id
     ORDER BY m.id
       FOR NO KEY UPDATE OF m
)
UPDATE memories AS m
   SET mention_count = m.mention_count + r.times,
       expires_at = CASE WHEN m.expires_at > now() THEN greatest(m.expires_at, r.expires_at)
                         WHEN m.expires_at IS NOT NULL THEN r.expires_at
                    END
  FROM repeated AS r
 WHERE m.owner_id = :owner_id AND m.id = r.id;

-- name: drop_same_wording
UPDATE mentions AS n
   SET wording = NULL
  FROM memories AS m
 WHERE n.owner_id = :owner_id AND n.id = ANY (CAST(:ids AS uuid[]))
   AND m.owner_id = n.owner_id AND m.id = n.memory_id AND m.content = n.wording;

-- name: repeat
-- A mention at the same time through the same agent is the same mention: a second copy adds
-- nothing. The wording is set if the two memories have different words.
WITH pairs AS (
    SELECT *
      FROM unnest(CAST(:repeats AS text[]), CAST(:originals AS text[])) AS p (repeat, original)
),
added AS (
    INSERT INTO mentions (owner_id, memory_id, id, wording, agent_id, source, platform,
                          conversation_id, message_id, mentioned_at)
    SELECT n.owner_id, p.original, gen_random_uuid(),
           nullif(coalesce(n.wording, twin.content), original.content),
           n.agent_id, n.source, n.platform, n.conversation_id, n.message_id, n.mentioned_at
      FROM pairs AS p
      JOIN mentions AS n ON n.owner_id = :owner_id AND n.memory_id = p.repeat
      JOIN memories AS twin ON twin.owner_id = :owner_id AND twin.id = p.repeat
      JOIN memories AS original ON original.owner_id = :owner_id AND original.id = p.original
     WHERE NOT EXISTS (
           SELECT FROM mentions AS same
            WHERE same.owner_id = :owner_id AND same.memory_id = p.original
              AND same.mentioned_at = n.mentioned_at
              AND same.agent_id IS NOT DISTINCT FROM n.agent_id
              AND same.message_id IS NOT DISTINCT FROM n.message_id)
    RETURNING memory_id, id
),
counted AS (
    UPDATE memories AS m
       SET mention_count = m.mention_count + a.times
      FROM (SELECT memory_id, count(*) AS times FROM added GROUP BY memory_id) AS a
     WHERE m.owner_id = :owner_id AND m.id = a.memory_id
)
SELECT id FROM added;

-- name: take_back
WITH removed AS (
    DELETE FROM mentions
     WHERE owner_id = :owner_id AND id = ANY (CAST(:ids AS uuid[]))
    RETURNING memory_id
)
UPDATE memories AS m
   SET mention_count = m.mention_count - r.times
  FROM (SELECT memory_id, count(*) AS times FROM removed GROUP BY memory_id) AS r
 WHERE m.owner_id = :owner_id AND m.id = r.memory_id;
