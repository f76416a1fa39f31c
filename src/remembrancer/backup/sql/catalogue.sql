-- The tables, sequences and functions of a store, from the database's catalogue. The schema of the
-- store is called `public` here, whatever its name: a backup may be restored into another.

-- Not the registry of workspaces: their databases have backups of their own.
-- name: tables
SELECT CASE n.nspname WHEN current_schema() THEN 'public' ELSE n.nspname END || '.' || c.relname,
       n.nspname, c.relname, c.relforcerowsecurity,
       ARRAY(SELECT a.attname::text FROM pg_attribute AS a
              WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
                AND a.attgenerated = '' ORDER BY a.attnum)
  FROM pg_class AS c
  JOIN pg_namespace AS n ON n.oid = c.relnamespace
 WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND n.nspname IN (current_schema(), 'jobs')
   AND c.relname NOT IN ('alembic_version', 'workspaces')
   -- The service may read its own tables; the database may have others.
   AND has_table_privilege('remembrancer_app', c.oid, 'SELECT')
   AND NOT EXISTS (SELECT FROM pg_depend AS d
                    WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid
                      AND d.deptype = 'e')
 ORDER BY 1, 2;

-- name: references
SELECT CASE n.nspname WHEN current_schema() THEN 'public' ELSE n.nspname END || '.' || c.relname,
       CASE m.nspname WHEN current_schema() THEN 'public' ELSE m.nspname END || '.' || t.relname
  FROM pg_constraint AS f
  JOIN pg_class AS c ON c.oid = f.conrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
  JOIN pg_class AS t ON t.oid = f.confrelid JOIN pg_namespace AS m ON m.oid = t.relnamespace
 WHERE n.nspname IN (current_schema(), 'jobs') AND f.contype = 'f' AND f.conrelid <> f.confrelid;

-- name: sequences
SELECT CASE n.nspname WHEN current_schema() THEN 'public' ELSE n.nspname END || '.' || s.relname,
       pg_sequence_last_value(s.oid)
  FROM pg_class AS s
  JOIN pg_namespace AS n ON n.oid = s.relnamespace
  JOIN pg_depend AS d ON d.classid = 'pg_class'::regclass AND d.objid = s.oid
                     AND d.deptype IN ('a', 'i') AND d.refclassid = 'pg_class'::regclass
  JOIN pg_class AS t ON t.oid = d.refobjid
 WHERE s.relkind = 'S' AND n.nspname IN (current_schema(), 'jobs')
   AND has_table_privilege('remembrancer_app', t.oid, 'SELECT');

-- name: functions
SELECT p.oid::regprocedure::text FROM pg_proc AS p
 WHERE p.pronamespace = quote_ident(current_schema())::regnamespace AND p.proname LIKE 'app\_%'
   AND NOT EXISTS (SELECT FROM pg_depend AS d
                    WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid
                      AND d.deptype = 'e');

-- name: is_moving
SELECT EXISTS (SELECT FROM pg_publication WHERE pubname = 'remembrancer_move');

-- name: other_clients
SELECT count(*) FROM pg_stat_activity
 WHERE datname = current_database() AND pid <> pg_backend_pid()
   AND coalesce(backend_type, 'client backend') = 'client backend';
