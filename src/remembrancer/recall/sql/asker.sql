-- The asker, whether there are associations that they see, whether there is more shared knowledge
-- than is compared (as of the last ANALYZE), the names of their spaces and of the authors there, and
-- the model of the stored vectors, to check before the answer: one row.
--
-- Binds: user_id, agent_id, most_shared.

-- name: asker
SELECT (SELECT name FROM embedding_model) AS model,
       CAST(:user_id AS uuid) IS NULL
           OR EXISTS (SELECT FROM users WHERE id = :user_id) AS user_known,
       EXISTS (SELECT FROM associations WHERE owner_id = :user_id)
           OR EXISTS (SELECT FROM associations
                       WHERE owner_id = '00000000-0000-0000-0000-000000000000')
           OR EXISTS (SELECT FROM associations
                       WHERE shared_space_id = ANY (CAST((SELECT app_spaces()) AS uuid[])))
           AS associated,
       coalesce((SELECT reltuples > CAST(:most_shared AS float8)
                   FROM pg_class
                  WHERE oid = to_regclass('ix_recall_items_shared_vector')), false) AS many_shared,
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
