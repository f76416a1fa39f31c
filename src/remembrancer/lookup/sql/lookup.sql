-- What is new in a memory and what leaves it, where memories come from, the graph, the timeline.

-- name: digest
-- Memories of a user: added since a time, about to expire, forgotten since.
(SELECT 'new' AS part, m.id, m.created_at AS at
   FROM memories AS m
  WHERE m.owner_id = :user_id AND m.status = 'active' AND m.created_at >= :since
    AND (m.expires_at IS NULL OR m.expires_at > now())
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
-- How many memories came through each agent, today and since a time. One walk through the mentions:
-- a look-up for each memory takes most of the page where thousands are new, as after an import.
SELECT a.name AS agent, count(*) FILTER (WHERE f.created_at >= :today) AS today, count(*) AS week
  FROM (SELECT DISTINCT ON (m.id) m.id, m.created_at, n.agent_id
          FROM memories AS m
          LEFT JOIN mentions AS n ON n.owner_id = m.owner_id AND n.memory_id = m.id
         WHERE m.owner_id = :user_id AND m.status = 'active' AND m.created_at >= :since
           AND (m.expires_at IS NULL OR m.expires_at > now())
         ORDER BY m.id, n.id) AS f
  LEFT JOIN agents AS a ON a.id = f.agent_id
 GROUP BY a.id, a.name
 ORDER BY week DESC, a.name;

-- name: origins
-- The first mention of visible memories, with the words of its message.
SELECT m.owner_id, m.id AS memory_id, n.mentioned_at AS at, n.source, a.name AS agent,
       c.id AS conversation_id, c.title, c.platform,
       said.id AS message_id, said.content AS words, said.sender_name AS sender, said.role,
       -- A deleted message takes its mentions along, so this one was removed by retention.
       CASE WHEN said.id IS NULL AND c.id IS NOT NULL AND n.message_id IS NOT NULL THEN
            NOT EXISTS (SELECT FROM participants AS o
                          JOIN messages AS x ON x.owner_id = o.user_id AND x.id = n.message_id
                         WHERE o.conversation_id = c.id)
            ELSE false END AS message_removed
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

-- name: agents
-- The current agents, with the facts that decide the scope of a user with each.
SELECT facts.*, agent.id, agent.name
  FROM agents AS agent
 CROSS JOIN LATERAL (
       /*[facts :user_id agent.id*/
       SELECT 'agent' AS agent_default, true AS preference, true AS toggle, true AS policy_allows
       /*]*/
       ) AS facts
 WHERE agent.deleted_at IS NULL
 ORDER BY agent.id
 LIMIT :most;

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

-- name: graph
-- The associations of a user's memories, both ends visible and in use, the strongest first, then
-- the newest; with a text, those that have it at an end. `total` counts them all.
SELECT a.owner_id, a.memory_id, a.target_owner_id, a.target_id, a.relation, a.weight,
       a.shared_space_id, a.created_at, a.updated_at, s.category, s.content, s.importance,
       t.category AS target_category, t.content AS target_content,
       t.importance AS target_importance, count(*) OVER () AS total
  FROM (SELECT * FROM associations WHERE owner_id = :user_id
         UNION ALL
        SELECT * FROM associations WHERE target_owner_id = :user_id AND owner_id <> :user_id) AS a
  JOIN memories AS s ON s.owner_id = a.owner_id AND s.id = a.memory_id
                    AND s.status = 'active' AND (s.expires_at > now()) IS NOT FALSE
                    AND /*[visible s*/ true /*]*/
  JOIN memories AS t ON t.owner_id = a.target_owner_id AND t.id = a.target_id
                    AND t.status = 'active' AND (t.expires_at > now()) IS NOT FALSE
                    AND /*[visible t*/ true /*]*/
 WHERE CAST(:text AS text) IS NULL
    OR strpos(lower(s.content), lower(CAST(:text AS text))) > 0
    OR strpos(lower(t.content), lower(CAST(:text AS text))) > 0
 ORDER BY a.weight DESC, a.created_at DESC, a.owner_id, a.memory_id, a.target_owner_id,
       a.target_id, a.relation
 LIMIT :count;

-- name: then_and_now
-- A user's memories at a time and since: `known` then, `learnt` since, `changed` since, `forgotten`
-- since. A memory may be in several parts; `total` counts a part. What is pending, rejected or set
-- aside is in none. Known then plus learnt minus forgotten is what is known now.
WITH lives AS MATERIALIZED (
    SELECT m.id, m.content, m.created_at, v.content AS content_then, v.recorded_at, gone.at AS gone_at,
           v.memory_id IS NOT NULL AND (gone.at >= :at) IS NOT FALSE AS known_then,
           gone.at IS NULL AS known_now
      FROM memories AS m
     CROSS JOIN LATERAL (
           SELECT CASE WHEN m.status = 'forgotten' THEN coalesce(m.forgotten_at, m.updated_at)
                       WHEN m.expires_at <= now() THEN m.expires_at END AS at) AS gone
      LEFT JOIN memory_versions AS v ON v.owner_id = m.owner_id AND v.memory_id = m.id
                                    AND v.recorded_at < :at
                                    AND (v.superseded_at >= :at) IS NOT FALSE
     WHERE m.owner_id = :user_id AND m.status IN ('active', 'forgotten') AND m.review <> 'rejected'
),
parts AS (
    SELECT part.name AS part, l.id, l.content, l.content_then, l.known_now,
           CASE part.name
                WHEN 'known' THEN l.recorded_at
                WHEN 'learnt' THEN l.created_at
                WHEN 'forgotten' THEN l.gone_at
                ELSE (SELECT min(v.recorded_at)
                        FROM memory_versions AS v
                       WHERE v.owner_id = :user_id AND v.memory_id = l.id
                         AND v.recorded_at >= :at AND v.content <> l.content_then)
           END AS at
      FROM lives AS l
     CROSS JOIN LATERAL (
           VALUES ('known', l.known_then),
                  ('learnt', l.known_now AND NOT l.known_then),
                  ('changed', l.known_then AND l.known_now AND l.content <> l.content_then),
                  ('forgotten', l.known_then AND NOT l.known_now)) AS part (name, holds)
     WHERE part.holds
),
ranked AS (
    SELECT *, count(*) OVER (PARTITION BY part) AS total,
           row_number() OVER (PARTITION BY part ORDER BY at DESC, id) AS position
      FROM parts
)
SELECT part, id, content, content_then, known_now, at, total
  FROM ranked
 WHERE position <= :count
 ORDER BY part, position;

-- name: days
-- How many of a user's memories were learnt, changed and forgotten on each day of a zone. What is
-- pending, rejected or set aside does not count.
WITH lives AS MATERIALIZED (
    SELECT m.id, m.created_at,
           CASE WHEN m.status = 'forgotten' THEN coalesce(m.forgotten_at, m.updated_at)
                WHEN m.expires_at <= now() THEN m.expires_at END AS gone_at
      FROM memories AS m
     WHERE m.owner_id = :user_id AND m.status IN ('active', 'forgotten') AND m.review <> 'rejected'
),
events AS (
    SELECT 'learnt' AS name, created_at AS at FROM lives
     UNION ALL
    SELECT 'forgotten', gone_at FROM lives WHERE gone_at IS NOT NULL
     UNION ALL
    SELECT 'changed', v.recorded_at
      FROM (SELECT memory_id, recorded_at, content,
                   lag(content) OVER (PARTITION BY memory_id ORDER BY version) AS before
              FROM memory_versions
             WHERE owner_id = :user_id) AS v
      JOIN lives AS l ON l.id = v.memory_id
     WHERE v.content <> v.before
)
SELECT CAST(e.at AT TIME ZONE CAST(:zone AS text) AS date) AS day,
       count(*) FILTER (WHERE e.name = 'learnt') AS learnt,
       count(*) FILTER (WHERE e.name = 'changed') AS changed,
       count(*) FILTER (WHERE e.name = 'forgotten') AS forgotten
  FROM events AS e
 GROUP BY day
 ORDER BY day;
