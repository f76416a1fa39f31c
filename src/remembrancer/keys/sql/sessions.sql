-- Sessions of browsers, and links that sign in once. Both are stored by the hash of their secret.

-- A session with who signed in; none if its key is not valid any more.
-- name: find
SELECT s.hash, s.key_id, s.theme, s.notices,
       CASE WHEN s.key_id IS NOT NULL THEN k.role
            WHEN s.user_id IS NOT NULL THEN 'user'
            ELSE 'admin' END AS role,
       coalesce(u.merged_into, u.id) AS user_id,
       ARRAY(SELECT f.id FROM users AS f WHERE f.merged_into = coalesce(u.merged_into, u.id))
       AS merged_ids
  FROM sessions AS s
  LEFT JOIN api_keys AS k
    ON k.id = s.key_id AND k.revoked_at IS NULL
   AND (k.expires_at IS NULL OR k.expires_at > now())
  LEFT JOIN users AS u ON u.id = coalesce(k.user_id, s.user_id)
 WHERE s.hash = CAST(:hash AS bytea) AND s.expires_at > now()
   AND (s.key_id IS NULL OR k.id IS NOT NULL);

-- How often somebody's keys were refused in the last minute.
-- name: refusals
SELECT count(*) AS count
  FROM audit_log
 WHERE owner_id = :owner_id AND at > now() - interval '1 minute'
   AND action = 'session.start' AND outcome = 'refused';

-- name: add
INSERT INTO sessions (hash, key_id, user_id, expires_at)
VALUES (CAST(:hash AS bytea), CAST(:key_id AS uuid), CAST(:user_id AS uuid), now() + make_interval(secs => :seconds));

-- The first notices were shown, others came up.
-- name: store
UPDATE sessions
   SET theme = :theme,
       notices = notices[CAST(:shown AS int) + 1 :] || CAST(:added AS text[])
 WHERE hash = CAST(:hash AS bytea);

-- name: end
DELETE FROM sessions WHERE hash = CAST(:hash AS bytea);

-- All sessions of a user; without one those of a key, and without a key those of admins' links.
-- name: end_all
WITH people AS (
    SELECT id FROM users WHERE CAST(:user_id AS uuid) IN (id, merged_into)
)
DELETE FROM sessions AS s
 WHERE s.user_id IN (SELECT id FROM people)
    OR s.key_id IN (SELECT k.id FROM api_keys AS k JOIN people AS p ON p.id = k.user_id)
    OR (CAST(:user_id AS uuid) IS NULL AND s.user_id IS NULL
        AND s.key_id IS NOT DISTINCT FROM CAST(:key_id AS uuid));

-- name: delete_expired
WITH links AS (
    DELETE FROM sign_in_links
     WHERE hash IN (SELECT hash FROM sign_in_links WHERE expires_at <= now() ORDER BY hash
                     LIMIT :most FOR UPDATE SKIP LOCKED)
    RETURNING 1
),
old AS (
    DELETE FROM sessions
     WHERE hash IN (SELECT hash FROM sessions WHERE expires_at <= now() ORDER BY hash
                     LIMIT :most FOR UPDATE SKIP LOCKED)
    RETURNING 1
)
SELECT (SELECT count(*) FROM links) + (SELECT count(*) FROM old);

-- name: add_link
INSERT INTO sign_in_links (hash, user_id, expires_at)
VALUES (CAST(:hash AS bytea), CAST(:user_id AS uuid), now() + make_interval(secs => :seconds));

-- name: use_link
DELETE FROM sign_in_links
 WHERE hash = CAST(:hash AS bytea)
RETURNING user_id, expires_at > now() AS is_valid;

-- name: erase_links
DELETE FROM sign_in_links
 WHERE user_id IN (SELECT id FROM users WHERE CAST(:user_id AS uuid) IN (id, merged_into));

-- A notice may have the name of an erased person.
-- name: clear_notices
UPDATE sessions SET notices = '{}'
 WHERE hash IN (SELECT hash FROM sessions WHERE notices <> '{}' ORDER BY hash FOR UPDATE);
