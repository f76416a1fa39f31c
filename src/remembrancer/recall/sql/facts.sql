-- What must be known of the asker and the store before an answer can be trusted: one row.
--
-- Binds: user_id, agent_id. {scope_facts} comes from access.py.

SELECT (SELECT name FROM embedding_model) AS model,
       CAST(:user_id AS uuid) IS NULL
           OR EXISTS (SELECT FROM users WHERE id = :user_id) AS user_known,
       scope.*
  FROM (SELECT) AS one
  LEFT JOIN ({scope_facts}) AS scope ON true
