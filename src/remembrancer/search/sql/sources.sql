-- Search items of messages and chunks. Binds: owners and ids, an owner for each id.

-- name: erase
WITH items AS MATERIALIZED (
    SELECT i.owner_id, i.id
      FROM recall_items AS i
      JOIN unnest(CAST(:owners AS uuid[]), CAST(:ids AS uuid[])) AS s (owner_id, id)
        ON i.owner_id = s.owner_id AND i.source_id = s.id
),
postings_gone AS (
    DELETE FROM postings AS t USING items AS i
     WHERE t.owner_id = i.owner_id AND t.item_id = i.id
    RETURNING 1
),
reembeddings_gone AS (
    DELETE FROM reembeddings AS t USING items AS i
     WHERE t.owner_id = i.owner_id AND t.item_id = i.id
    RETURNING 1
),
items_gone AS (
    DELETE FROM recall_items AS t USING items AS i
     WHERE t.owner_id = i.owner_id AND t.id = i.id
    RETURNING 1
)
SELECT (SELECT count(*) FROM postings_gone) AS postings,
       (SELECT count(*) FROM reembeddings_gone) AS reembeddings,
       (SELECT count(*) FROM items_gone) AS recall_items;

-- name: copy
WITH numbered AS MATERIALIZED (
    SELECT nextval(pg_get_serial_sequence('recall_items', 'id')) AS new_item, s.new_id, i.*
      FROM unnest(CAST(:ids AS uuid[]), CAST(:new_ids AS uuid[])) AS s (id, new_id)
      JOIN recall_items AS i ON i.owner_id = :giver AND i.source_id = s.id
),
items AS (
    INSERT INTO recall_items (owner_id, id, length, active, visibility, agent_id, space_id,
                              conversation_id, position, content_hash, embedding,
                              source_type, source_id, at, recorded_at)
    SELECT :taker, new_item, length, active, visibility, agent_id, space_id,
           conversation_id, position, content_hash, embedding,
           source_type, new_id, at, recorded_at
      FROM numbered
)
INSERT INTO postings (owner_id, term, item_id, frequency, shared_space_id)
SELECT :taker, p.term, n.new_item, p.frequency, p.shared_space_id
  FROM numbered AS n
  JOIN postings AS p ON p.owner_id = :giver AND p.item_id = n.id;
