-- The queue lies in a schema of its own: its tables belong to nobody, hold ids only, and need
-- neither row-level security nor sharding. Why: docs/decisions/0014-jobs.md.

CREATE SCHEMA jobs;
SET LOCAL search_path = jobs;

-- {procrastinate}

-- The newest of procrastinate's own migrations that the schema above includes.
COMMENT ON SCHEMA jobs IS 'procrastinate 03.04.00_50_post_add_retry_failed_job_procedure';

-- Whether a job with the same key waits already is asked at every enqueuing.
CREATE INDEX ix_procrastinate_jobs_waiting ON procrastinate_jobs (lock) WHERE status = 'todo';

-- What came of a job: counts, and why it failed if it did. The reason is the kind of error and
-- the field it names, never its text.
CREATE TABLE job_outcomes (
    job_id bigint NOT NULL,
    at timestamptz DEFAULT now() NOT NULL,
    reason text,
    counts jsonb DEFAULT '{}' NOT NULL,
    CONSTRAINT pk_job_outcomes PRIMARY KEY (job_id),
    CONSTRAINT fk_job_outcomes_job_id FOREIGN KEY (job_id)
        REFERENCES procrastinate_jobs (id) ON DELETE CASCADE
);

-- Queues a job in the caller's transaction, unless one with the same key waits already; returns
-- its id or null. Of jobs with the same key one runs at a time (the unique index on lock).
CREATE FUNCTION enqueue(queue text, task text, key text, args jsonb) RETURNS bigint
LANGUAGE sql AS $$
    SELECT (procrastinate_defer_jobs_v1(ARRAY[
               CAST(ROW(queue, task, 0, key, NULL, args, NULL) AS procrastinate_job_to_defer_v1)
           ]))[1]
     WHERE NOT EXISTS (
           SELECT FROM procrastinate_jobs AS j WHERE j.lock = key AND j.status = 'todo')
$$;

-- Puts jobs back whose worker is gone, or has been silent for so many seconds; returns them.
CREATE FUNCTION recover(silent float) RETURNS SETOF bigint
LANGUAGE sql AS $$
    WITH lost AS MATERIALIZED (
        SELECT j.id
          FROM procrastinate_jobs AS j
         WHERE j.status = 'doing'
           AND NOT EXISTS (
               SELECT FROM procrastinate_workers AS w
                WHERE w.id = j.worker_id
                  AND w.last_heartbeat > now() - make_interval(secs => silent))
           FOR UPDATE OF j SKIP LOCKED
    ),
    put_back AS MATERIALIZED (
        SELECT id, procrastinate_retry_job_v2(id, now(), NULL, NULL, NULL) FROM lost
    )
    SELECT id FROM put_back
$$;

-- The functions name their tables without a schema, and are called from sessions that look
-- elsewhere for them.
DO $$
DECLARE
    name text;
BEGIN
    FOR name IN
        SELECT oid::regprocedure::text FROM pg_proc WHERE pronamespace = 'jobs'::regnamespace
    LOOP
        EXECUTE format('ALTER FUNCTION %s SET search_path = jobs, pg_temp', name);
    END LOOP;
END
$$;

GRANT USAGE ON SCHEMA jobs TO remembrancer_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA jobs TO remembrancer_app;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA jobs TO remembrancer_app;

SET LOCAL search_path = DEFAULT;
