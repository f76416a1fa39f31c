-- Parts of candidates.sql for sets that are too large to compare (docs/decisions/0042-growth.md):
-- shared knowledge, whose nearest come from an index, and the asker's own items, of which the newest
-- are compared. Of both, words find a number of the others.
--
-- Binds: statement_hash, many_shared, most_own, most_postings, most_picked, and those of
-- candidates.sql.

-- name: sets
/*[alone*/
WITH question AS (SELECT CAST(:vector AS halfvec) AS vector),
/*]*/
near AS MATERIALIZED (
    SELECT i.id
      FROM recall_items AS i
     WHERE CAST(:many_shared AS boolean)
       AND i.owner_id = '00000000-0000-0000-0000-000000000000'
       AND /*[visible i*/ true /*]*/
       AND i.active
       AND i.superseded_at IS NULL
       AND (i.memory_id = ANY (ARRAY(
               SELECT id FROM memories WHERE expires_at <= now() AND status <> 'forgotten'
           ))) IS NOT TRUE
       AND vector_dims(i.embedding) = /*[dimensions*/384/*]*/
       /*[filters*/ /*]*/
     ORDER BY CAST(i.embedding AS halfvec(/*[dimensions*/384/*]*/))
              <=> CAST((SELECT vector FROM question) AS halfvec(/*[dimensions*/384/*]*/))
     LIMIT :per_arm
),

-- The owners of whom not all items are compared, but those newer than `since`. If the index gave
-- fewer items than were asked for, because of a filter, all of shared knowledge is compared.
sets AS MATERIALIZED (
    SELECT s.*, items * mean_length AS lengths,
           (SELECT min(id) FROM recall_items WHERE owner_id = s.owner_id) AS oldest,
           (SELECT max(id) FROM recall_items WHERE owner_id = s.owner_id) AS newest
      FROM (
           SELECT CAST('00000000-0000-0000-0000-000000000000' AS uuid) AS owner_id,
                  CAST(9223372036854775807 AS bigint) AS since,
                  -- By the last ANALYZE or VACUUM: to count them takes as long as a recall.
                  (SELECT CAST(reltuples AS float8) FROM pg_class
                    WHERE oid = to_regclass('ix_recall_items_shared_vector')) AS items,
                  (SELECT CAST(avg(length) AS float8)
                     FROM (SELECT length FROM recall_items
                            WHERE owner_id = '00000000-0000-0000-0000-000000000000'
                            ORDER BY id DESC
                            LIMIT 200) AS sample) AS mean_length
             FROM near
           HAVING count(*) >= :per_arm
           UNION ALL
           (SELECT i.owner_id, i.id, 0, 0
              FROM recall_items AS i
             WHERE i.owner_id = :user_id
               AND /*[visible i*/ true /*]*/
               AND i.active
               AND i.superseded_at IS NULL
               /*[filters*/ /*]*/
             ORDER BY i.id DESC
            OFFSET :most_own LIMIT 1)
           ) AS s
),

newest AS MATERIALIZED (
    SELECT s.owner_id, a.number, p.item_id AS id, p.frequency
      FROM sets AS s
     CROSS JOIN unnest(CAST(:terms AS text[])) WITH ORDINALITY AS a (term, number)
     CROSS JOIN LATERAL (
           SELECT item_id, frequency
             FROM postings
            WHERE owner_id = s.owner_id AND term = a.term
            ORDER BY item_id DESC
            LIMIT :most_postings
     ) AS p
),

-- Where there are more postings than were read, as many are taken for older items as for the newest.
reads AS MATERIALIZED (
    SELECT r.*, (CAST(:terms AS text[]))[number] AS term, (CAST(:words AS int[]))[number] AS word,
           ln(1 + (greatest(items, :most_own) + CAST(0.5 AS float8))
                  / (frequent + CAST(0.5 AS float8))) AS idf
      FROM (
           SELECT owner_id, number, s.items, min(id) AS lowest, count(*) >= :most_postings AS is_cut,
                  count(*) * CASE WHEN count(*) < :most_postings THEN 1
                                  ELSE CAST(s.newest - s.oldest + 1 AS float8)
                                       / (s.newest - min(id) + 1) END AS frequent
             FROM newest
             JOIN sets AS s USING (owner_id)
            GROUP BY owner_id, number, s.items, s.newest, s.oldest
           ) AS r
),

-- The items to compare: the best by words, for which lengths are not known yet, the nearest, and a
-- memory with the text of the question.
picked AS MATERIALIZED (
    SELECT owner_id, id
      FROM (SELECT owner_id, id
              FROM newest
              JOIN reads USING (owner_id, number)
              JOIN sets USING (owner_id)
             WHERE id <= since
             GROUP BY owner_id, id
             ORDER BY sum(idf * frequency / (frequency + CAST(:k1 AS float8))) DESC, id
             LIMIT :most_picked) AS best
    UNION
    SELECT owner_id, near.id FROM near JOIN sets ON items > 0
    UNION
    SELECT i.owner_id, i.id
      FROM sets AS s
     CROSS JOIN LATERAL (
           SELECT owner_id, id
             FROM memories
            WHERE owner_id = s.owner_id AND content_hash = :statement_hash AND status = 'active'
           OFFSET 0
     ) AS m
     CROSS JOIN LATERAL (
           SELECT owner_id, id
             FROM recall_items
            WHERE owner_id = m.owner_id AND memory_id = m.id AND id <= s.since
           OFFSET 0
     ) AS i
)
/*[alone*/ SELECT * FROM picked /*]*/;

-- name: items
/*[alone*/
WITH viewer AS (SELECT CAST('{}' AS uuid[]) AS spaces),
picked AS (SELECT CAST(:user_id AS uuid) AS owner_id, CAST(:most_own AS bigint) AS id),
sets AS (SELECT CAST(:user_id AS uuid) AS owner_id, CAST(:most_own AS bigint) AS since)
SELECT * FROM
/*]*/
(
    SELECT i.*
      FROM picked
     CROSS JOIN LATERAL (
           SELECT * FROM recall_items WHERE owner_id = picked.owner_id AND id = picked.id OFFSET 0
     ) AS i
    UNION ALL
    SELECT *
      FROM recall_items
     WHERE owner_id = :user_id
       AND id > coalesce((SELECT since FROM sets WHERE owner_id = :user_id), 0)
    UNION ALL
    SELECT *
      FROM recall_items
     WHERE owner_id = '00000000-0000-0000-0000-000000000000'
       AND '00000000-0000-0000-0000-000000000000' NOT IN (SELECT owner_id FROM sets)
    UNION ALL
    SELECT *
      FROM recall_items
     WHERE visibility = 'shared' AND space_id = ANY (CAST((SELECT spaces FROM viewer) AS uuid[]))
       AND owner_id <> '00000000-0000-0000-0000-000000000000'
       AND owner_id IS DISTINCT FROM CAST(:user_id AS uuid)
)
/*[alone*/ AS i /*]*/;

-- name: posted
/*[alone*/
WITH sets AS (SELECT CAST(:user_id AS uuid) AS owner_id),
totals AS (SELECT ARRAY(SELECT owner_id FROM sets) AS owners),
picked AS (SELECT CAST(:user_id AS uuid) AS owner_id, CAST(:most_own AS bigint) AS id),
newest AS (SELECT owner_id, CAST(1 AS bigint) AS number, item_id AS id, frequency FROM postings),
reads AS (SELECT *, 'term' AS term, 1 AS word, id AS lowest, true AS is_cut FROM newest)
/*]*/
SELECT number, (CAST(:words AS int[]))[number] AS word, id, frequency FROM newest
UNION ALL
-- For older items the terms with more postings than were read.
SELECT r.number, r.word, p.item_id, p.frequency
  FROM reads AS r
  JOIN picked AS i ON i.owner_id = r.owner_id AND i.id < r.lowest
 CROSS JOIN LATERAL (
       SELECT item_id, frequency
         FROM postings
        WHERE owner_id = r.owner_id AND term = r.term AND item_id = i.id
       OFFSET 0
 ) AS p
 WHERE r.is_cut
UNION ALL
SELECT a.number, a.word, p.item_id, p.frequency
  FROM (SELECT ARRAY(SELECT unnest(owners) EXCEPT SELECT owner_id FROM sets) AS owners
          FROM totals) AS t
 CROSS JOIN unnest(CAST(:terms AS text[]), CAST(:words AS int[]))
       WITH ORDINALITY AS a (term, word, number)
 CROSS JOIN LATERAL (
       SELECT item_id, frequency
         FROM postings
        WHERE owner_id = ANY (t.owners) AND term = a.term
       OFFSET 0
 ) AS p;

-- name: rarity
/*[alone*/
WITH sets AS (SELECT CAST(:user_id AS uuid) AS owner_id, CAST(1 AS float8) AS items),
totals AS (SELECT items FROM sets),
matches AS (SELECT CAST(:user_id AS uuid) AS owner_id, CAST(1 AS bigint) AS number),
reads AS (SELECT number, CAST(1 AS float8) AS frequent, CAST(1 AS float8) AS items FROM matches)
/*]*/
SELECT number,
       ln(1 + (greatest(items - sum(found), 0) + CAST(0.5 AS float8))
              / (sum(found) + CAST(0.5 AS float8))) AS idf
  FROM (
       SELECT number, CAST(count(*) AS float8) AS found
         FROM matches
        WHERE owner_id NOT IN (SELECT owner_id FROM sets WHERE items > 0)
        GROUP BY number
       UNION ALL
       SELECT number, frequent FROM reads WHERE items > 0
       ) AS found, totals
 GROUP BY number, items;
