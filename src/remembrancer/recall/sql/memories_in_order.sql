-- Memories in an order without a query: the latest, the most important, the most accessed.
--
-- Binds: user_id, agent_id, sort, count, and those of [filters].
-- /*[visible i*/ true /*]*/ is the access rule (access.py); recall/queries.py fills the other parts.

-- name: memories_in_order
SELECT i.id, i.traits, i.source_type, i.owner_id, i.agent_id, i.space_id, i.visibility,
       i.conversation_id, i.position, i.at, i.valid_from, i.valid_to,
       i.memory_id, i.source_id, i.kind, i.category, i.importance,
       m.subject, m.pinned, m.access_count, m.external_id,
       /*[version*/ m.version /*]*/ AS version, /*[content*/ m.content /*]*/ AS content
  FROM recall_items AS i
  JOIN memories AS m ON m.owner_id = i.owner_id AND m.id = i.memory_id
  /*[versions*/ /*]*/
 WHERE /*[visible i*/ true /*]*/
   AND i.source_type = 'memory'
   AND i.active
   AND (m.expires_at > now()) IS NOT FALSE
   AND /*[known*/ i.superseded_at IS NULL /*]*/
   /*[filters*/ /*]*/
 ORDER BY CASE CAST(:sort AS text)
              WHEN 'importance' THEN /*[weight*/ i.importance /*]*/
              WHEN 'most_accessed' THEN m.access_count
              ELSE extract(epoch FROM i.at)
          END DESC,
          i.id DESC
 LIMIT :count;
