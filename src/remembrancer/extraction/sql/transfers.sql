-- Summaries of a user who becomes another one, and back.
--
-- Binds: giver and taker are users, ids are chunks (null: all of the giver's).

-- Copies of a summary that both have.
-- name: drop_copies
DELETE FROM chunks AS c
 USING chunks AS copy
 WHERE c.owner_id = :giver
   AND copy.owner_id = :taker
   AND copy.conversation_id = c.conversation_id
   AND copy.range_start = c.range_start
   AND copy.range_end = c.range_end
RETURNING c.id, c.conversation_id, c.range_start, c.range_end;

-- name: move_chunks
WITH moved AS (
    DELETE FROM chunks
     WHERE owner_id = :giver
       AND (CAST(:ids AS uuid[]) IS NULL OR id = ANY (CAST(:ids AS uuid[])))
    RETURNING *
)
INSERT INTO chunks (owner_id, id, conversation_id, range_start, range_end, agent_id, space_id,
                    visibility, content, stale, created_at)
SELECT :taker, id, conversation_id, range_start, range_end, agent_id, space_id,
       visibility, content, stale, created_at
  FROM moved
RETURNING id;

-- The giver's copy of a summary is copied again for the taker, under its former id.
-- name: copy_chunks
WITH former AS (
    SELECT * FROM unnest(CAST(:ids AS uuid[]), CAST(:conversations AS uuid[]),
                         CAST(:starts AS int[]), CAST(:ends AS int[]))
             AS f (id, conversation_id, range_start, range_end)
),
copied AS (
    SELECT f.id AS former_id, c.*
      FROM former AS f
      JOIN chunks AS c USING (conversation_id, range_start, range_end)
     WHERE c.owner_id = :giver
),
added AS (
    INSERT INTO chunks (owner_id, id, conversation_id, range_start, range_end, agent_id,
                        space_id, visibility, content, stale, created_at)
    SELECT :taker, former_id, conversation_id, range_start, range_end, agent_id,
           space_id, visibility, content, stale, created_at
      FROM copied
)
SELECT id, former_id FROM copied;
