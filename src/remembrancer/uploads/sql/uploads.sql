-- Uploads and the parts of their files. What belongs to a merged user is the survivor's.

-- name: add
INSERT INTO uploads (owner_id, id, name, is_own)
VALUES (:owner_id, :id, :name, :is_own);

-- name: add_part
INSERT INTO upload_parts (owner_id, upload_id, number, content)
VALUES (:owner_id, :id, :number, CAST(:content AS bytea));

-- name: part
SELECT content FROM upload_parts
 WHERE owner_id = :owner_id AND upload_id = :id AND number = :number;

-- name: enqueue
SELECT /*[enqueue u.id*/ u.id /*]*/ FROM uploads AS u WHERE u.owner_id = :owner_id AND u.id = :id;

-- name: list
SELECT owner_id, id, name, format, is_own, options, status, total, stored, counts, reason, created_at
  FROM uploads
 WHERE owner_id IN (SELECT id FROM users WHERE CAST(:user_id AS uuid) IN (id, merged_into))
 ORDER BY created_at DESC, id;

-- name: lock
SELECT owner_id, id, name, format, is_own, options, status, total, stored, counts, reason, created_at
  FROM uploads
 WHERE id = :id
   AND (CAST(:user_id AS uuid) IS NULL
        OR owner_id IN (SELECT id FROM users WHERE CAST(:user_id AS uuid) IN (id, merged_into)))
   FOR UPDATE;

-- What is null stays as it is, but for the reason.
-- name: change
UPDATE uploads
   SET status = coalesce(:status, status),
       format = coalesce(:format, format),
       total = coalesce(CAST(:total AS int), total),
       stored = coalesce(CAST(:stored AS int), stored),
       counts = coalesce(CAST(:counts AS jsonb), counts),
       options = coalesce(CAST(:options AS jsonb), options),
       reason = :reason
 WHERE owner_id = :owner_id AND id = :id;

-- name: delete_parts
DELETE FROM upload_parts WHERE owner_id = :owner_id AND upload_id = :id;

-- name: delete
DELETE FROM uploads WHERE owner_id = :owner_id AND id = :id;

-- name: delete_old
DELETE FROM uploads
 WHERE (owner_id, id) IN (SELECT owner_id, id
                            FROM uploads
                           WHERE created_at < :before AND status NOT IN ('checking', 'storing')
                           ORDER BY owner_id, id
                           LIMIT :most
                             FOR UPDATE SKIP LOCKED);

-- name: erase
DELETE FROM uploads
 WHERE owner_id IN (SELECT id FROM users WHERE CAST(:user_id AS uuid) IN (id, merged_into));
