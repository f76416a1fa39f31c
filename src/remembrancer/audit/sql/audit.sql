-- Names for the ids in lines of the audit log.

-- name: names
SELECT id, display_name AS name, 'user' AS kind FROM users
 WHERE id = ANY (CAST(:ids AS uuid[]))
 UNION ALL
SELECT id, name, 'agent' FROM agents WHERE id = ANY (CAST(:ids AS uuid[]))
 UNION ALL
SELECT id, name, 'key' FROM api_keys WHERE id = ANY (CAST(:ids AS uuid[]));
