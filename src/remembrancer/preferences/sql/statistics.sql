-- Statistics of scopes.

-- name: cells
-- The number of users for each combination: the numbers of a user's agents by preference (none,
-- off, on) and default (global, agent).
WITH agent AS (
    SELECT count(*) FILTER (WHERE memory_scope = 'global') AS of_global,
           count(*) FILTER (WHERE memory_scope = 'agent') AS of_agent
      FROM agents
     WHERE deleted_at IS NULL
),
preferred AS (
    SELECT p.user_id,
           count(*) FILTER (WHERE NOT p.allow_agent_specific_memory
                              AND a.memory_scope = 'global') AS off_global,
           count(*) FILTER (WHERE NOT p.allow_agent_specific_memory
                              AND a.memory_scope = 'agent') AS off_agent,
           count(*) FILTER (WHERE p.allow_agent_specific_memory
                              AND a.memory_scope = 'global') AS on_global,
           count(*) FILTER (WHERE p.allow_agent_specific_memory
                              AND a.memory_scope = 'agent') AS on_agent
      FROM memory_preferences AS p
      JOIN agents AS a ON a.id = p.agent_id AND a.deleted_at IS NULL
     GROUP BY p.user_id
)
SELECT u.allow_agent_specific_memory AS toggle,
       coalesce(p.off_global, 0) AS off_global, coalesce(p.off_agent, 0) AS off_agent,
       coalesce(p.on_global, 0) AS on_global, coalesce(p.on_agent, 0) AS on_agent,
       a.of_global - coalesce(p.off_global + p.on_global, 0) AS none_global,
       a.of_agent - coalesce(p.off_agent + p.on_agent, 0) AS none_agent,
       count(*) AS users
  FROM users AS u
 CROSS JOIN agent AS a
  LEFT JOIN preferred AS p ON p.user_id = u.id
 WHERE u.merged_into IS NULL AND u.id <> :shared
 GROUP BY 1, 2, 3, 4, 5, 6, 7;

-- name: agents_by_scope
SELECT memory_scope AS scope, count(*) AS number
  FROM agents WHERE deleted_at IS NULL GROUP BY memory_scope;

-- name: memories_by_scope
SELECT CASE
           WHEN owner_id = :shared THEN 'shared'
           WHEN space_id IS NOT NULL THEN 'space'
           WHEN agent_id IS NULL THEN 'global'
           ELSE 'agent'
       END AS scope,
       count(*) AS number
  FROM memories
 WHERE status = 'active'
 GROUP BY 1;
