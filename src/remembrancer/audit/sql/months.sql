-- The months of the audit log: each is a partition, which only the owner may add or drop. None is
-- while a workspace moves: a partition does not travel with its rows.

-- Adds the current month, two to come, and those of lines that have none.
-- name: add
SELECT app_add_audit_month(m.month)
  FROM (SELECT (date_trunc('month', now() AT TIME ZONE 'UTC') + make_interval(months => later))::date
          FROM generate_series(0, 2) AS later
         UNION
        SELECT app_audit_months((now() + interval '2 months')::date)) AS m (month)
 WHERE NOT EXISTS (SELECT FROM pg_publication WHERE pubname = 'remembrancer_move')
 ORDER BY m.month;

-- name: drop
SELECT CASE WHEN NOT EXISTS (SELECT FROM pg_publication WHERE pubname = 'remembrancer_move')
            THEN app_drop_audit_month(:before) END AS lines;

-- name: count
SELECT count(*) AS count
  FROM audit_log
 WHERE at < date_trunc('month', CAST(:before AS timestamptz) AT TIME ZONE 'UTC') AT TIME ZONE 'UTC';
