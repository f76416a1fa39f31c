-- Shared knowledge for one agent, the most important first, with its total.
-- Importance is not decayed: the same memories give the same bulletin every day.
--
-- Binds: user_id (null), agent_id, count.

-- name: bulletin
SELECT m.owner_id AS memory_owner_id, m.id AS memory_id, m.version, m.kind, m.category,
       m.subject, m.content, true AS shared, m.quoted,
       m.mention_count AS mentions, 0 AS mentioned_in, m.created_at, m.space_id,
       count(*) OVER () AS total
  FROM memories AS m
 WHERE m.owner_id = '00000000-0000-0000-0000-000000000000'
   AND /*[visible m*/ true /*]*/
   AND m.in_use
   AND (m.expires_at > now()) IS NOT FALSE
 ORDER BY m.pinned DESC, m.importance DESC, m.created_at, m.id
 LIMIT :count;
