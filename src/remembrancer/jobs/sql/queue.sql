-- The queue: procrastinate's tables in the schema `jobs`, and our outcomes of jobs.

-- Some of the jobs in these statuses of which nothing happened since a time.
-- name: delete_old
DELETE FROM jobs.procrastinate_jobs
 WHERE id IN (SELECT j.id
                FROM jobs.procrastinate_jobs AS j
               WHERE CAST(j.status AS text) = ANY (CAST(:statuses AS text[]))
                 AND NOT EXISTS (SELECT FROM jobs.procrastinate_events AS e
                                  WHERE e.job_id = j.id AND e.at >= :before)
               ORDER BY j.id
               LIMIT :most
                 FOR UPDATE SKIP LOCKED);

-- What was written before the clock was set back would be waited for until it is that late again.
-- Binds: silent (seconds until a worker counts as dead), longest_wait (seconds between two tries).
-- name: forget_later_heartbeats
UPDATE jobs.procrastinate_workers SET last_heartbeat = now()
 WHERE last_heartbeat > now() + make_interval(secs => :silent);

-- name: forget_later_tries
UPDATE jobs.procrastinate_jobs SET scheduled_at = now()
 WHERE status = 'todo' AND scheduled_at > now() + make_interval(secs => :longest_wait);

-- Jobs of erased conversations. A running one finds nothing to do.
-- name: erase_of_conversations
DELETE FROM jobs.procrastinate_jobs
 WHERE status <> 'doing'
   AND lock = ANY (CAST(:keys AS text[]));

-- name: note
INSERT INTO jobs.job_outcomes (job_id, reason, counts)
SELECT id, :reason, CAST(:counts AS jsonb) FROM jobs.procrastinate_jobs WHERE id = :job_id
ON CONFLICT (job_id) DO UPDATE
   SET at = excluded.at, reason = excluded.reason, counts = excluded.counts;

-- name: is_due
SELECT EXISTS (SELECT FROM jobs.procrastinate_jobs
                WHERE status = 'todo' AND (scheduled_at IS NULL OR scheduled_at <= now())
                  AND task_name = ANY (CAST(:tasks AS text[])));

-- name: count
SELECT CAST(j.status AS text) AS status, count(*) AS jobs,
       count(*) FILTER (WHERE j.status = 'todo' AND j.attempts > 0) AS retrying,
       CAST(coalesce(extract(epoch FROM now() - min(e.at)), 0) AS double precision) AS oldest
  FROM jobs.procrastinate_jobs AS j
  LEFT JOIN jobs.procrastinate_events AS e
    ON e.job_id = j.id AND e.type = 'deferred' AND j.status = 'todo'
 GROUP BY j.status;

-- Jobs, newest first. Binds: before (null: from the newest), statuses (null: all), count.
-- name: page
SELECT j.id, j.task_name AS task, CAST(j.status AS text) AS status, j.args AS arguments,
       j.attempts AS tries, o.reason, coalesce(o.counts, '{}') AS counts,
       e.queued_at, e.started_at,
       CASE WHEN j.status <> 'doing' THEN e.ended_at END AS ended_at,
       CASE WHEN j.status = 'todo' THEN j.scheduled_at END AS next_try_at
  FROM (SELECT *
          FROM jobs.procrastinate_jobs
         WHERE (CAST(:before AS bigint) IS NULL OR id < :before)
           AND (CAST(:statuses AS text[]) IS NULL
                OR CAST(status AS text) = ANY (CAST(:statuses AS text[])))
         ORDER BY id DESC
         LIMIT :count) AS j
  LEFT JOIN jobs.job_outcomes AS o ON o.job_id = j.id
 CROSS JOIN LATERAL (
       SELECT min(at) FILTER (WHERE type = 'deferred') AS queued_at,
              max(at) FILTER (WHERE type = 'started') AS started_at,
              max(at) FILTER (WHERE type IN (
                  'deferred_for_retry', 'failed', 'succeeded', 'cancelled', 'aborted'
              )) AS ended_at
         FROM jobs.procrastinate_events
        WHERE job_id = j.id
 ) AS e
 ORDER BY j.id DESC;

-- name: repeat
SELECT jobs.enqueue(CAST(queue_name AS text), CAST(task_name AS text), lock, args)
  FROM jobs.procrastinate_jobs WHERE id = :id;
