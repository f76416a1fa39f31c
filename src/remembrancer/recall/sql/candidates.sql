-- Candidates for a question: the best items of each arm, their neighbours in the conversation, and
-- the memories associated with the best memories.
--
-- The visibility rule and the caller's filters apply before the ranking: k visible items always
-- give k results. The search is exact: a user has few enough items to compare them all, and an
-- approximate index over all users would return too few of them (docs/decisions/0003-schema.md).
--
-- `seen` has thousands of rows and is read several times: it has only the columns that the arms
-- need. Each read is a scan or a hash join, never a nested loop. The other columns of the few
-- hundred candidates are looked up by key at the end (docs/decisions/0004-recall.md).
--
-- Binds: user_id, agent_id, vector, names (vectors), terms and words (the question's terms and the number of
-- the word each stands for), content_hash, per_arm, reach, k1, b, rank_constant, seeds, frontier,
-- those of the parts [walk] and [revisions] (graph.sql), and those of [filters].

-- name: candidates
WITH question AS MATERIALIZED (
    SELECT CAST(:vector AS halfvec) AS vector
),

names AS MATERIALIZED (
    SELECT CAST(name AS halfvec) AS vector, number
      FROM unnest(CAST(:names AS text[])) WITH ORDINALITY AS n (name, number)
),

viewer AS MATERIALIZED (
    SELECT /*[namespace*/ CAST(:agent_id AS uuid) /*]*/ AS namespace,
           /*[spaces*/
           ARRAY(SELECT space_id FROM space_members WHERE user_id = :user_id)
           /*]*/ AS spaces
),

/*[arms*/
totals AS (
    SELECT CAST(0 AS float8) AS items, CAST('{}' AS uuid[]) AS owners
),

scored AS (
    SELECT id, 0 AS word, CAST(0 AS float8) AS score FROM recall_items WHERE false
),

start AS (
    SELECT owner_id, id, 1 AS rank, conversation_id, position, memory_id
      FROM recall_items
     WHERE false
),
/*]*/

-- The memories that the walk over associations reaches: none for an asker who sees no associations.
/*[walk*/
reached AS (
    SELECT CAST(NULL AS uuid) AS owner_id, CAST(NULL AS bigint) AS id,
           CAST(NULL AS bigint) AS seed, CAST(NULL AS float8) AS standing,
           CAST(NULL AS float8) AS strength, CAST(NULL AS jsonb) AS path
     WHERE false
),
/*]*/

-- The messages among the best, and those that the memories among them are from. Their neighbours
-- include the message itself, at step 0.
around AS MATERIALIZED (
    SELECT DISTINCT conversation_id, position + step AS position
      FROM (
           SELECT conversation_id, position FROM start WHERE position IS NOT NULL
           UNION
           SELECT said.conversation_id, said.position
             FROM totals AS t
            CROSS JOIN start
            CROSS JOIN LATERAL (
                  SELECT message_id
                    FROM memories
                   WHERE owner_id = start.owner_id AND id = start.memory_id
                     AND message_id IS NOT NULL
                  OFFSET 0
            ) AS cited
            CROSS JOIN LATERAL (
                  SELECT conversation_id, position
                    FROM messages
                   WHERE owner_id = ANY (t.owners) AND id = cited.message_id
                  OFFSET 0
            ) AS said
           ) AS message
     CROSS JOIN generate_series(-CAST(:reach AS int), :reach) AS step
),

chosen AS MATERIALIZED (
    SELECT i.*
      FROM (
           SELECT owner_id, id FROM start WHERE position IS NULL
           UNION
           SELECT owner_id, id FROM reached
           ) AS item
     CROSS JOIN LATERAL (
           SELECT *
             FROM recall_items AS i
            WHERE i.owner_id = item.owner_id AND i.id = item.id
              AND /*[visible i*/ true /*]*/
              AND i.active
              AND /*[known*/ i.superseded_at IS NULL /*]*/
              /*[filters*/ /*]*/
           OFFSET 0
     ) AS i
    UNION ALL
    SELECT i.*
      FROM around
     CROSS JOIN LATERAL (
           SELECT *
             FROM recall_items AS i
            WHERE i.conversation_id = around.conversation_id
              AND i.position = around.position
              AND /*[visible i*/ true /*]*/
              AND i.active
              AND /*[known*/ i.superseded_at IS NULL /*]*/
              /*[filters*/ /*]*/
           OFFSET 0
     ) AS i
),

words AS MATERIALIZED (
    /*[words*/
    SELECT id, array_agg(word) AS words, array_agg(CAST(score AS real)) AS scores
      FROM scored
     WHERE id IN (SELECT id FROM chosen)
     GROUP BY id
    /*]*/
),

/*[revisions*/
revisions AS (
    SELECT CAST(NULL AS bigint) AS id, CAST(NULL AS jsonb) AS revisions WHERE false
)
/*]*/

-- LATERAL with OFFSET 0 forces a few hundred index look-ups. Without it, the planner reads whole
-- tables while they are small.
SELECT i.id, i.owner_id, i.embedding <=> (SELECT vector FROM question) AS distance,
       /*[name_distances*/ CAST(NULL AS float8[]) /*]*/ AS name_distances,
       i.content_hash = :content_hash AS exact, i.content_hash, w.words, w.scores,
       (SELECT items FROM totals) AS items, i.source_type, i.source_id,
       i.memory_id, i.conversation_id, i.position, i.at, i.importance,
       CASE WHEN r.id IS NOT NULL THEN jsonb_build_object(
           'seed', r.seed, 'standing', r.standing, 'strength', r.strength, 'path', r.path
       ) END AS path,
       e.revisions, i.traits, text.*
  FROM chosen AS i
  LEFT JOIN words AS w USING (id)
  LEFT JOIN reached AS r USING (id)
  LEFT JOIN revisions AS e USING (id)
 CROSS JOIN LATERAL (
       /*[text*/
       SELECT CAST(NULL AS uuid) AS agent_id
       /*]*/
       OFFSET 0
  ) AS text;

-- The memory, message or chunk of an item `i`.
--
-- name: text
/*[alone*/ SELECT * FROM recall_items AS i CROSS JOIN LATERAL ( /*]*/
       SELECT m.agent_id, m.space_id, m.visibility, m.content, m.role, m.sender_name,
              NULL AS kind, NULL AS category, NULL AS subject, CAST(NULL AS boolean) AS pinned,
              CAST(NULL AS int) AS version, CAST(NULL AS int) AS access_count,
              NULL AS external_id,
              CAST(NULL AS float8) AS weight, CAST(NULL AS timestamptz) AS valid_from,
              CAST(NULL AS timestamptz) AS valid_to, CAST(NULL AS uuid) AS message_id,
              CAST(NULL AS int) AS range_start, CAST(NULL AS int) AS range_end
         FROM messages AS m
        WHERE i.source_type = 'message' AND m.owner_id = i.owner_id AND m.id = i.source_id
       UNION ALL
       SELECT m.agent_id, m.space_id, m.visibility, /*[content*/ m.content /*]*/, NULL, NULL,
              m.kind, m.category, m.subject, m.pinned, /*[version*/ m.version /*]*/, m.access_count,
              m.external_id,
              /*[weight*/ i.importance /*]*/, /*[interval*/ m.valid_from, m.valid_to /*]*/,
              /*[message*/ m.message_id /*]*/, NULL, NULL
         FROM memories AS m /*[versions*/ /*]*/
        WHERE i.source_type = 'memory' AND m.owner_id = i.owner_id AND m.id = i.memory_id
           AND (m.expires_at > now()) IS NOT FALSE
       UNION ALL
       SELECT m.agent_id, m.space_id, m.visibility, m.content, NULL, NULL,
              NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
              m.range_start, m.range_end
         FROM chunks AS m
        WHERE i.source_type = 'chunk' AND m.owner_id = i.owner_id AND m.id = i.source_id
/*[alone*/ ) AS text /*]*/;

-- Parts of it: the items to start from, found by the arms, with the words of all items.
--
-- name: arms
/*[alone*/
WITH question AS (
    SELECT CAST(NULL AS halfvec) AS vector
),

viewer AS (
    SELECT CAST(NULL AS uuid) AS namespace, CAST('{}' AS uuid[]) AS spaces
),
/*]*/
/*[sets*/ /*]*/
seen AS MATERIALIZED (
    SELECT i.owner_id, i.id, i.length, i.source_type = 'message' AS is_message,
           -- An item with the text of the question comes first.
           CASE WHEN i.content_hash = :content_hash THEN -1
                ELSE i.embedding <=> (SELECT vector FROM question)
           END AS distance /*[at*/ /*]*/
      FROM /*[items*/ recall_items /*]*/ AS i
     WHERE /*[visible i*/ true /*]*/
       AND i.active
       AND /*[known*/ i.superseded_at IS NULL /*]*/
       -- Expired a moment ago, and not yet let go of by the sweep: hardly ever any.
       AND (i.memory_id = ANY (ARRAY(
               SELECT id FROM memories WHERE expires_at <= now() AND status <> 'forgotten'
           ))) IS NOT TRUE
       /*[filters*/ /*]*/
),

totals AS MATERIALIZED (
    SELECT CAST(count(*) AS float8) /*[unseen items*/ /*]*/ AS items,
           greatest((CAST(sum(length) AS float8) /*[unseen lengths*/ /*]*/)
                    / greatest(count(*) /*[unseen items*/ /*]*/, 1), 1) AS mean_length,
           -- The asker, shared knowledge, and the members of the asker's spaces.
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
      FROM seen /*[counted*/ /*]*/
),

posted AS MATERIALIZED (
    /*[posted*/
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
    /*]*/
),

matches AS MATERIALIZED (
    SELECT p.number, p.word, p.frequency, s.owner_id, id, s.is_message, s.length
      FROM posted AS p
      JOIN seen AS s USING (id)
),

-- BM25 (Robertson and Zaragoza 2009). The rarity of a term counts the items that the asker sees:
-- it says nothing about the words of other users.
rarity AS MATERIALIZED (
    /*[rarity*/
    SELECT number,
           ln(1 + (items - count(*) + CAST(0.5 AS float8)) / (count(*) + CAST(0.5 AS float8)))
           AS idf
      FROM matches, totals
     GROUP BY number, items
    /*]*/
),

-- A word with several terms (one for each language) may be here twice; the ranker takes the best.
scored AS MATERIALIZED (
    SELECT f.owner_id, f.id, f.is_message, f.word,
           r.idf * f.frequency * (CAST(:k1 AS float8) + 1)
           / (f.frequency + :k1 * (1 - CAST(:b AS float8) + :b * f.length / t.mean_length))
           AS score
      FROM matches AS f
      JOIN rarity AS r USING (number)
     CROSS JOIN totals AS t
),

-- The best items of each arm, with the better of their ranks. As many messages as memories and
-- chunks: facts say what messages say, and would take half of their candidates.
start AS MATERIALIZED (
    SELECT best.owner_id, best.id, best.rank, i.conversation_id, i.position, i.memory_id
      FROM (
           SELECT owner_id, id, min(rank) AS rank
             FROM (
                  SELECT owner_id, id, row_number() OVER (ORDER BY distance, id) AS rank
                    FROM (VALUES (true), (false)) AS of (messages)
                   CROSS JOIN LATERAL (
                         SELECT owner_id, id, distance
                           FROM seen
                          WHERE is_message = of.messages
                          ORDER BY distance, id
                          LIMIT :per_arm) AS by_meaning
                  UNION ALL
                  SELECT owner_id, id, row_number() OVER (ORDER BY score DESC, id)
                    FROM (VALUES (true), (false)) AS of (messages)
                   CROSS JOIN LATERAL (
                         SELECT owner_id, id, sum(score) AS score
                           FROM scored
                          WHERE is_message = of.messages
                          GROUP BY owner_id, id
                          ORDER BY sum(score) DESC, id
                          LIMIT :per_arm) AS by_words
                  /*[dated*/ /*]*/
                  ) AS arms
            GROUP BY owner_id, id
           ) AS best
     CROSS JOIN LATERAL (
           SELECT conversation_id, position, memory_id
             FROM recall_items
            WHERE owner_id = best.owner_id AND id = best.id
           OFFSET 0
     ) AS i
)
/*[alone*/ SELECT * FROM start /*]*/;

-- Or by this process, among the items that it has in memory (recall/choice.py). Places and talks
-- are those in the lists of owners and talk_ids, from 1.
--
-- Binds: items, owners, ids, ranks, places, talk_ids, talks, positions, memory_ids.
--
-- name: given
/*[alone*/ WITH /*]*/
totals AS MATERIALIZED (
    SELECT CAST(:items AS float8) AS items,
           CAST(:owners AS uuid[]) AS owners
),

start AS MATERIALIZED (
    SELECT t.owners[s.place] AS owner_id, s.id, s.rank,
           (CAST(:talk_ids AS uuid[]))[s.talk] AS conversation_id,
           nullif(s.position, -1) AS position, nullif(s.memory_id, '') AS memory_id
      FROM totals AS t
     CROSS JOIN ROWS FROM (unnest(CAST(:places AS int[])), unnest(CAST(:ids AS bigint[])),
                           unnest(CAST(:ranks AS int[])), unnest(CAST(:talks AS int[])),
                           unnest(CAST(:positions AS int[])),
                           string_to_table(CAST(:memory_ids AS text), ' '))
           AS s (place, id, rank, talk, position, memory_id)
)
/*[alone*/ SELECT * FROM start /*]*/;
