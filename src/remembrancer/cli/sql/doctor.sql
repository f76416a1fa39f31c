-- The checks of `doctor`.

-- name: server
SELECT current_setting('server_version') AS server,
       current_setting('server_version_num')::int AS number,
       (SELECT extversion FROM pg_extension WHERE extname = 'vector') AS vector,
       current_user AS role;

-- name: login
-- The roles that a session could become or act as, beside its own, with rights that the service
-- must not have.
SELECT session_user AS login,
       ARRAY(SELECT r.rolname::text
               FROM pg_roles AS r
              WHERE pg_has_role(session_user, r.oid, 'MEMBER')
                AND (r.rolsuper OR r.rolbypassrls OR r.rolcreaterole
                     OR r.rolname IN ('pg_execute_server_program', 'pg_write_server_files',
                                      'pg_read_server_files')
                     OR EXISTS (SELECT FROM pg_class AS c
                                 WHERE c.relowner = r.oid AND c.relname = 'memories'))
              ORDER BY 1) AS stronger;

-- name: unprotected
-- Tables that the service may change, without forced row-level security.
SELECT c.relname
  FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
 WHERE n.nspname IN (current_schema(), 'jobs') AND c.relkind IN ('r', 'p')
   AND has_table_privilege(:role, c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')
   AND NOT (c.relrowsecurity AND c.relforcerowsecurity)
 ORDER BY c.relname;

-- name: role_rights
SELECT (SELECT count(*) FROM pg_class WHERE relowner = r.oid) AS owned,
       r.rolsuper OR r.rolbypassrls AS unbound
  FROM pg_roles AS r WHERE r.rolname = :role;

-- name: model
SELECT name, dimensions FROM embedding_model;

-- name: vector_sizes
SELECT DISTINCT vector_dims(embedding) AS size FROM recall_items ORDER BY 1;

-- name: largest_owner
SELECT owner_id, count(*) AS items
  FROM recall_items
 WHERE owner_id <> '00000000-0000-0000-0000-000000000000'
 GROUP BY owner_id ORDER BY items DESC, owner_id LIMIT 1;
