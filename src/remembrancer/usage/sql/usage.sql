-- Usage by day and agent. The zero id is the agent's where no agent did it.

-- name: add
-- Adds counts to those of the same day, agent and kind. An id that a refused request made up is no
-- agent's. In the order of the key: two processes that write at the same time do not block each other.
INSERT INTO daily_usage AS u (day, agent_id, kind, amount, durations)
SELECT n.day, coalesce(a.id, '00000000-0000-0000-0000-000000000000'), n.kind,
       sum(n.amount), max(n.durations)
  FROM jsonb_to_recordset(CAST(:rows AS jsonb))
       AS n (day date, agent_id uuid, kind text, amount bigint, durations bigint[])
  LEFT JOIN agents AS a ON a.id = n.agent_id
 GROUP BY 1, 2, 3
 ORDER BY 1, 2, 3
    ON CONFLICT (day, agent_id, kind) DO UPDATE
   SET amount = u.amount + excluded.amount,
       durations = ARRAY(
           SELECT coalesce(d.a, 0) + coalesce(d.b, 0)
             FROM unnest(u.durations, excluded.durations) WITH ORDINALITY AS d (a, b, position)
            ORDER BY d.position
       );

-- name: measure
-- Nothing where the service may not ask for it.
INSERT INTO daily_usage (day, agent_id, kind, amount, durations)
SELECT CURRENT_DATE, CAST('00000000-0000-0000-0000-000000000000' AS uuid), 'disk',
       pg_database_size(current_database()), CAST('{}' AS bigint[])
 WHERE has_database_privilege(current_database(), 'CONNECT')
    ON CONFLICT (day, agent_id, kind) DO UPDATE SET amount = excluded.amount;

-- name: list
SELECT u.day, nullif(u.agent_id, '00000000-0000-0000-0000-000000000000') AS agent_id,
       a.name AS agent, u.kind, u.amount, u.durations
  FROM daily_usage AS u
  LEFT JOIN agents AS a ON a.id = u.agent_id
 WHERE u.day >= :since AND u.day <= :until
   AND (CAST(:agent_id AS uuid) IS NULL OR u.agent_id = :agent_id)
 ORDER BY u.day, u.kind, u.agent_id;
