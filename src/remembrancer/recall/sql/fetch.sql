-- Hits that a process ranked among the items that it has in memory (recall/choice.py), under the
-- visibility rule and the filters all the same, as rows of candidates.sql without what they were
-- ranked by. `places` are those in `owners`, from 1.
--
-- Binds: user_id, agent_id, owners, places, ids, and those of [filters] (queries.py).

-- name: fetch
WITH viewer AS MATERIALIZED (
    SELECT /*[namespace*/ CAST(:agent_id AS uuid) /*]*/ AS namespace,
           /*[spaces*/
           ARRAY(SELECT space_id FROM space_members WHERE user_id = :user_id)
           /*]*/ AS spaces
)
SELECT i.id, i.owner_id, CAST(NULL AS float8) AS distance,
       CAST(NULL AS float8[]) AS name_distances, false AS exact, i.content_hash,
       CAST(NULL AS int[]) AS words, CAST(NULL AS real[]) AS scores, CAST(0 AS float8) AS items,
       i.source_type, i.source_id, i.memory_id, i.conversation_id, i.position, i.at, i.importance,
       CAST(NULL AS jsonb) AS path, CAST(NULL AS jsonb) AS revisions, i.traits, text.*
  FROM ROWS FROM (unnest(CAST(:places AS int[])), unnest(CAST(:ids AS bigint[])))
       AS k (place, id)
 CROSS JOIN LATERAL (
       SELECT *
         FROM recall_items AS i
        WHERE i.owner_id = (CAST(:owners AS uuid[]))[k.place] AND i.id = k.id
          AND /*[visible i*/ true /*]*/
          AND i.active
          AND i.superseded_at IS NULL
          /*[filters*/ /*]*/
       OFFSET 0
 ) AS i
 CROSS JOIN LATERAL (
       /*[text*/
       SELECT CAST(NULL AS uuid) AS agent_id
       /*]*/
       OFFSET 0
  ) AS text;
