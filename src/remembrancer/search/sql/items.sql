-- Search items. Those of memories copy the columns that recall filters by.

-- name: add
-- The model stays locked until the transaction ends, so that no vector of the old model is stored
-- after `reembed` has replaced them. With another model, nothing is stored.
--
-- Binds: model, items as JSON, their vectors one after the other, and dimensions (of a vector);
-- and of each posting the number of its item, its term (separated by spaces) and its frequency.
WITH model AS MATERIALIZED (
    SELECT name FROM embedding_model FOR SHARE
),
new AS MATERIALIZED (
    SELECT nextval((SELECT pg_get_serial_sequence('recall_items', 'id'))) AS new_id, i.*
      FROM model
     CROSS JOIN (/*[items*/ SELECT * FROM jsonb_populate_recordset(CAST(NULL AS recall_items), CAST(:items AS jsonb)) WITH ORDINALITY AS r /*]*/) AS i
     WHERE model.name = :model
),
added AS (
    INSERT INTO recall_items (owner_id, id, length, active, visibility, agent_id, space_id,
                              conversation_id, position, content_hash, embedding, source_type,
                              source_id, memory_id, memory_version, at, recorded_at, valid_from,
                              valid_to, kind, category, importance, terms, traits)
    SELECT owner_id, new_id, length, active, visibility, agent_id, space_id,
           conversation_id, position, content_hash,
           CAST((CAST(:vectors AS real[]))[
               (ordinality - 1) * CAST(:dimensions AS int) + 1 : ordinality * CAST(:dimensions AS int)
           ] AS halfvec),
           source_type, source_id, memory_id, memory_version, at, recorded_at, valid_from,
           valid_to, kind, category, importance, coalesce(terms, ''), traits
      FROM new
    RETURNING owner_id, id
),
noted AS (
    /*[noted added*/ SELECT /*]*/
),
added_postings AS (
    INSERT INTO postings (owner_id, term, item_id, frequency, shared_space_id)
    SELECT n.owner_id, p.term, n.new_id, p.frequency,
           CASE WHEN n.visibility = 'shared' THEN n.space_id END
      FROM ROWS FROM (unnest(CAST(:numbers AS int[])),
                      string_to_table(CAST(:terms AS text), ' '),
                      unnest(CAST(:frequencies AS smallint[]))) AS p (number, term, frequency)
      JOIN new AS n ON n.ordinality = p.number
)
SELECT name AS value FROM model;

-- Note the items of `changed`, whichever way they changed. The row of an owner stays locked until
-- the transaction ends, so the order of versions is that of commits.
-- name: noted
INSERT INTO item_changes AS c (owner_id, version, recent)
SELECT owner_id, CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint), array_agg(id)
  FROM /*[changed*/ recall_items /*]*/
 GROUP BY owner_id
 ORDER BY owner_id
    ON CONFLICT (owner_id) DO UPDATE
   SET version = c.version + cardinality(excluded.recent),
       recent = (c.recent || excluded.recent)[
           greatest(cardinality(c.recent) + cardinality(excluded.recent) - 255, 1) :];

-- Note memories of which something changed that their items have not got: a recall ranks by it.
-- name: note_memories
WITH changed AS (
SELECT i.owner_id, i.id
  FROM unnest(CAST(:owners AS uuid[]), CAST(:ids AS text[])) AS k (owner_id, id)
  JOIN recall_items AS i ON i.owner_id = k.owner_id AND i.memory_id = k.id
)
/*[noted changed*/ SELECT FROM changed /*]*/;

-- Note that many items of some owners changed, or all of them. Nothing stays of who has none.
-- name: note_all
WITH emptied AS (
    DELETE FROM item_changes AS c
     WHERE owner_id = ANY (CAST(:owners AS uuid[]))
       AND NOT EXISTS (SELECT FROM recall_items AS i WHERE i.owner_id = c.owner_id)
)
INSERT INTO item_changes AS c (owner_id, version, recent)
SELECT owner_id, CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint), '{}'
  FROM unnest(CAST(:owners AS uuid[])) AS o (owner_id)
 WHERE EXISTS (SELECT FROM recall_items AS i WHERE i.owner_id = o.owner_id)
 GROUP BY owner_id
 ORDER BY owner_id
    ON CONFLICT (owner_id) DO UPDATE SET version = c.version + 1, recent = '{}';

-- Items of messages have the placement and position of their messages; none are made for messages
-- off the record.
-- name: of_messages
SELECT r.ordinality, r.owner_id, r.length, r.active, m.visibility, m.agent_id, m.space_id,
       r.conversation_id, m.position, r.content_hash, r.source_type, r.source_id, r.memory_id,
       r.memory_version, r.at, r.recorded_at, r.valid_from, r.valid_to, r.kind, r.category,
       r.importance, r.terms, r.traits
  FROM jsonb_populate_recordset(CAST(NULL AS recall_items), CAST(:items AS jsonb))
       WITH ORDINALITY AS r
  JOIN messages AS m ON m.owner_id = r.owner_id AND m.id = r.source_id AND NOT m.off_record;

-- name: refresh_memories
-- A version without new content takes over the item of the version before.
WITH changed AS (
UPDATE recall_items AS i
   SET active = m.in_use,
       agent_id = m.agent_id,
       space_id = m.space_id,
       visibility = m.visibility,
       superseded_at = new.superseded_at,
       memory_version = new.memory_version,
       kind = CASE WHEN new.current THEN m.kind ELSE i.kind END,
       category = CASE WHEN new.current THEN m.category ELSE i.category END,
       importance = CASE WHEN new.current THEN m.importance ELSE i.importance END,
       valid_from = CASE WHEN new.current THEN m.valid_from ELSE i.valid_from END,
       valid_to = CASE WHEN new.current THEN m.valid_to ELSE i.valid_to END
  FROM unnest(CAST(:owners AS uuid[]), CAST(:ids AS text[])) AS k (owner_id, id)
  JOIN memories AS m ON m.owner_id = k.owner_id AND m.id = k.id
  JOIN recall_items AS old ON old.owner_id = m.owner_id AND old.memory_id = m.id
  JOIN memory_versions AS v ON v.owner_id = m.owner_id AND v.memory_id = m.id
                           AND v.version = old.memory_version
 CROSS JOIN LATERAL (
       SELECT NOT EXISTS (
              SELECT FROM recall_items AS later
               WHERE later.owner_id = old.owner_id AND later.memory_id = old.memory_id
                 AND later.memory_version > old.memory_version) AS current
       ) AS latest
 CROSS JOIN LATERAL (
       SELECT latest.current,
              CASE WHEN latest.current THEN m.version ELSE old.memory_version END
              AS memory_version,
              CASE WHEN NOT latest.current THEN coalesce(old.superseded_at, v.superseded_at) END
              AS superseded_at
       ) AS new
 WHERE i.owner_id = old.owner_id AND i.id = old.id
   AND ((i.active, i.agent_id, i.space_id, i.visibility, i.superseded_at, i.memory_version)
        IS DISTINCT FROM
        (m.in_use, m.agent_id, m.space_id, m.visibility, new.superseded_at, new.memory_version)
        OR (new.current
            AND (i.kind, i.category, i.importance, i.valid_from, i.valid_to)
                IS DISTINCT FROM (m.kind, m.category, m.importance, m.valid_from, m.valid_to)))
RETURNING i.owner_id, i.id
)
/*[noted changed*/ SELECT FROM changed /*]*/;

-- name: refresh_messages
WITH changed AS (
UPDATE recall_items AS i
   SET active = NOT EXISTS (SELECT FROM withheld_messages AS w
                             WHERE w.owner_id = i.owner_id AND w.message_id = i.source_id)
  FROM unnest(CAST(:owners AS uuid[]), CAST(:ids AS uuid[])) AS k (owner_id, id)
 WHERE i.owner_id = k.owner_id AND i.source_id = k.id AND i.source_type = 'message'
RETURNING i.owner_id, i.id
)
/*[noted changed*/ SELECT FROM changed /*]*/;

-- name: reshare_memories
UPDATE postings AS p
   SET shared_space_id = i.shared_space_id
  FROM (SELECT DISTINCT id, unnest(string_to_array(terms, ' ')) AS term,
               CASE WHEN visibility = 'shared' THEN space_id END AS shared_space_id
          FROM recall_items
         WHERE owner_id = :owner_id AND memory_id = ANY (CAST(:ids AS text[]))) AS i
 WHERE p.owner_id = :owner_id AND p.term = i.term AND p.item_id = i.id;

-- name: return_items
-- The item of a deleted version goes back to the version before if both have the same content.
WITH changed AS (
UPDATE recall_items AS i
   SET memory_version = before.version,
       valid_from = before.valid_from,
       valid_to = before.valid_to
  FROM unnest(CAST(:owners AS uuid[]), CAST(:ids AS text[]), CAST(:versions AS int[]))
       AS k (owner_id, id, version)
  JOIN memory_versions AS v ON v.owner_id = k.owner_id AND v.memory_id = k.id
                           AND v.version = k.version
 CROSS JOIN LATERAL (
       SELECT *
         FROM memory_versions AS b
        WHERE b.owner_id = k.owner_id AND b.memory_id = k.id AND b.version < k.version
          AND b.version NOT IN (
              SELECT o.version
                FROM unnest(CAST(:owners AS uuid[]), CAST(:ids AS text[]), CAST(:versions AS int[]))
                     AS o (owner_id, id, version)
               WHERE o.owner_id = k.owner_id AND o.id = k.id)
        ORDER BY b.version DESC
        LIMIT 1
       ) AS before
 WHERE i.owner_id = k.owner_id AND i.memory_id = k.id AND i.memory_version = k.version
   AND before.content = v.content
   AND NOT EXISTS (
       SELECT FROM recall_items AS o
        WHERE o.owner_id = k.owner_id AND o.memory_id = k.id
          AND o.memory_version = before.version)
RETURNING i.owner_id, i.id
)
/*[noted changed*/ SELECT FROM changed /*]*/;

-- name: erase
WITH items AS MATERIALIZED (
    /*[items*/
    SELECT i.owner_id, i.id, i.terms
      FROM unnest(CAST(:owners AS uuid[]), CAST(:ids AS text[])) AS k (owner_id, id)
      JOIN recall_items AS i ON i.owner_id = k.owner_id AND i.memory_id = k.id
    /*]*/
),
-- By their terms: to find them by their item, all postings of the owner would be read.
erased_postings AS (
    DELETE FROM postings AS t
     USING (SELECT DISTINCT owner_id, id, unnest(string_to_array(terms, ' ')) AS term
              FROM items) AS i
     WHERE t.owner_id = i.owner_id AND t.term = i.term AND t.item_id = i.id
    RETURNING 1
),
erased_reembeddings AS (
    DELETE FROM reembeddings AS t USING items AS i
     WHERE t.owner_id = i.owner_id AND t.item_id = i.id
    RETURNING 1
),
erased_items AS (
    DELETE FROM recall_items AS t USING items AS i
     WHERE t.owner_id = i.owner_id AND t.id = i.id
    RETURNING t.owner_id, t.id
),
noted AS (
    /*[noted erased_items*/ SELECT /*]*/
)
SELECT (SELECT count(*) FROM erased_postings) AS postings,
       (SELECT count(*) FROM erased_reembeddings) AS reembeddings,
       (SELECT count(*) FROM erased_items) AS recall_items;

-- name: of_versions
SELECT i.owner_id, i.id, i.terms
  FROM unnest(CAST(:owners AS uuid[]), CAST(:ids AS text[]), CAST(:versions AS int[]))
       AS k (owner_id, id, version)
  JOIN recall_items AS i ON i.owner_id = k.owner_id AND i.memory_id = k.id
                        AND i.memory_version = k.version;

-- name: of_sources
SELECT i.owner_id, i.id, i.terms
  FROM unnest(CAST(:owners AS uuid[]), CAST(:ids AS uuid[])) AS k (owner_id, id)
  JOIN recall_items AS i ON i.owner_id = k.owner_id AND i.source_id = k.id;

-- name: number_memories
SELECT i.id AS old, p.new AS memory_id,
       nextval(pg_get_serial_sequence('recall_items', 'id')) AS new
  FROM unnest(CAST(:olds AS text[]), CAST(:news AS text[])) AS p (old, new)
  JOIN recall_items AS i ON i.owner_id = :owner_id AND i.memory_id = p.old;

-- name: copy_sources
WITH numbered AS MATERIALIZED (
    SELECT nextval(pg_get_serial_sequence('recall_items', 'id')) AS new_item, s.new_id, i.*
      FROM unnest(CAST(:ids AS uuid[]), CAST(:new_ids AS uuid[])) AS s (id, new_id)
      JOIN recall_items AS i ON i.owner_id = :giver AND i.source_id = s.id
),
items AS (
    INSERT INTO recall_items (owner_id, id, length, active, visibility, agent_id, space_id,
                              conversation_id, position, content_hash, embedding,
                              source_type, source_id, at, recorded_at, terms, traits)
    SELECT :taker, new_item, length, active, visibility, agent_id, space_id,
           conversation_id, position, content_hash, embedding,
           source_type, new_id, at, recorded_at, terms, traits
      FROM numbered
)
INSERT INTO postings (owner_id, term, item_id, frequency, shared_space_id)
SELECT :taker, p.term, n.new_item, p.frequency, p.shared_space_id
  FROM numbered AS n
  JOIN postings AS p ON p.owner_id = :giver AND p.item_id = n.id;
