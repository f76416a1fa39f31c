-- What is weighty of the person who speaks in a group, or has just joined one.
--
-- Binds: user_id, agent_id, conversation_id, joined, least, count.

-- name: speaker
WITH talk AS MATERIALIZED (
    SELECT coalesce(cardinality(t.participants) > 1, false) AS is_group
      FROM app_conversation(CAST(:conversation_id AS uuid)) AS t
)
SELECT m.id AS memory_id, m.kind, m.category, m.subject, m.content,
       (m.owner_id = '00000000-0000-0000-0000-000000000000' OR m.visibility = 'shared') AS shared,
       m.mention_count AS mentions, 0 AS mentioned_in, m.created_at
  FROM memories AS m
 WHERE m.owner_id = :user_id
   AND /*[visible m*/ true /*]*/
   AND m.in_use
   AND (SELECT is_group OR :joined FROM talk)
   AND (m.pinned OR :joined OR /*[weight*/ m.importance /*]*/ >= :least)
 ORDER BY m.pinned DESC, /*[weight*/ m.importance /*]*/ DESC, m.created_at, m.id
 LIMIT :count;
