-- Memories for a stable block that is not frozen yet, with their total: the reader's identity, then
-- the most important first.
-- In a group, shared knowledge and what is shared in the conversation's space.
--
-- Binds: user_id, agent_id, conversation_id, count.

-- name: candidates
WITH talk AS MATERIALIZED (
    /*[talk*/ SELECT false AS is_group, CAST(:user_id AS uuid) AS reader_id, CAST(:agent_id AS uuid) AS agent_id /*]*/
),

best AS MATERIALIZED (
    SELECT m.owner_id AS memory_owner_id, m.id AS memory_id, m.version, m.kind, m.category,
           m.subject, m.content, m.quoted,
           (m.owner_id = '00000000-0000-0000-0000-000000000000' OR m.visibility = 'shared') AS shared,
           m.mention_count AS mentions, m.created_at, m.space_id, m.pinned,
           (m.kind = 'identity' AND m.owner_id = :user_id) IS TRUE AS identity,
           /*[weight*/ m.importance /*]*/ AS weight, count(*) OVER () AS total
      FROM memories AS m
     WHERE /*[visible m*/ true /*]*/
       AND /*[told m*/ true /*]*/
       AND m.in_use
       AND (m.expires_at > now()) IS NOT FALSE
       AND (m.owner_id = '00000000-0000-0000-0000-000000000000' OR m.visibility = 'shared'
            OR NOT (SELECT is_group FROM talk))
       AND NOT EXISTS (
           SELECT FROM talk AS t
             JOIN frozen_contexts AS c ON c.owner_id = t.reader_id
                                      AND c.conversation_id = :conversation_id
                                      AND c.agent_id = t.agent_id)
     ORDER BY identity DESC, m.pinned DESC, weight DESC, m.created_at, m.id
     LIMIT :count
)

SELECT b.memory_owner_id, b.memory_id, b.version, b.kind, b.category, b.subject, b.content,
       b.shared, b.quoted, b.mentions,
       CASE WHEN b.kind = 'place' THEN (
           SELECT count(DISTINCT n.conversation_id)
             FROM mentions AS n
            WHERE n.owner_id = b.memory_owner_id AND n.memory_id = b.memory_id
       ) ELSE 0 END AS mentioned_in,
       b.created_at, b.space_id, b.total
  FROM best AS b
 ORDER BY b.identity DESC, b.pinned DESC, b.weight DESC, b.created_at, b.memory_id;
