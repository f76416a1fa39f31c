-- Logical replication of a workspace to another server.

-- name: database
SELECT FROM pg_database WHERE datname = :name;

-- name: subscription
SELECT FROM pg_subscription
 WHERE subname = :name AND subdbid = (SELECT oid FROM pg_database WHERE datname = current_database());

-- name: create_slot
SELECT pg_create_logical_replication_slot(:name, 'pgoutput');

-- The slot of a copy, and those of its tables that are not copied yet.
-- name: slots
SELECT slot_name FROM pg_replication_slots
 WHERE database = current_database()
   AND (slot_name = :name OR slot_name ~ '^pg_[0-9]+_sync_[0-9]+_[0-9]+$');

-- name: drop_slot
SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = :name;

-- name: end_reader
SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots
 WHERE slot_name = :name AND active_pid IS NOT NULL;

-- name: size
SELECT CAST(sum(pg_total_relation_size(format('%I.%I', schemaname, tablename)::regclass)) AS bigint)
  FROM pg_publication_tables WHERE pubname = :publication;

-- name: progress
SELECT bool_and(r.srsubstate = 'r'), CAST(sum(pg_total_relation_size(r.srrelid)) AS bigint),
       (SELECT t.apply_error_count + t.sync_error_count > 3
          FROM pg_stat_subscription_stats AS t WHERE t.subid = s.oid)
  FROM pg_subscription_rel AS r JOIN pg_subscription AS s ON s.oid = r.srsubid
 WHERE s.subname = :name
 GROUP BY s.oid;

-- name: add_index
SELECT app_index_shared();

-- A commit that waits for the disk: so those before it are there too that did not wait.
-- name: flush
SELECT pg_logical_emit_message(true, 'remembrancer', '');

-- name: position
SELECT CAST(pg_current_wal_lsn() AS text);

-- name: has_reached
SELECT FROM pg_replication_slots
 WHERE confirmed_flush_lsn >= CAST(:position AS pg_lsn) AND slot_name = :name;

-- name: sequences
SELECT format('%I.%I', schemaname, sequencename), last_value FROM pg_sequences
 WHERE schemaname IN (current_schema(), 'jobs') AND last_value IS NOT NULL;

-- name: set_sequence
SELECT setval(CAST(:name AS regclass), :value);

-- Of a database that was left.
-- name: fence
SELECT FROM pg_trigger WHERE tgname = 'moved' LIMIT 1;
