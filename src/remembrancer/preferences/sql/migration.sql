-- Migration from the deprecated toggle to preferences.

-- name: count
SELECT (SELECT count(*) FROM users
         WHERE allow_agent_specific_memory IS FALSE AND merged_into IS NULL) AS users,
       (SELECT count(*)
          FROM users AS u
         CROSS JOIN agents AS a
         WHERE u.allow_agent_specific_memory IS FALSE AND u.merged_into IS NULL
           AND a.deleted_at IS NULL
           AND NOT EXISTS (SELECT FROM memory_preferences AS p
                            WHERE p.user_id = u.id AND p.agent_id = a.id)) AS preferences;

-- name: add_missing
INSERT INTO memory_preferences (user_id, agent_id, id, allow_agent_specific_memory)
SELECT u.id, a.id, gen_random_uuid(), false
  FROM users AS u
 CROSS JOIN agents AS a
 WHERE u.id = ANY (CAST(:user_ids AS uuid[])) AND a.deleted_at IS NULL
ON CONFLICT DO NOTHING
RETURNING user_id, agent_id;

-- name: add_for_agent
-- Preferences for a new agent of users who were migrated. Needed while the toggle's column exists.
INSERT INTO memory_preferences (user_id, agent_id, id, allow_agent_specific_memory)
SELECT id, :agent_id, gen_random_uuid(), false
  FROM users
 WHERE allow_agent_specific_memory IS FALSE
   AND toggle_migrated_at IS NOT NULL
   AND merged_into IS NULL;
