-- What may answer a question: the best items of each arm, and their neighbours.
--
-- One statement, one round trip. Everything is filtered by the visibility rule and the
-- caller's filters before anything is ranked, so k visible items always yield k results.
-- Exact search: a user's own items are few enough to compare them all, and an approximate
-- index shared by everybody would return too few of them (docs/decisions/0003-schema.md).
--
-- Binds: user_id, agent_id, vector, terms and words (the question's terms and the number of
-- the word each stands for), word_count, content_hash, source_types, kinds, categories,
-- conversation_id, space_id, since, until, as_of, per_arm, reach, k1, b.
-- {visible} and {scope_facts} come from access.py.

WITH question AS MATERIALIZED (
    SELECT CAST(:vector AS halfvec) AS vector
),

seen AS MATERIALIZED (
    SELECT i.owner_id, i.id, i.conversation_id, i.position, i.length,
           i.content_hash = :content_hash AS exact,
           i.embedding <=> q.vector AS distance
      FROM recall_items AS i, question AS q
     WHERE {visible}
       AND i.status = 'active'
       AND CASE WHEN CAST(:as_of AS timestamptz) IS NULL THEN i.superseded_at IS NULL
                ELSE i.recorded_at <= :as_of
                     AND (i.superseded_at IS NULL OR i.superseded_at > :as_of)
                     AND (i.valid_from IS NULL OR i.valid_from <= :as_of)
                     AND (i.valid_to IS NULL OR i.valid_to > :as_of)
           END
       AND i.source_type = ANY (:source_types)
       AND (CAST(:kinds AS text[]) IS NULL OR i.kind = ANY (:kinds))
       AND (CAST(:categories AS text[]) IS NULL OR i.category = ANY (:categories))
       AND (CAST(:conversation_id AS uuid) IS NULL OR i.conversation_id = :conversation_id)
       AND (CAST(:space_id AS uuid) IS NULL OR i.space_id = :space_id)
       AND (CAST(:since AS timestamptz) IS NULL OR i.at >= :since)
       AND (CAST(:until AS timestamptz) IS NULL OR i.at < :until)
),

totals AS MATERIALIZED (
    SELECT count(*) AS items, greatest(avg(length), 1) AS mean_length FROM seen
),

asked AS MATERIALIZED (
    SELECT term, word FROM unnest(CAST(:terms AS text[]), CAST(:words AS int[])) AS a (term, word)
),

found AS MATERIALIZED (
    SELECT a.term, a.word, p.frequency, s.id, s.length
      FROM asked AS a
      JOIN postings AS p
        ON p.owner_id = ANY (ARRAY(SELECT DISTINCT owner_id FROM seen)) AND p.term = a.term
      JOIN seen AS s ON s.id = p.item_id
),

-- BM25 (Robertson and Zaragoza 2009). How rare a term is counts over what this asker sees,
-- so nothing can be learnt about other people's words.
rarity AS MATERIALIZED (
    SELECT term, ln(1 + (items - count(*) + 0.5) / (count(*) + 0.5)) AS idf
      FROM found, totals
     GROUP BY term, items
),

scored AS MATERIALIZED (
    SELECT f.id, f.word,
           max(r.idf * f.frequency * (:k1 + 1)
               / (f.frequency + :k1 * (1 - :b + :b * f.length / t.mean_length))) AS score
      FROM found AS f
      JOIN rarity AS r USING (term)
     CROSS JOIN totals AS t
     GROUP BY f.id, f.word
),

keyword AS MATERIALIZED (
    SELECT id, array_agg(word) AS words, array_agg(CAST(score AS real)) AS scores,
           sum(score) AS total
      FROM scored
     GROUP BY id
),

best AS MATERIALIZED (
    (SELECT id FROM seen ORDER BY distance, id LIMIT :per_arm)
    UNION
    (SELECT id FROM keyword ORDER BY total DESC, id LIMIT :per_arm)
    UNION
    (SELECT id FROM seen WHERE exact LIMIT :per_arm)
),

chosen AS MATERIALIZED (
    SELECT id FROM best
    UNION
    SELECT neighbour.id
      FROM best
      JOIN seen AS s USING (id)
     CROSS JOIN generate_series(-CAST(:reach AS int), :reach) AS step
      JOIN seen AS neighbour
        ON neighbour.conversation_id = s.conversation_id
       AND neighbour.position = s.position + step
),

facts AS (
    SELECT (SELECT name FROM embedding_model) AS model,
           CAST(:user_id AS uuid) IS NULL
               OR EXISTS (SELECT FROM users WHERE id = :user_id) AS user_known,
           scope.*
      FROM (SELECT) AS one
      LEFT JOIN ({scope_facts}) AS scope ON true
)

SELECT f.model, f.user_known, f.policy_allows, f.preference, f.toggle, f.agent_default,
       s.id, s.distance, s.exact, k.words, k.scores,
       i.source_type, i.owner_id, i.agent_id, i.space_id, i.visibility,
       i.conversation_id, i.position, i.at, i.valid_from, i.valid_to,
       i.memory_id, i.memory_version, i.source_id, i.kind, i.category, i.importance,
       coalesce(msg.content, ver.content, chk.content) AS content,
       msg.role, msg.sender_name, mem.subject, mem.pinned, mem.access_count, mem.version,
       chk.range_start, chk.range_end
  FROM facts AS f
  LEFT JOIN (
       chosen AS c
       JOIN seen AS s USING (id)
       JOIN recall_items AS i ON i.owner_id = s.owner_id AND i.id = s.id
  ) ON true
  LEFT JOIN keyword AS k ON k.id = s.id
  LEFT JOIN messages AS msg
    ON i.source_type = 'message' AND msg.owner_id = i.owner_id AND msg.id = i.source_id
  LEFT JOIN memories AS mem
    ON i.source_type = 'memory' AND mem.owner_id = i.owner_id AND mem.id = i.memory_id
  LEFT JOIN memory_versions AS ver
    ON ver.owner_id = mem.owner_id AND ver.memory_id = mem.id AND ver.version = i.memory_version
  LEFT JOIN chunks AS chk
    ON i.source_type = 'chunk' AND chk.owner_id = i.owner_id AND chk.id = i.source_id
