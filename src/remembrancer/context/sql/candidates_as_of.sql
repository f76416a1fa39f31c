-- Memories for the stable block of a past time, outside of conversations and
-- spaces: those active now, in the
-- versions known and valid then. The reader's identity comes first, then the most important.
--
-- Binds: user_id, agent_id, as_of, count.

-- name: candidates_as_of
WITH best AS MATERIALIZED (
    SELECT m.owner_id AS memory_owner_id, m.id AS memory_id, v.version, m.kind, m.category,
           m.subject, v.content,
           (m.owner_id = '00000000-0000-0000-0000-000000000000' OR m.visibility = 'shared') AS shared,
           m.created_at, m.space_id, m.pinned,
           (m.kind = 'identity' AND m.owner_id = :user_id) IS TRUE AS identity,
           /*[weight_then*/ m.importance /*]*/ AS weight, count(*) OVER () AS total
      FROM memories AS m
      JOIN memory_versions AS v ON v.owner_id = m.owner_id
                               AND v.memory_id = m.id
                               AND v.recorded_at <= :as_of
                               AND (v.superseded_at IS NULL OR v.superseded_at > :as_of)
                               AND (v.valid_from IS NULL OR v.valid_from <= :as_of)
                               AND (v.valid_to IS NULL OR v.valid_to > :as_of)
     WHERE /*[visible m*/ true /*]*/
       AND m.space_id IS NULL
       AND m.in_use
       AND (m.expires_at > now()) IS NOT FALSE
     ORDER BY identity DESC, m.pinned DESC, weight DESC, m.created_at, m.id
     LIMIT :count
)

SELECT b.memory_owner_id, b.memory_id, b.version, b.kind, b.category, b.subject, b.content,
       b.shared, CAST(NULL AS boolean) AS quoted, n.mentions, n.mentioned_in, b.created_at, b.space_id,
       b.total
  FROM best AS b
 CROSS JOIN LATERAL (
       SELECT count(*) AS mentions, count(DISTINCT n.conversation_id) AS mentioned_in
         FROM mentions AS n
        WHERE n.owner_id = b.memory_owner_id
          AND n.memory_id = b.memory_id
          AND n.mentioned_at <= :as_of
       ) AS n
 ORDER BY b.identity DESC, b.pinned DESC, b.weight DESC, b.created_at, b.memory_id;
