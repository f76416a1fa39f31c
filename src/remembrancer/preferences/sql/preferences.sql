-- Preferences and the admin's policy.

-- name: facts
-- The facts for access.effective_scope: a row for each user with each agent.
SELECT facts.*, someone.id AS user_id, agent.id AS agent_id
  FROM users AS someone
 CROSS JOIN agents AS agent
 CROSS JOIN LATERAL (
       /*[facts someone.id agent.id*/
       SELECT 'agent' AS agent_default, true AS preference, true AS toggle, true AS policy_allows
       /*]*/
       ) AS facts
 WHERE someone.id = ANY (CAST(:user_ids AS uuid[])) AND agent.id = ANY (CAST(:agent_ids AS uuid[]));

-- name: set
-- A new row has the same time in both columns. Sorted, against deadlocks of two writers.
WITH setting AS (
    SELECT *
      FROM unnest(CAST(:user_ids AS uuid[]), CAST(:agent_ids AS uuid[]),
                  CAST(:ids AS uuid[]), CAST(:allowed AS boolean[]))
           AS s (user_id, agent_id, id, allow)
)
INSERT INTO memory_preferences AS p (user_id, agent_id, id, allow_agent_specific_memory)
SELECT user_id, agent_id, id, allow FROM setting ORDER BY user_id, agent_id
    ON CONFLICT (user_id, agent_id) DO UPDATE
   SET allow_agent_specific_memory = excluded.allow_agent_specific_memory,
       updated_at = excluded.updated_at
 WHERE p.allow_agent_specific_memory <> excluded.allow_agent_specific_memory
RETURNING user_id, agent_id, created_at = updated_at AS is_new;

-- name: reset_all
DELETE FROM memory_preferences AS p
 USING agents AS a
 WHERE p.user_id = :user_id AND a.id = p.agent_id AND a.deleted_at IS NULL
RETURNING p.agent_id;

-- name: transfer
WITH given AS (
    DELETE FROM memory_preferences WHERE user_id = :giver RETURNING *
),
taken AS (
    INSERT INTO memory_preferences
           (user_id, agent_id, id, allow_agent_specific_memory, created_at, updated_at)
    SELECT :taker, agent_id, id, allow_agent_specific_memory, created_at, updated_at
      FROM given
    ON CONFLICT DO NOTHING
    RETURNING agent_id
)
SELECT CAST(g.agent_id AS text) AS agent_id, g.allow_agent_specific_memory AS allow,
       t.agent_id IS NOT NULL AS moved
  FROM given AS g
  LEFT JOIN taken AS t USING (agent_id);

-- name: add_dropped
INSERT INTO memory_preferences (user_id, agent_id, id, allow_agent_specific_memory)
SELECT :giver, d.agent_id, gen_random_uuid(), d.allow
  FROM unnest(CAST(:dropped AS uuid[]), CAST(:allowed AS boolean[])) AS d (agent_id, allow)
  JOIN agents AS a ON a.id = d.agent_id;
