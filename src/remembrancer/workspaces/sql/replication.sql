-- Logical replication of a workspace to another server, and the fence around what was left.

-- name: subscription
SELECT FROM pg_subscription
 WHERE subname = %s AND subdbid = (SELECT oid FROM pg_database WHERE datname = current_database());

-- name: create_slot
SELECT pg_create_logical_replication_slot(%s, 'pgoutput');

-- name: drop_slot
SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = %s;

-- name: end_reader
SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots
 WHERE slot_name = %s AND active_pid IS NOT NULL;

-- name: size
SELECT CAST(sum(pg_total_relation_size(format('%%I.%%I', schemaname, tablename)::regclass)) AS bigint)
  FROM pg_publication_tables WHERE pubname = %s;

-- name: progress
SELECT bool_and(r.srsubstate = 'r'), CAST(sum(pg_total_relation_size(r.srrelid)) AS bigint),
       (SELECT t.apply_error_count + t.sync_error_count > 3
          FROM pg_stat_subscription_stats AS t WHERE t.subid = s.oid)
  FROM pg_subscription_rel AS r JOIN pg_subscription AS s ON s.oid = r.srsubid
 WHERE s.subname = %s
 GROUP BY s.oid;

-- name: add_index
SELECT app_index_shared();

-- name: position
SELECT CAST(pg_current_wal_lsn() AS text);

-- name: has_reached
SELECT FROM pg_replication_slots WHERE confirmed_flush_lsn >= CAST(%s AS pg_lsn) AND slot_name = %s;

-- name: sequences
SELECT format('%I.%I', schemaname, sequencename), last_value FROM pg_sequences
 WHERE schemaname IN (current_schema(), 'jobs') AND last_value IS NOT NULL;

-- name: make_fence
CREATE OR REPLACE FUNCTION app_moved() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the workspace moved to another server' USING ERRCODE = 'RK503';
END
$$;

-- Not for what a replication brings.
-- name: fence
CREATE OR REPLACE TRIGGER moved BEFORE INSERT OR UPDATE OR DELETE ON {}
    FOR EACH STATEMENT EXECUTE FUNCTION app_moved();

-- name: unfence
DROP TRIGGER IF EXISTS moved ON {};

-- name: fence_of
SELECT FROM pg_trigger WHERE tgname = 'moved' LIMIT 1;

-- Nobody acts in a database that was left.
-- name: refuse
REVOKE EXECUTE ON FUNCTION app_act_as(uuid, text),
    app_act_by_key(uuid, text, uuid, text, uuid, uuid[]) FROM PUBLIC;

-- name: allow
GRANT EXECUTE ON FUNCTION app_act_as(uuid, text),
    app_act_by_key(uuid, text, uuid, text, uuid, uuid[]) TO PUBLIC;

-- name: digest
SELECT count(*), coalesce(sum(hashtextextended(CAST(t AS text), 0)::numeric), 0) FROM {} AS t;
