-- The asker, the names of their spaces and of the authors there, and the model of the stored
-- vectors, to check before the answer: one row.
--
-- Binds: user_id, agent_id.

-- name: asker
SELECT (SELECT name FROM embedding_model) AS model,
       CAST(:user_id AS uuid) IS NULL
           OR EXISTS (SELECT FROM users WHERE id = :user_id) AS user_known,
       scope.*, names.*
  FROM app_space_names() AS names
  LEFT JOIN (
       /*[scope_facts*/
       SELECT memory_scope AS agent_default, CAST(NULL AS boolean) AS preference,
              CAST(NULL AS boolean) AS toggle, true AS policy_allows
         FROM agents
        WHERE id = :agent_id
       /*]*/
       ) AS scope ON true;
