-- Who asks, and where: one row.
--
-- Binds: user_id, conversation_id. {talk} is that conversation, as access to it allows.

WITH talk AS MATERIALIZED ({talk})
SELECT u.display_name, u.time_zone, t.participants, t.agent_id, t.message_count
  FROM talk AS t
  LEFT JOIN users AS u ON u.id = :user_id
