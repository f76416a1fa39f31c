-- Items of many owners at once, straight into the tables. Run by benchmarks/growth.py.
--
-- Texts and vectors come from pools: a text is two halves, a vector is one of a real text plus a
-- short random one. So all texts and vectors differ, and vectors lie around real centres.

-- name: pools
CREATE UNLOGGED TABLE growth_texts (
    n int PRIMARY KEY, content text, words text, terms text[], counts smallint[]
);
CREATE UNLOGGED TABLE growth_centres (n int PRIMARY KEY, vector halfvec);
CREATE UNLOGGED TABLE growth_noises (n int PRIMARY KEY, vector halfvec);

-- name: people
INSERT INTO users (id, display_name)
SELECT CAST(md5('growth ' || n) AS uuid), 'User ' || n
  FROM generate_series(CAST(:first AS int), :last) AS n
    ON CONFLICT DO NOTHING;

-- Each owner gets the items from a number on. Items of all owners alternate, as they do when people
-- talk at the same time.
-- name: batch
CREATE TEMP TABLE growth_batch AS
SELECT nextval(pg_get_serial_sequence('recall_items', 'id')) AS item_id, made.*
  FROM (SELECT o.owner_id, substr(translate(encode(decode(md5(o.owner_id || ' ' || k.n), 'hex'), 'base64'),
                                '+/', 'ab'), 1, 8) AS memory_id,
               decode(md5(k.n || ' ' || o.owner_id), 'hex') AS content_hash,
               a.content || ' ' || b.content AS content,
               a.words || ' ' || b.words AS words,
               a.terms || b.terms AS terms, a.counts || b.counts AS counts, k.n,
               l2_normalize(c.vector + e.vector) AS vector,
               now() - 10 * (:start + :count - k.n) * interval '1 minute' AS at
          FROM unnest(CAST(:owners AS uuid[])) WITH ORDINALITY AS o (owner_id, n)
         CROSS JOIN generate_series(CAST(:start AS bigint), CAST(:start AS bigint) + :count - 1)
               AS k (n)
         CROSS JOIN LATERAL (
               SELECT (hashint8extended(o.n * 4000037 + k.n, :seed) & 9223372036854775807) AS hash
         ) AS h
          JOIN growth_texts AS a ON a.n = h.hash % :texts
          JOIN growth_texts AS b ON b.n = (h.hash / 65536) % :texts
          JOIN growth_centres AS c ON c.n = (h.hash / 1048576) % :centres
          JOIN growth_noises AS e ON e.n = (h.hash / 16777216) % :noises
         ORDER BY k.n, o.n) AS made;

-- name: memories
INSERT INTO memories (owner_id, id, kind, category, content, content_hash, tokens, importance,
                      created_at, updated_at)
SELECT owner_id, memory_id, 'fact', 'other', content, content_hash, 20, 0.5, at, at
  FROM growth_batch;

-- name: versions
INSERT INTO memory_versions (owner_id, memory_id, version, content, recorded_at)
SELECT owner_id, memory_id, 1, content, at FROM growth_batch;

-- name: mentions
INSERT INTO mentions (owner_id, memory_id, id, mentioned_at)
SELECT owner_id, memory_id, CAST(md5(owner_id || memory_id) AS uuid), at FROM growth_batch;

-- A line for each write.
-- name: audit
INSERT INTO audit_log (owner_id, id, at, actor_role, actor_user_id, entry_point, action, target_ids)
SELECT owner_id, CAST(md5(owner_id || memory_id) AS uuid), at, 'service', owner_id, 'rest',
       'memory.create', ARRAY[memory_id]
  FROM growth_batch;

-- name: items
INSERT INTO recall_items (owner_id, id, length, content_hash, embedding, source_type, memory_id,
                          memory_version, at, recorded_at, kind, category, importance, terms)
SELECT owner_id, item_id, (SELECT sum(c) FROM unnest(counts) AS c), content_hash, vector, 'memory',
       memory_id, 1, at, at, 'fact', 'other', 0.5, words
  FROM growth_batch
 ORDER BY item_id;

-- name: postings
INSERT INTO postings (owner_id, term, item_id, frequency)
SELECT b.owner_id, p.term, b.item_id, sum(p.count)
  FROM growth_batch AS b
 CROSS JOIN LATERAL unnest(b.terms, b.counts) AS p (term, count)
 GROUP BY b.owner_id, p.term, b.item_id
 ORDER BY b.owner_id, p.term, b.item_id;

-- The same texts as messages, in conversations of 100.
-- name: talks
INSERT INTO conversations (id, opened_by, message_count, summarised_to)
SELECT DISTINCT CAST(md5(owner_id || ' talk ' || n / 100) AS uuid), owner_id, 100, 80
  FROM growth_batch
    ON CONFLICT DO NOTHING;
INSERT INTO participants (user_id, conversation_id)
SELECT DISTINCT owner_id, CAST(md5(owner_id || ' talk ' || n / 100) AS uuid) FROM growth_batch
    ON CONFLICT DO NOTHING;

-- name: messages
INSERT INTO messages (owner_id, id, conversation_id, position, role, content, sent_at, created_at)
SELECT owner_id, CAST(encode(content_hash, 'hex') AS uuid),
       CAST(md5(owner_id || ' talk ' || n / 100) AS uuid), n % 100 + 1, 'user', content, at, at
  FROM growth_batch;

-- name: message_items
INSERT INTO recall_items (owner_id, id, length, content_hash, embedding, source_type, source_id,
                          conversation_id, position, at, recorded_at, terms)
SELECT owner_id, item_id, (SELECT sum(c) FROM unnest(counts) AS c), content_hash, vector, 'message',
       CAST(encode(content_hash, 'hex') AS uuid),
       CAST(md5(owner_id || ' talk ' || n / 100) AS uuid), n % 100 + 1, at, at, words
  FROM growth_batch
 ORDER BY item_id;

-- name: changes
INSERT INTO item_changes (owner_id, version, recent)
SELECT DISTINCT owner_id, 1, CAST('{}' AS bigint[]) FROM growth_batch
    ON CONFLICT DO NOTHING;

-- name: sizes
SELECT CASE WHEN c.relname LIKE 'audit_log%' THEN 'audit_log' ELSE c.relname END AS "table",
       CASE WHEN i.relname LIKE 'audit_log%at_idx' THEN 'ix_audit_log_everybody'
            WHEN i.relname LIKE 'audit_log%' THEN 'pk_audit_log' ELSE i.relname END AS "index",
       sum(CASE WHEN i.oid IS NULL THEN pg_table_size(c.oid) ELSE pg_relation_size(i.oid) END) AS bytes
  FROM pg_class AS c
 CROSS JOIN LATERAL (
       SELECT CAST(NULL AS oid) AS oid, CAST(NULL AS name) AS relname
       UNION ALL
       SELECT r.oid, r.relname FROM pg_index AS own JOIN pg_class AS r ON r.oid = own.indexrelid
        WHERE own.indrelid = c.oid
 ) AS i
 WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace
   AND c.relname NOT LIKE 'growth%'
 GROUP BY 1, 2;

-- The share of updates that needed no new entries in indexes.
-- name: hot
SELECT relname, round(CAST(n_tup_hot_upd AS numeric) / n_tup_upd, 3)::float8
  FROM pg_stat_user_tables WHERE n_tup_upd > 0 ORDER BY relname;

-- Conversations at rest: 21 to 30 messages without a summary, of which the sweep has to count tokens.
-- name: conversations
WITH made AS (
    INSERT INTO conversations (id, opened_by, message_count)
    SELECT CAST(md5('growth talk ' || n) AS uuid), CAST(md5('growth ' || n) AS uuid), 21 + n % 10
      FROM generate_series(CAST(:first AS int), :last) AS n
    RETURNING id, opened_by
)
INSERT INTO participants (user_id, conversation_id) SELECT opened_by, id FROM made;
