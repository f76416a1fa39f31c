-- One step along associations from each of {nodes}, a part of candidates.sql.
--
-- What a path is worth falls with each step, by the weight of the association and by `decay`.

SELECT n.seed, n.standing, n.hops + 1 AS hops, link.owner_id, link.memory_id, link.id,
       n.strength * link.weight * CAST(:decay AS float8) AS strength,
       n.path || jsonb_build_object(
           'memory_id', n.memory_id, 'relation', link.relation, 'direction', link.direction
       ) AS path
  FROM {nodes} AS n
 CROSS JOIN LATERAL (
       {links}
 ) AS link
