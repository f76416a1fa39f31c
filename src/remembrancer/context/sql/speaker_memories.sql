-- The identity and the important memories of the current speaker in a group, or of a user who has
-- just joined one.
--
-- Binds: user_id, agent_id, conversation_id, joined, min_importance, count.

-- name: speaker_memories
WITH talk AS MATERIALIZED (
    SELECT coalesce(cardinality(t.participants) > 1, false) AS is_group, t.space_id
      FROM app_conversation(CAST(:conversation_id AS uuid)) AS t
)
SELECT m.owner_id AS memory_owner_id, m.id AS memory_id, m.version, m.kind, m.category,
       m.subject, m.content,
       (m.owner_id = '00000000-0000-0000-0000-000000000000' OR m.visibility = 'shared') AS shared,
       m.quoted, m.mention_count AS mentions, 0 AS mentioned_in,
       m.created_at, m.space_id
  FROM memories AS m
 WHERE m.owner_id = :user_id
   AND /*[visible m*/ true /*]*/
   AND /*[told m*/ true /*]*/
   AND m.in_use
   AND (m.expires_at > now()) IS NOT FALSE
   AND (SELECT is_group OR :joined FROM talk)
   AND (m.kind = 'identity' OR m.pinned OR :joined
        OR /*[weight*/ m.importance /*]*/ >= :min_importance)
 ORDER BY m.kind = 'identity' DESC, m.pinned DESC, /*[weight*/ m.importance /*]*/ DESC,
       m.created_at, m.id
 LIMIT :count;
