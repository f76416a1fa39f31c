-- What is weighty of the person who speaks in a group, or has just joined one.
--
-- Binds: user_id, agent_id, conversation_id, joined, least, count. {visible} comes from access.py,
-- {weight} from decay.py, the other blanks from statements.py.

WITH talk AS MATERIALIZED ({talk})
SELECT m.id AS memory_id, m.kind, m.category, m.subject, m.content, {shared} AS shared,
       m.mention_count AS mentions, 0 AS mentioned_in, m.created_at
  FROM memories AS m
 WHERE m.owner_id = :user_id
   AND {visible}
   AND m.status = 'active'
   AND (SELECT {group} OR :joined FROM talk AS t)
   AND (m.pinned OR :joined OR {weight} >= :least)
 ORDER BY m.pinned DESC, {weight} DESC, m.created_at, m.id
 LIMIT :count
