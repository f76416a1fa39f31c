-- The frozen stable block of a conversation: a row for each line; without lines, one with nulls.
-- The content is that of the frozen version. The access rule and the conversation's space apply as
-- of now.
--
-- Binds: user_id, agent_id, conversation_id.

-- name: frozen_block
WITH talk AS MATERIALIZED (
    /*[talk*/ SELECT false AS is_group, CAST(:user_id AS uuid) AS reader_id, CAST(:agent_id AS uuid) AS agent_id /*]*/
)
SELECT c.frozen_at, c.time_zone, c.budget, c.left_out, c.tokens, c.digest,
       l.memory_owner_id, l.memory_id, l.version, l.kind, l.category, l.subject, v.content,
       l.shared, l.quoted, l.mentions, l.mentioned_in, l.created_at, m.space_id,
       m.id IS NOT NULL AND v.content IS NOT NULL AS in_use
  FROM talk AS t
  JOIN frozen_contexts AS c ON c.owner_id = t.reader_id
                           AND c.conversation_id = :conversation_id
                           AND c.agent_id = t.agent_id
  LEFT JOIN frozen_lines AS l ON l.owner_id = c.owner_id
                             AND l.conversation_id = c.conversation_id
                             AND l.agent_id = c.agent_id
  LEFT JOIN memories AS m ON m.owner_id = l.memory_owner_id
                         AND m.id = l.memory_id
                         AND m.in_use
                         AND (m.expires_at > now()) IS NOT FALSE
                         AND /*[visible m*/ true /*]*/
                         AND /*[told m*/ true /*]*/
  LEFT JOIN memory_versions AS v ON v.owner_id = l.memory_owner_id
                                AND v.memory_id = l.memory_id
                                AND v.version = l.version
 ORDER BY l.position;
