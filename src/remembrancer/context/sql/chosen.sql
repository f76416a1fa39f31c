-- What a stable block that is not frozen yet may hold, the weightiest first, and how many
-- there are in all. In a group, what nobody in particular owns.
--
-- Binds: user_id, agent_id, conversation_id, count. {visible} comes from access.py, {weight} from
-- decay.py, {reader}, {through} and {talk} from statements.py.

WITH talk AS MATERIALIZED ({talk}),

best AS MATERIALIZED (
    SELECT m.owner_id AS memory_owner_id, m.id AS memory_id, m.version, m.kind, m.category,
           m.subject, m.content, {shared} AS shared, m.mention_count AS mentions,
           m.created_at, m.pinned, {weight} AS weight, count(*) OVER () AS total
      FROM memories AS m
     WHERE {visible}
       AND m.status = 'active'
       AND (m.owner_id = '{nobody}' OR NOT (SELECT {group} FROM talk AS t))
       AND NOT EXISTS (
           SELECT FROM talk AS t
             JOIN frozen_contexts AS c ON c.owner_id = {reader}
                                      AND c.conversation_id = :conversation_id
                                      AND c.agent_id = {through})
     ORDER BY m.pinned DESC, weight DESC, m.created_at, m.id
     LIMIT :count
)

SELECT b.*,
       CASE WHEN b.kind = 'place' THEN (
           SELECT count(DISTINCT n.conversation_id)
             FROM mentions AS n
            WHERE n.owner_id = b.memory_owner_id AND n.memory_id = b.memory_id
       ) ELSE 0 END AS mentioned_in
  FROM best AS b
 ORDER BY b.pinned DESC, b.weight DESC, b.created_at, b.memory_id
