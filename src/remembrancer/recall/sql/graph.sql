-- Parts of candidates.sql: the walk over associations (docs/decisions/0009-graph.md).

-- The strongest associations of the memory `n` whose other end the asker sees, in each direction.
-- An association belongs to the owner of its first memory. Outgoing associations have the owner
-- of `n`; incoming ones are looked up with the owners that the asker may see: the asker, shared
-- knowledge, the asker's spaces. A popular memory has thousands: at most `scanned` are read for
-- each of these, in the order of an index, and at most `fanout` visible ones are returned for a
-- direction.
--
-- Binds: scanned, fanout, and those of the rule.

-- name: neighbours
/*[alone*/
WITH associated AS (
    SELECT ARRAY[CAST(:user_id AS uuid)] AS owners, CAST('{}' AS uuid[]) AS spaces,
           true AS any_at_all
), n AS (
    SELECT CAST(:user_id AS uuid) AS owner_id, CAST(:memory_id AS text) AS memory_id
)
/*]*/
SELECT CASE WHEN side.outgoing THEN 'outgoing' ELSE 'incoming' END AS direction, neighbour.*
  FROM /*[alone*/ n CROSS JOIN /*]*/ (VALUES (true), (false)) AS side (outgoing)
 CROSS JOIN LATERAL (
       SELECT other.owner_id, other.memory_id, other.relation, other.weight, item.id
         FROM (
              SELECT *
                FROM (
                     (SELECT a.target_owner_id AS owner_id, a.target_id AS memory_id,
                             a.relation, a.weight
                        FROM associations AS a
                       WHERE side.outgoing
                         AND (SELECT any_at_all FROM associated)
                         AND a.owner_id = n.owner_id AND a.memory_id = n.memory_id
                         AND /*[only*/ true /*]*/ /*[before*/ /*]*/
                       ORDER BY a.weight DESC, a.target_owner_id DESC, a.target_id DESC,
                             a.relation DESC
                       LIMIT :scanned)
                     UNION
                     SELECT a.*
                       FROM unnest(CAST((SELECT owners FROM associated) AS uuid[]))
                            AS o (owner_id)
                      CROSS JOIN LATERAL (
                            SELECT a.owner_id, a.memory_id, a.relation, a.weight
                              FROM associations AS a
                             WHERE NOT side.outgoing
                               AND a.target_owner_id = n.owner_id AND a.target_id = n.memory_id
                               AND a.owner_id = o.owner_id
                               AND /*[only*/ true /*]*/ /*[before*/ /*]*/
                             ORDER BY a.weight DESC, a.memory_id DESC, a.relation DESC
                             LIMIT :scanned
                      ) AS a
                     UNION
                     SELECT a.*
                       FROM unnest(CAST((SELECT spaces FROM associated) AS uuid[]))
                            AS s (space_id)
                      CROSS JOIN LATERAL (
                            SELECT a.owner_id, a.memory_id, a.relation, a.weight
                              FROM associations AS a
                             WHERE NOT side.outgoing
                               AND a.target_owner_id = n.owner_id AND a.target_id = n.memory_id
                               AND a.shared_space_id = s.space_id
                               AND /*[only*/ true /*]*/ /*[before*/ /*]*/
                             ORDER BY a.weight DESC, a.owner_id DESC, a.memory_id DESC,
                                   a.relation DESC
                             LIMIT :scanned
                      ) AS a
                     ) AS both_directions
               ORDER BY weight DESC, owner_id DESC, memory_id DESC, relation DESC
               LIMIT :scanned
              ) AS other
        CROSS JOIN LATERAL (
              SELECT i.id
                FROM recall_items AS i
               WHERE i.owner_id = other.owner_id
                 AND i.memory_id = other.memory_id
                 AND /*[visible i*/ true /*]*/
                 AND i.active
                 AND /*[known*/ i.superseded_at IS NULL /*]*/
              OFFSET 0
        ) AS item
        ORDER BY weight DESC, owner_id DESC, memory_id DESC, relation DESC
        LIMIT :fanout
 ) AS neighbour;

-- One step along associations from each node. Each step multiplies the strength of a path by the
-- weight of the association and by `decay`.
--
-- Binds: decay, and those of neighbours.

-- name: step
/*[alone*/
WITH seeds AS (
    SELECT CAST(1 AS bigint) AS seed, CAST(1 AS float8) AS standing, 0 AS hops,
           CAST(:user_id AS uuid) AS owner_id, CAST(:memory_id AS text) AS memory_id,
           CAST(1 AS bigint) AS id, CAST(1 AS float8) AS strength, CAST('[]' AS jsonb) AS path
)
/*]*/
SELECT n.seed, n.standing, n.hops + 1 AS hops, neighbour.owner_id, neighbour.memory_id,
       neighbour.id, n.strength * neighbour.weight * CAST(:decay AS float8) AS strength,
       n.path || jsonb_build_object(
           'memory_id', n.memory_id,
           'relation', neighbour.relation,
           'direction', neighbour.direction
       ) AS path
  FROM /*[nodes*/ seeds /*]*/ AS n
 CROSS JOIN LATERAL (
       /*[neighbours a.weight > 0*/
       SELECT owner_id, memory_id, id, 1 AS weight, 'related_to' AS relation,
              'outgoing' AS direction
         FROM recall_items
        WHERE owner_id = n.owner_id AND memory_id = n.memory_id
       /*]*/
 ) AS neighbour;

-- The memories that the walk reaches from the best ones, and the owners and spaces with
-- associations that the asker may see.
--
-- Binds: rank_constant, seeds, frontier, and those of step.

-- name: walk
/*[alone*/
WITH viewer AS (
    SELECT CAST('{}' AS uuid[]) AS spaces
),

start AS (
    SELECT owner_id, id, 1 AS rank, memory_id FROM recall_items
),
/*]*/
associated AS MATERIALIZED (
    SELECT owners, spaces, owners <> '{}' OR spaces <> '{}' AS any_at_all
      FROM (SELECT ARRAY(
                       SELECT o.owner_id
                         FROM unnest(ARRAY[
                                  CAST(:user_id AS uuid), '00000000-0000-0000-0000-000000000000'
                              ]) AS o (owner_id)
                        CROSS JOIN LATERAL (
                              SELECT FROM associations AS a
                               WHERE a.owner_id = o.owner_id
                               LIMIT 1
                        ) AS a
                   ) AS owners,
                   ARRAY(
                       SELECT s.space_id
                         FROM unnest(CAST((SELECT spaces FROM viewer) AS uuid[]))
                              AS s (space_id)
                        CROSS JOIN LATERAL (
                              SELECT FROM associations AS a
                               WHERE a.shared_space_id = s.space_id
                               LIMIT 1
                        ) AS a
                   ) AS spaces) AS with_associations
),

-- `standing` falls with the rank, from 1 for the first.
seeds AS MATERIALIZED (
    SELECT id AS seed, (1 + CAST(:rank_constant AS float8)) / (rank + :rank_constant) AS standing,
           0 AS hops, owner_id, memory_id, id, CAST(1 AS float8) AS strength,
           CAST('[]' AS jsonb) AS path
      FROM start
     WHERE memory_id IS NOT NULL
     ORDER BY rank, id
     LIMIT :seeds
),

first_step AS MATERIALIZED (
    /*[step seeds*/ SELECT * FROM seeds WHERE false /*]*/
),

-- Each memory once, by the strongest path to it.
frontier AS MATERIALIZED (
    SELECT *
      FROM (
           SELECT DISTINCT ON (id) *
             FROM (SELECT * FROM seeds UNION ALL SELECT * FROM first_step) AS paths
            ORDER BY id, strength * standing DESC, hops, path
           ) AS best
     WHERE hops = 1
     ORDER BY strength * standing DESC, id
     LIMIT :frontier
),

second_step AS MATERIALIZED (
    /*[step frontier*/ SELECT * FROM frontier WHERE false /*]*/
),

reached AS MATERIALIZED (
    SELECT *
      FROM (
           SELECT DISTINCT ON (id) *
             FROM (
                  SELECT * FROM seeds
                  UNION ALL
                  SELECT * FROM first_step
                  UNION ALL
                  SELECT * FROM second_step
                  ) AS paths
            ORDER BY id, strength * standing DESC, hops, path
           ) AS best
     WHERE hops > 0
)
/*[alone*/ SELECT * FROM reached /*]*/;

-- The memories that each memory revises or that revise it, to show with it.
--
-- Binds: those of neighbours.

-- name: revisions
/*[alone*/
WITH associated AS (
    SELECT ARRAY[CAST(:user_id AS uuid)] AS owners, CAST('{}' AS uuid[]) AS spaces,
           true AS any_at_all
), chosen AS (
    SELECT owner_id, id, memory_id FROM recall_items
),
/*]*/
revisions AS MATERIALIZED (
    SELECT n.id,
           jsonb_agg(
               jsonb_build_object(
                   'memory_id', neighbour.memory_id,
                   'relation', neighbour.relation,
                   'direction', neighbour.direction
               )
               ORDER BY neighbour.direction, neighbour.relation, neighbour.memory_id
           ) AS revisions
      FROM chosen AS n
     CROSS JOIN LATERAL (
           /*[neighbours a.relation IN ('updates', 'contradicts')*/
           SELECT NULL AS memory_id, NULL AS relation, NULL AS direction WHERE false
           /*]*/
     ) AS neighbour
     WHERE n.memory_id IS NOT NULL
     GROUP BY n.id
)
/*[alone*/ SELECT * FROM revisions /*]*/;
