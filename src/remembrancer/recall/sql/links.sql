-- The strongest associations of one memory whose other end the asker sees, in each direction.
--
-- A part of other statements: {node} is the alias of the memory there. An association belongs
-- to the owner of the memory it leads from. So those that lead from a memory lie with it; those
-- that lead to it are looked up where the asker may see their other end: with the asker, among
-- shared knowledge, in the asker's spaces. Popular memories have thousands: no more than
-- `scanned` are read in each place, in the order of an index, and no more than `fanout` visible
-- ones come back for a direction.
--
-- Binds: scanned, fanout, and those of the rule.

SELECT CASE WHEN way.outgoing THEN 'outgoing' ELSE 'incoming' END AS direction, link.*
  FROM (VALUES (true), (false)) AS way (outgoing)
 CROSS JOIN LATERAL (
       SELECT other.owner_id, other.memory_id, other.relation, other.weight, item.id
         FROM (
              SELECT *
                FROM (
                     (SELECT a.target_owner_id AS owner_id, a.target_id AS memory_id,
                             a.relation, a.weight
                        FROM associations AS a
                       WHERE way.outgoing
                         AND (SELECT any_at_all FROM linkers)
                         AND a.owner_id = {node}.owner_id AND a.memory_id = {node}.memory_id
                         {only}
                       ORDER BY a.weight DESC, a.target_owner_id DESC, a.target_id DESC,
                             a.relation DESC
                       LIMIT :scanned)
                     UNION
                     SELECT a.*
                       FROM unnest(CAST((SELECT owners FROM linkers) AS uuid[]))
                            AS place (owner_id)
                      CROSS JOIN LATERAL (
                            SELECT a.owner_id, a.memory_id, a.relation, a.weight
                              FROM associations AS a
                             WHERE NOT way.outgoing
                               AND a.target_owner_id = {node}.owner_id
                               AND a.target_id = {node}.memory_id
                               AND a.owner_id = place.owner_id
                               {only}
                             ORDER BY a.weight DESC, a.memory_id DESC, a.relation DESC
                             LIMIT :scanned
                      ) AS a
                     UNION
                     SELECT a.*
                       FROM unnest(CAST((SELECT spaces FROM linkers) AS uuid[]))
                            AS place (space_id)
                      CROSS JOIN LATERAL (
                            SELECT a.owner_id, a.memory_id, a.relation, a.weight
                              FROM associations AS a
                             WHERE NOT way.outgoing
                               AND a.target_owner_id = {node}.owner_id
                               AND a.target_id = {node}.memory_id
                               AND a.shared_space_id = place.space_id
                               {only}
                             ORDER BY a.weight DESC, a.owner_id DESC, a.memory_id DESC,
                                   a.relation DESC
                             LIMIT :scanned
                      ) AS a
                     ) AS everywhere
               ORDER BY weight DESC, owner_id DESC, memory_id DESC, relation DESC
               LIMIT :scanned
              ) AS other
        CROSS JOIN LATERAL (
              SELECT i.id
                FROM recall_items AS i
               WHERE i.owner_id = other.owner_id
                 AND i.memory_id = other.memory_id
                 AND {visible}
                 AND i.active
                 AND {known}
              OFFSET 0
        ) AS item
        ORDER BY weight DESC, owner_id DESC, memory_id DESC, relation DESC
        LIMIT :fanout
 ) AS link
