-- How far imports are: numbers only. An import that gives no sign for a minute was interrupted.

-- name: begin
WITH old AS (
    DELETE FROM imports WHERE updated_at < now() - interval '30 days'
)
INSERT INTO imports (id, total) VALUES (:id, :total);

-- name: note
UPDATE imports SET done = :done, updated_at = now() WHERE id = :id;

-- name: finish
UPDATE imports SET done = :done, updated_at = now(), ended_at = now(), reason = :reason
 WHERE id = :id;

-- name: recent
-- Those under way, and those that ended or were interrupted within a day; the latest first.
SELECT id, started_at, updated_at, ended_at, total, done, reason,
       ended_at IS NULL AND updated_at < now() - interval '1 minute' AS interrupted
  FROM imports
 WHERE updated_at > now() - interval '1 day'
 ORDER BY started_at DESC, id
 LIMIT :count;
