-- What is new in a user's memory and what leaves it, and where memories come from.

-- name: digest
-- Memories of a user: added since a time, about to expire, forgotten since.
(SELECT 'new' AS part, m.id, m.created_at AS at
   FROM memories AS m
  WHERE m.owner_id = :user_id AND m.status = 'active' AND m.created_at >= :since
    AND (m.expires_at > now()) IS NOT FALSE
  ORDER BY m.created_at DESC, m.id DESC
  LIMIT :count)
 UNION ALL
(SELECT 'expiring', m.id, m.expires_at
   FROM memories AS m
  WHERE m.owner_id = :user_id AND m.status = 'active'
    AND m.expires_at > now() AND m.expires_at < :soon
  ORDER BY m.expires_at, m.id
  LIMIT :count)
 UNION ALL
(SELECT 'forgotten', m.id, m.forgotten_at
   FROM memories AS m
  WHERE m.owner_id = :user_id AND m.status = 'forgotten' AND m.forgotten_at >= :since
    AND m.review <> 'rejected'
  ORDER BY m.forgotten_at DESC, m.id DESC
  LIMIT :count);

-- name: counts
-- How many memories came through each agent, today and since a time.
SELECT a.name AS agent, count(*) FILTER (WHERE m.created_at >= :today) AS today, count(*) AS week
  FROM memories AS m
  LEFT JOIN LATERAL (
       SELECT n.agent_id
         FROM mentions AS n
        WHERE n.owner_id = m.owner_id AND n.memory_id = m.id
        ORDER BY n.id
        LIMIT 1
       ) AS first ON true
  LEFT JOIN agents AS a ON a.id = first.agent_id
 WHERE m.owner_id = :user_id AND m.status = 'active' AND m.created_at >= :since
   AND (m.expires_at > now()) IS NOT FALSE
 GROUP BY a.id, a.name
 ORDER BY week DESC, a.name;

-- name: origins
-- The first mention of visible memories, with the words of its message.
SELECT m.owner_id, m.id AS memory_id, n.mentioned_at AS at, n.source, a.name AS agent,
       c.id AS conversation_id, c.title, c.platform,
       said.id AS message_id, said.content AS words, said.sender_name AS sender, said.role
  FROM unnest(CAST(:owners AS uuid[]), CAST(:ids AS text[])) AS k (owner_id, id)
  JOIN memories AS m ON m.owner_id = k.owner_id AND m.id = k.id AND /*[visible m*/ true /*]*/
 CROSS JOIN LATERAL (
       SELECT n.*
         FROM mentions AS n
        WHERE n.owner_id = m.owner_id AND n.memory_id = m.id
        ORDER BY n.id
        LIMIT 1
       ) AS n
  LEFT JOIN agents AS a ON a.id = n.agent_id
  LEFT JOIN participants AS p ON p.user_id = :user_id AND p.conversation_id = n.conversation_id
  LEFT JOIN conversations AS c ON c.id = p.conversation_id
  LEFT JOIN messages AS said ON said.owner_id = n.owner_id AND said.id = n.message_id
                            AND said.conversation_id = c.id
                            AND NOT EXISTS (
                                SELECT FROM withheld_messages AS w
                                 WHERE w.owner_id = said.owner_id AND w.message_id = said.id);

-- name: talks
SELECT c.id, c.title, c.platform
  FROM participants AS p
  JOIN conversations AS c ON c.id = p.conversation_id
 WHERE p.user_id = :user_id AND p.conversation_id = ANY (CAST(:ids AS uuid[]));

-- name: readings
-- The agents that read a memory since a time, each with the last time. Looking at a page is none.
SELECT a.name AS agent, max(l.at) AS at
  FROM audit_log AS l
  LEFT JOIN agents AS a ON a.id = l.actor_agent_id
 WHERE l.owner_id = :owner_id AND l.at >= :since AND l.outcome = 'done'
   AND l.target_ids @> ARRAY[CAST(:id AS text)]
   AND (l.action = 'recall' OR l.action LIKE '%.read') AND l.entry_point <> 'web'
 GROUP BY a.id, a.name
 ORDER BY at DESC;

-- name: associated
-- A user's memories with the most associations: where a look at the graph may start.
SELECT m.id, count(*) AS count
  FROM (SELECT owner_id, memory_id AS id FROM associations WHERE owner_id = :user_id
         UNION ALL
        SELECT target_owner_id, target_id FROM associations WHERE target_owner_id = :user_id) AS e
  JOIN memories AS m USING (owner_id, id)
 WHERE m.status = 'active' AND (m.expires_at > now()) IS NOT FALSE
 GROUP BY m.id
 ORDER BY count DESC, m.id
 LIMIT :count;
