-- Messages of the owner of memories that say what these say.

-- Messages with their similarity to the last versions of memories, in the namespaces these are in,
-- or in the conversations where they came up.
-- They certainly say it if the memory cites them; if their words are almost the same; or if a
-- mention without a message came up within ten minutes after them and, of the people's and of the
-- agent's messages, they are nearest to it.
--
-- Messages that certainly say it are there for each of the memories, the similar ones once.
--
-- Binds: owner_id, ids (of memories); same, source and similar: cosine similarities.
-- name: find
WITH came_up AS MATERIALIZED (
    SELECT memory_id, id, message_id, conversation_id, mentioned_at
      FROM mentions
     WHERE owner_id = :owner_id AND memory_id = ANY (CAST(:ids AS text[]))
),
words AS MATERIALIZED (
    SELECT k.memory_id, i.embedding, i.agent_id, i.space_id
      FROM unnest(CAST(:ids AS text[])) AS k (memory_id)
     CROSS JOIN LATERAL (SELECT embedding, agent_id, space_id
                           FROM recall_items
                          WHERE owner_id = :owner_id AND memory_id = k.memory_id
                          ORDER BY memory_version DESC
                          LIMIT 5) AS i
),
near AS MATERIALIZED (
    SELECT w.memory_id, i.source_id AS message_id,
           max(1 - (i.embedding <=> w.embedding)) >= :same AS certain, bool_or(i.active) AS active
      FROM words AS w
      JOIN recall_items AS i
        ON i.owner_id = :owner_id AND i.source_type = 'message'
       AND i.space_id IS NOT DISTINCT FROM w.space_id
       AND (w.agent_id IS NULL OR i.agent_id = w.agent_id
            -- The scope in effect may have changed since the message was said.
            OR (w.memory_id, i.conversation_id)
               IN (SELECT memory_id, conversation_id FROM came_up))
       AND 1 - (i.embedding <=> w.embedding) >= least(CAST(:same AS float8), :similar)
     GROUP BY w.memory_id, i.source_id
),
mentioned AS MATERIALIZED (
    SELECT c.*, w.embedding, w.agent_id, w.space_id
      FROM came_up AS c
      JOIN words AS w USING (memory_id)
),
certain AS MATERIALIZED (
    SELECT memory_id, message_id FROM came_up
     UNION
    SELECT memory_id, message_id FROM memory_versions
     WHERE owner_id = :owner_id AND memory_id = ANY (CAST(:ids AS text[]))
     UNION
    SELECT memory_id, message_id FROM near WHERE certain
     UNION
    SELECT memory_id, message_id
      FROM (SELECT DISTINCT ON (c.id, m.role) c.memory_id, m.id AS message_id
              FROM mentioned AS c
              JOIN messages AS m
                ON m.owner_id = :owner_id
               AND m.sent_at BETWEEN c.mentioned_at - interval '10 minutes'
                                 AND c.mentioned_at + interval '1 minute'
               AND (c.conversation_id IS NULL OR m.conversation_id = c.conversation_id)
               AND (c.message_id IS NULL OR m.role = 'assistant')
              JOIN recall_items AS i
                ON i.owner_id = :owner_id AND i.source_id = m.id AND i.source_type = 'message'
               AND i.space_id IS NOT DISTINCT FROM c.space_id
               AND (c.agent_id IS NULL OR i.agent_id = c.agent_id
                    OR (c.memory_id, i.conversation_id)
                       IN (SELECT memory_id, conversation_id FROM came_up))
               AND 1 - (i.embedding <=> c.embedding) >= :source
             ORDER BY c.id, m.role, i.embedding <=> c.embedding) AS said
)
SELECT c.memory_id, m.id, m.conversation_id, m.position, true AS certain
  FROM certain AS c
  JOIN messages AS m ON m.owner_id = :owner_id AND m.id = c.message_id
 UNION ALL
SELECT n.memory_id, m.id, m.conversation_id, m.position, false
  FROM (SELECT message_id, min(memory_id) AS memory_id
          FROM near
         WHERE active AND message_id NOT IN (
               SELECT message_id FROM certain WHERE message_id IS NOT NULL)
         GROUP BY message_id) AS n
  JOIN messages AS m ON m.owner_id = :owner_id AND m.id = n.message_id;

-- name: withheld
SELECT w.memory_id, m.id, m.conversation_id, m.position, true AS certain
  FROM withheld_messages AS w
  JOIN messages AS m ON m.owner_id = w.owner_id AND m.id = w.message_id
 WHERE w.owner_id = :owner_id AND w.memory_id = ANY (CAST(:ids AS text[]));

-- In the order of every writer.
-- name: lock_conversations
SELECT id FROM conversations WHERE id = ANY (CAST(:ids AS uuid[])) ORDER BY id FOR UPDATE;

-- name: withhold
INSERT INTO withheld_messages (owner_id, memory_id, message_id)
SELECT :owner_id, w.memory_id, w.message_id
  FROM unnest(CAST(:memory_ids AS text[]), CAST(:message_ids AS uuid[]))
       AS w (memory_id, message_id)
ON CONFLICT DO NOTHING;

-- name: release
DELETE FROM withheld_messages
 WHERE owner_id = :owner_id AND memory_id = ANY (CAST(:ids AS text[]));

-- Of forgotten memories' messages, those that no other memory in use or reach cites.
-- name: erasable
SELECT DISTINCT w.message_id AS id, m.conversation_id
  FROM withheld_messages AS w
  JOIN messages AS m ON m.owner_id = w.owner_id AND m.id = w.message_id
 WHERE w.owner_id = :owner_id AND w.memory_id = ANY (CAST(:memory_ids AS text[]))
   AND NOT EXISTS (
       SELECT FROM mentions AS c
         JOIN memories AS o ON o.owner_id = c.owner_id AND o.id = c.memory_id
        WHERE c.message_id = w.message_id AND o.status <> 'forgotten')
   AND NOT EXISTS (
       SELECT FROM memory_versions AS c
         JOIN memories AS o ON o.owner_id = c.owner_id AND o.id = c.memory_id
        WHERE c.message_id = w.message_id AND o.status <> 'forgotten');

-- Binds: owner_id, ids (messages; null: all of the owner's).
-- name: erase
DELETE FROM withheld_messages
 WHERE owner_id = :owner_id
   AND (CAST(:ids AS uuid[]) IS NULL OR message_id = ANY (CAST(:ids AS uuid[])));

-- Messages of a user who becomes another one, and back. Binds: olds and news are ids of memories.
-- name: transfer
WITH moved AS (
    DELETE FROM withheld_messages
     WHERE owner_id = :giver AND message_id = ANY (CAST(:ids AS uuid[]))
    RETURNING memory_id, message_id
)
INSERT INTO withheld_messages (owner_id, memory_id, message_id)
SELECT :taker, coalesce(r.new, m.memory_id), m.message_id
  FROM moved AS m
  LEFT JOIN unnest(CAST(:olds AS text[]), CAST(:news AS text[])) AS r (old, new)
    ON r.old = m.memory_id
ON CONFLICT DO NOTHING;
