-- Spaces, their members, and who refused them.

-- name: hold_joined
SELECT space_id AS id FROM space_members
 WHERE user_id = :user_id AND space_id = ANY (CAST(:ids AS uuid[]))
 ORDER BY space_id
   FOR KEY SHARE;

-- name: hold_members
SELECT user_id AS id FROM space_members
 WHERE space_id = :space_id AND user_id = ANY (CAST(:ids AS uuid[]))
 ORDER BY user_id
   FOR KEY SHARE;

-- name: add_members_back
-- Members return with their current ids; unknown users do not.
INSERT INTO space_members (user_id, space_id, role, joined_at)
SELECT DISTINCT ON (coalesce(u.merged_into, u.id))
       coalesce(u.merged_into, u.id), :space_id, m.role, m.joined_at
  FROM unnest(CAST(:user_ids AS uuid[]), CAST(:roles AS text[]),
              CAST(:joined_at AS timestamptz[])) AS m (user_id, role, joined_at)
  JOIN users AS u ON u.id = m.user_id
 ORDER BY coalesce(u.merged_into, u.id), m.role DESC;

-- name: hold_created
-- Against erasures of their members, in the order in which these lock spaces.
SELECT id FROM spaces WHERE created_by = :user_id ORDER BY id FOR KEY SHARE;

-- name: transfer
-- Of two roles in a space, the taker gets the higher one.
WITH given AS (
    DELETE FROM space_members WHERE user_id = :giver RETURNING *
),
had AS (
    SELECT space_id, role FROM space_members WHERE user_id = :taker
),
taken AS (
    INSERT INTO space_members AS m (user_id, space_id, role, joined_at)
    SELECT :taker, space_id, role, joined_at FROM given
    ON CONFLICT (user_id, space_id) DO UPDATE
       SET role = CASE WHEN excluded.role = 'owner' THEN 'owner' ELSE m.role END
)
SELECT CAST(g.space_id AS text) AS space_id, g.role, h.role AS had
  FROM given AS g
  LEFT JOIN had AS h USING (space_id);

-- name: transfer_refusals
WITH given AS (
    DELETE FROM space_refusals WHERE user_id = :giver RETURNING *
),
had AS (
    SELECT space_id FROM space_refusals WHERE user_id = :taker
),
taken AS (
    INSERT INTO space_refusals (user_id, space_id, declined, created_at)
    SELECT :taker, space_id, declined, created_at FROM given
    ON CONFLICT DO NOTHING
)
SELECT CAST(g.space_id AS text) AS space_id, g.declined, h.space_id IS NOT NULL AS had
  FROM given AS g
  LEFT JOIN had AS h USING (space_id);

-- name: transfer_refusals_back
WITH moved AS (
    SELECT * FROM jsonb_to_recordset(CAST(:refusals AS jsonb))
        AS r (space_id uuid, declined boolean, had boolean)
),
removed AS (
    DELETE FROM space_refusals AS r USING moved AS m
     WHERE r.user_id = :taker AND r.space_id = m.space_id AND NOT m.had
)
INSERT INTO space_refusals (user_id, space_id, declined)
SELECT :giver, space_id, declined FROM moved
ON CONFLICT DO NOTHING;

-- name: transfer_created
UPDATE spaces SET created_by = :taker WHERE created_by = :giver RETURNING id;

-- name: transfer_created_back
UPDATE spaces SET created_by = :giver
 WHERE created_by = :taker AND id = ANY (CAST(:made AS uuid[]));

-- name: add_members_again
-- A membership that the taker has ended meanwhile is not brought back.
INSERT INTO space_members (user_id, space_id, role)
SELECT :giver, s.space_id, s.role
  FROM unnest(CAST(:space_ids AS uuid[]), CAST(:roles AS text[])) AS s (space_id, role)
  JOIN space_members AS m ON m.user_id = :taker AND m.space_id = s.space_id;

-- name: set_earlier_roles
UPDATE space_members AS m SET role = s.had
  FROM unnest(CAST(:space_ids AS uuid[]), CAST(:had AS text[])) AS s (space_id, had)
 WHERE m.user_id = :taker AND m.space_id = s.space_id AND s.had IS NOT NULL;

-- name: remove_new_members
DELETE FROM space_members AS m
 USING unnest(CAST(:space_ids AS uuid[]), CAST(:had AS text[])) AS s (space_id, had)
 WHERE m.user_id = :taker AND m.space_id = s.space_id AND s.had IS NULL;

-- name: promote_heirs
-- The longest member becomes the owner of a space without one.
UPDATE space_members AS m SET role = 'owner'
  FROM (SELECT DISTINCT ON (space_id) space_id, user_id
          FROM space_members
         WHERE space_id = ANY (CAST(:ids AS uuid[]))
         ORDER BY space_id, joined_at, user_id) AS first
 WHERE m.space_id = first.space_id AND m.user_id = first.user_id
   AND NOT EXISTS (SELECT FROM space_members AS o
                    WHERE o.space_id = m.space_id AND o.role = 'owner');

-- name: erase_empty
-- A space with memories of a former member stays; nobody can enter it.
DELETE FROM spaces AS s
 WHERE s.id = ANY (CAST(:ids AS uuid[]))
   AND NOT EXISTS (SELECT FROM space_members AS m WHERE m.space_id = s.id)
   AND NOT EXISTS (SELECT FROM memories AS m WHERE m.space_id = s.id);
