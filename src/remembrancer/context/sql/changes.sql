-- Memories that are new, or changed, since the conversation's stable block was frozen: the
-- reader's identity, then the latest.
--
-- Binds: user_id, agent_id, conversation_id, count.

-- name: changes
WITH talk AS MATERIALIZED (
    /*[talk*/ SELECT false AS is_group, CAST(:user_id AS uuid) AS reader_id, CAST(:agent_id AS uuid) AS agent_id /*]*/
),

frozen AS MATERIALIZED (
    SELECT c.*
      FROM talk AS t
      JOIN frozen_contexts AS c ON c.owner_id = t.reader_id
                               AND c.conversation_id = :conversation_id
                               AND c.agent_id = t.agent_id
)

SELECT m.owner_id AS memory_owner_id, m.id AS memory_id, m.version, m.kind, m.category,
       m.subject, m.content,
       (m.owner_id = '00000000-0000-0000-0000-000000000000' OR m.visibility = 'shared') AS shared,
       m.quoted, m.mention_count AS mentions, 0 AS mentioned_in,
       m.updated_at AS created_at, m.space_id
  FROM memories AS m
 WHERE /*[visible m*/ true /*]*/
   AND /*[told m*/ true /*]*/
   AND m.in_use
   AND (m.expires_at > now()) IS NOT FALSE
   AND (m.owner_id = '00000000-0000-0000-0000-000000000000' OR m.visibility = 'shared'
        OR NOT (SELECT is_group FROM talk))
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
 ORDER BY (m.kind = 'identity' AND m.owner_id = :user_id) IS TRUE DESC, m.updated_at DESC, m.id
 LIMIT :count;
