-- What each agent of a user may read of them.

-- name: placements
-- How many active memories of a user lie where; "joined": in a space that the user is a member of.
SELECT m.agent_id, m.space_id, m.visibility,
       coalesce(bool_or(m.space_id = ANY (
           ARRAY(SELECT space_id FROM space_members WHERE user_id = :user_id))), false) AS joined,
       count(*) AS count
  FROM memories AS m
 WHERE m.owner_id = :user_id AND m.status = 'active' AND (m.expires_at > now()) IS NOT FALSE
 GROUP BY m.agent_id, m.space_id, m.visibility;

-- name: uses
-- When the user last talked with each agent, was told something or something of theirs was read.
-- Looking at a page is no use.
SELECT used.agent_id, max(used.at) AS at
  FROM (SELECT c.agent_id, c.updated_at AS at
          FROM participants AS p
          JOIN conversations AS c ON c.id = p.conversation_id
         WHERE p.user_id = :user_id
         UNION ALL
        SELECT n.agent_id, n.mentioned_at FROM mentions AS n WHERE n.owner_id = :user_id
         UNION ALL
        SELECT l.actor_agent_id, l.at
          FROM audit_log AS l
         WHERE l.owner_id = :user_id AND l.at >= :since AND l.outcome = 'done'
           AND l.entry_point <> 'web') AS used
 WHERE used.agent_id IS NOT NULL
 GROUP BY used.agent_id;

-- name: compare
-- A user's active memories by who of two readers may read them: the left one, the right one, both.
-- A reader is an agent in a namespace: its own, or the global one, which is null.
SELECT ranked.part, ranked.id, ranked.count
  FROM (SELECT seen.part, seen.id, count(*) OVER (PARTITION BY seen.part) AS count,
               row_number() OVER (
                   PARTITION BY seen.part ORDER BY seen.created_at DESC, seen.id DESC) AS rank
          FROM (SELECT m.id, m.created_at,
                       CASE WHEN rule.by_left AND rule.by_right THEN 'both'
                            WHEN rule.by_left THEN 'left'
                            WHEN rule.by_right THEN 'right' END AS part
                  FROM memories AS m
                 CROSS JOIN LATERAL (
                       SELECT (/*[left m*/ true /*]*/) IS TRUE AS by_left,
                              (/*[right m*/ true /*]*/) IS TRUE AS by_right
                       ) AS rule
                 WHERE m.owner_id = :user_id AND m.status = 'active'
                   AND (m.expires_at > now()) IS NOT FALSE) AS seen
         WHERE seen.part IS NOT NULL) AS ranked
 WHERE ranked.rank <= :most
 ORDER BY ranked.part, ranked.rank;
