-- What changed in the items of owners since a process read them, to check what it chose among them.

-- For each owner its version, and the items that changed since `versions`. With `reset`, all that
-- was read is void. An owner that is not read yet as a whole has the next `page` after `afters` too.
-- An item comes with what a recall ranks by: the sender of a message, and the words, which are
-- searched for calls of names and not kept; of a memory its last use and the place of its message.
-- `expired`: whether the asker sees memories that the sweep is yet to forget.
--
-- Binds: owners, versions (-1 for none), afters, page, told_in.

-- name: changes
WITH known AS MATERIALIZED (
    SELECT k.place, k.owner_id, k.version AS since, k.after AS known_to, c.version, c.changes IS NULL AS reset, c.changes,
           CASE WHEN c.changes IS NULL THEN -1 ELSE k.after END AS after
      FROM unnest(CAST(:owners AS uuid[]), CAST(:versions AS bigint[]), CAST(:afters AS bigint[]))
           WITH ORDINALITY AS k (owner_id, version, after, place)
     CROSS JOIN LATERAL (
           SELECT version,
                  CASE WHEN version - k.version BETWEEN 0 AND cardinality(recent)
                       THEN recent[cardinality(recent) - (version - k.version) + 1 :]
                  END AS changes
             -- Without a row there is no item, or nobody counted.
             FROM (SELECT CASE WHEN count(*) > 0 THEN max(version)
                               WHEN NOT EXISTS (SELECT FROM recall_items
                                                 WHERE owner_id = k.owner_id) THEN 0
                          END AS version,
                          coalesce(max(recent), '{}') AS recent
                     FROM item_changes
                    WHERE owner_id = k.owner_id) AS c
     ) AS c
)
SELECT CAST(k.place AS int) AS place, k.since, k.known_to AS after, k.version, k.reset, k.changes,
       EXISTS (SELECT FROM memories WHERE expires_at <= now() AND status <> 'forgotten')
       AS expired,
       (SELECT message_count FROM conversations WHERE id = :told_in) AS message_count,
       i.paged, i.id, i.active AND i.superseded_at IS NULL AS current, i.source_type, i.length,
       i.agent_id, i.space_id, i.visibility, i.conversation_id, i.position, i.memory_id, i.at,
       i.content_hash, halfvec_send(i.embedding) AS embedding, i.terms, i.traits, i.kind,
       i.importance, i.memory_version, said.*, fact.*, chunk.*
  FROM known AS k
  LEFT JOIN LATERAL (
       SELECT i.*, false AS paged
         FROM recall_items AS i
        WHERE i.owner_id = k.owner_id AND i.id = ANY (k.changes)
       UNION ALL
       (SELECT i.*, true
          FROM recall_items AS i
         WHERE i.owner_id = k.owner_id AND i.id > k.after
         ORDER BY i.id
         LIMIT :page)
  ) AS i ON true
  LEFT JOIN LATERAL (
       SELECT role, sender_name, content
         FROM messages
        WHERE i.source_type = 'message' AND owner_id = i.owner_id AND id = i.source_id
       OFFSET 0
  ) AS said ON true
  LEFT JOIN LATERAL (
       SELECT m.pinned, m.last_accessed_at, cited.conversation_id AS cited_conversation_id,
              cited.position AS cited_position
         FROM memories AS m
         LEFT JOIN LATERAL (
              SELECT conversation_id, position
                FROM messages
               WHERE owner_id = ANY (ARRAY[
                         m.owner_id, CAST('00000000-0000-0000-0000-000000000000' AS uuid)])
                 AND id = m.message_id
              OFFSET 0
         ) AS cited ON true
        WHERE i.source_type = 'memory' AND m.owner_id = i.owner_id AND m.id = i.memory_id
       OFFSET 0
  ) AS fact ON true
  LEFT JOIN LATERAL (
       SELECT range_start, range_end
         FROM chunks
        WHERE i.source_type = 'chunk' AND owner_id = i.owner_id AND id = i.source_id
       OFFSET 0
  ) AS chunk ON true;
