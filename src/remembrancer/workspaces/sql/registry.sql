-- The registry of workspaces. Whoever changes one holds it meanwhile; a holder that does not renew
-- its hold has died, and others go on where it ended.

-- name: add
INSERT INTO workspaces (id, name, server, database, revision, limits, holder, held_until)
VALUES (:id, :name, :server, :database, :revision, CAST(:limits AS jsonb), :holder,
        now() + make_interval(secs => :seconds))
ON CONFLICT (name) DO NOTHING
RETURNING id, name, server, database, state, revision, limits, created_at, used_at, move;

-- name: get
SELECT id, name, server, database, state, revision, limits, created_at, used_at, move
  FROM workspaces WHERE name = :name;

-- name: page
SELECT id, name, server, database, state, revision, limits, created_at, used_at, move
  FROM workspaces
 WHERE CAST(:after AS text) IS NULL OR name > CAST(:after AS text)
 ORDER BY name LIMIT :count;

-- name: with_names
SELECT id, name, server, database, state, revision, limits, created_at, used_at, move
  FROM workspaces WHERE name = ANY (CAST(:names AS text[]));

-- Those that somebody used since a time, and all that are active without one.
-- name: used
SELECT name FROM workspaces
 WHERE state = 'active'
   AND (CAST(:since AS timestamptz) IS NULL OR used_at >= CAST(:since AS timestamptz))
 ORDER BY name;

-- name: note_uses
UPDATE workspaces SET used_at = now() WHERE name = ANY (CAST(:names AS text[]));

-- A copy that somebody watches may be taken from them: nothing has changed yet.
-- name: hold
UPDATE workspaces
   SET holder = :holder, held_until = now() + make_interval(secs => :seconds)
 WHERE name = :name
   AND (held_until IS NULL OR held_until < now() OR holder = :holder
        OR (:takes_copy AND move->>'state' = 'copying'))
RETURNING id, name, server, database, state, revision, limits, created_at, used_at, move;

-- name: release
UPDATE workspaces SET holder = NULL, held_until = NULL WHERE name = :name AND holder = :holder;

-- Without a holder, nobody may hold it; but a move that waits, or copies for hours, is in no way.
-- name: change
UPDATE workspaces
   SET state = coalesce(:state, state),
       limits = coalesce(CAST(:limits AS jsonb), limits),
       changed_at = now()
 WHERE name = :name
   AND (holder IS NOT DISTINCT FROM CAST(:holder AS uuid) OR held_until < now()
        OR (CAST(:holder AS uuid) IS NULL AND move->>'state' IN ('copying', 'moved')))
RETURNING id, name, server, database, state, revision, limits, created_at, used_at, move;

-- name: note_revision
UPDATE workspaces SET revision = :revision, changed_at = now() WHERE name = :name;

-- name: to_migrate
SELECT id, name, server, database, state, revision, limits, created_at, used_at, move
  FROM workspaces
 WHERE state IN ('active', 'suspended') AND revision < :revision
 ORDER BY name;

-- name: remove
DELETE FROM workspaces WHERE name = :name AND holder = :holder;

-- Left behind by somebody who died amid it.
-- name: abandoned
SELECT name FROM workspaces
 WHERE state IN ('creating', 'dropping') AND (held_until IS NULL OR held_until < now())
 ORDER BY name;

-- A place of null stays.
-- name: relocate
UPDATE workspaces
   SET server = coalesce(:server, server), database = coalesce(:database, database),
       move = CAST(:move AS jsonb), changed_at = now()
 WHERE name = :name AND holder = :holder
RETURNING id, name, server, database, state, revision, limits, created_at, used_at, move;

-- Steps of moves that nobody is at. A copy may wait, and so may what is to be confirmed.
-- name: halted
SELECT name FROM workspaces
 WHERE move->>'state' NOT IN ('copying', 'moved') AND (held_until IS NULL OR held_until < now())
 ORDER BY name;
