-- The reader of a context and their conversation: one row.
--
-- Binds: user_id, conversation_id, pause (minutes).

-- name: reader
WITH talk AS MATERIALIZED (SELECT * FROM app_conversation(CAST(:conversation_id AS uuid)))
SELECT u.display_name, u.time_zone, t.participants, t.agent_id, t.space_id,
       CASE WHEN t.participants IS NOT NULL
            THEN app_silent_since(:conversation_id, make_interval(mins => CAST(:pause AS int)))
       END AS silent_since
  FROM talk AS t
  LEFT JOIN users AS u ON u.id = :user_id;
