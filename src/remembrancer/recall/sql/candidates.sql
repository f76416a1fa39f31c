-- What may answer a question: the best items of each arm, and their neighbours.
--
-- Everything is filtered by the visibility rule and the caller's filters before anything is
-- ranked, so k visible items always yield k results. Exact search: a user's own items are few
-- enough to compare them all, and an approximate index shared by everybody would return too
-- few of them (docs/decisions/0003-schema.md).
--
-- `seen` has thousands of rows that are read several times, so it carries no more than the arms
-- need; each reading is a scan or a hash, never a nested loop, whatever the planner believes.
-- What else is known of the few hundred that are chosen is looked up by key at the end
-- (docs/decisions/0004-recall.md).
--
-- Binds: user_id, agent_id, vector, terms and words (the question's terms and the number of
-- the word each stands for), content_hash, per_arm, reach, k1, b, and those of {filters}.
-- {visible} comes from access.py, the other blanks from statements.py.

WITH question AS MATERIALIZED (
    SELECT CAST(:vector AS halfvec) AS vector
),

seen AS MATERIALIZED (
    SELECT i.owner_id, i.id, i.length,
           -- The question's own text stands before everything else.
           CASE WHEN i.content_hash = :content_hash THEN -1
                ELSE i.embedding <=> (SELECT vector FROM question)
           END AS distance
      FROM recall_items AS i
     WHERE {visible}
       AND i.active
       AND {known}
       {filters}
),

totals AS MATERIALIZED (
    SELECT CAST(count(*) AS float8) AS items,
           greatest(CAST(sum(length) AS float8) / greatest(count(*), 1), 1) AS mean_length,
           -- The asker's own, shared knowledge, and who shares in the asker's spaces.
           ARRAY(
               SELECT CAST(:user_id AS uuid)
               UNION ALL
               SELECT '00000000-0000-0000-0000-000000000000'
               UNION
               SELECT owner_id
                 FROM recall_items
                WHERE visibility = 'shared' AND space_id = ANY (ARRAY(
                      SELECT space_id FROM space_members WHERE user_id = :user_id))
           ) AS owners
      FROM seen
),

posted AS MATERIALIZED (
    SELECT a.number, a.word, p.item_id AS id, p.frequency
      FROM totals AS t
     CROSS JOIN unnest(CAST(:terms AS text[]), CAST(:words AS int[]))
           WITH ORDINALITY AS a (term, word, number)
     CROSS JOIN LATERAL (
           SELECT item_id, frequency
             FROM postings
            WHERE owner_id = ANY (t.owners) AND term = a.term
           OFFSET 0
     ) AS p
),

found AS MATERIALIZED (
    SELECT p.number, p.word, p.frequency, s.owner_id, id, s.length
      FROM posted AS p
      JOIN seen AS s USING (id)
),

-- BM25 (Robertson and Zaragoza 2009). How rare a term is counts over what this asker sees,
-- so nothing can be learnt about other people's words.
rarity AS MATERIALIZED (
    SELECT number,
           ln(1 + (items - count(*) + CAST(0.5 AS float8)) / (count(*) + CAST(0.5 AS float8)))
           AS idf
      FROM found, totals
     GROUP BY number, items
),

-- A word with several terms (one a language) may count twice here; fusion takes the better.
scored AS MATERIALIZED (
    SELECT f.owner_id, f.id, f.word,
           r.idf * f.frequency * (CAST(:k1 AS float8) + 1)
           / (f.frequency + :k1 * (1 - CAST(:b AS float8) + :b * f.length / t.mean_length))
           AS score
      FROM found AS f
      JOIN rarity AS r USING (number)
     CROSS JOIN totals AS t
),

start AS MATERIALIZED (
    SELECT best.owner_id, best.id, i.conversation_id, i.position
      FROM (
           (SELECT owner_id, id FROM seen ORDER BY distance, id LIMIT :per_arm)
           UNION
           (SELECT owner_id, id
              FROM scored
             GROUP BY owner_id, id
             ORDER BY sum(score) DESC, id
             LIMIT :per_arm)
           ) AS best
     CROSS JOIN LATERAL (
           SELECT conversation_id, position
             FROM recall_items
            WHERE owner_id = best.owner_id AND id = best.id
           OFFSET 0
     ) AS i
),

-- The neighbours of a message include the message itself, at step 0.
around AS MATERIALIZED (
    SELECT DISTINCT conversation_id, position + step AS position
      FROM start
     CROSS JOIN generate_series(-CAST(:reach AS int), :reach) AS step
     WHERE position IS NOT NULL
),

chosen AS MATERIALIZED (
    SELECT i.*
      FROM start
     CROSS JOIN LATERAL (
           SELECT *
             FROM recall_items
            WHERE owner_id = start.owner_id AND id = start.id
           OFFSET 0
     ) AS i
     WHERE start.position IS NULL
    UNION ALL
    SELECT i.*
      FROM around
     CROSS JOIN LATERAL (
           SELECT *
             FROM recall_items AS i
            WHERE i.conversation_id = around.conversation_id
              AND i.position = around.position
              AND {visible}
              AND i.active
              AND {known}
              {filters}
           OFFSET 0
     ) AS i
),

words AS MATERIALIZED (
    SELECT id, array_agg(word) AS words, array_agg(CAST(score AS real)) AS scores
      FROM scored
     WHERE id IN (SELECT id FROM chosen)
     GROUP BY id
)

-- The look-ups stand in LATERAL with OFFSET 0, which keeps them what they are: a few hundred
-- index look-ups. Left to itself the planner reads whole tables while they are small.
SELECT i.id, i.owner_id, i.embedding <=> (SELECT vector FROM question) AS distance,
       i.content_hash = :content_hash AS exact, w.words, w.scores, i.source_type, i.source_id,
       i.memory_id, i.conversation_id, i.position, i.at, i.importance, text.*
  FROM chosen AS i
  LEFT JOIN words AS w USING (id)
 CROSS JOIN LATERAL (
       SELECT m.agent_id, m.space_id, m.visibility, m.content, m.role, m.sender_name,
              {no_memory}
         FROM messages AS m
        WHERE i.source_type = 'message' AND m.owner_id = i.owner_id AND m.id = i.source_id
       UNION ALL
       SELECT m.agent_id, m.space_id, m.visibility, {version_column}, NULL, NULL,
              m.kind, m.category, m.subject, m.pinned, {version_number}, m.access_count,
              {version_interval}
         FROM memories AS m {version_join}
        WHERE i.source_type = 'memory' AND m.owner_id = i.owner_id AND m.id = i.memory_id
       UNION ALL
       SELECT m.agent_id, m.space_id, m.visibility, m.content, NULL, NULL,
              {no_memory}
         FROM chunks AS m
        WHERE i.source_type = 'chunk' AND m.owner_id = i.owner_id AND m.id = i.source_id
       OFFSET 0
  ) AS text
