-- What has come since a stable block was frozen, and lines of it that say something else now;
-- the latest first.
--
-- Binds: user_id, agent_id, conversation_id, count. {visible} comes from access.py, the other
-- blanks from statements.py.

WITH talk AS MATERIALIZED ({talk}),

frozen AS MATERIALIZED (
    SELECT c.*
      FROM talk AS t
      JOIN frozen_contexts AS c ON c.owner_id = {reader}
                               AND c.conversation_id = :conversation_id
                               AND c.agent_id = {through}
)

SELECT m.id AS memory_id, m.kind, m.category, m.subject, m.content, {shared} AS shared,
       m.mention_count AS mentions, 0 AS mentioned_in, m.updated_at AS created_at
  FROM memories AS m
 WHERE {visible}
   AND m.status = 'active'
   AND (m.owner_id = '{nobody}' OR NOT (SELECT {group} FROM talk AS t))
   AND (m.created_at > (SELECT frozen_at FROM frozen)
        OR (m.owner_id, m.id) IN (
           SELECT l.memory_owner_id, l.memory_id
             FROM frozen AS c
             JOIN frozen_lines AS l ON l.owner_id = c.owner_id
                                   AND l.conversation_id = c.conversation_id
                                   AND l.agent_id = c.agent_id
             JOIN memories AS now ON now.owner_id = l.memory_owner_id
                                 AND now.id = l.memory_id
                                 AND now.version <> l.version))
 ORDER BY m.updated_at DESC, m.id
 LIMIT :count
