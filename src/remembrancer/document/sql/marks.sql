-- Marks of what an actor sees: a mark changes when what it is of does. Changes of a memory move its
-- time, mentions the sum, and what appears or goes the counts. What the actor does not see has the
-- mark of what is not there.
--
-- Binds: kinds (document, context, memories, facts, places), names (of a memory its id, of facts
-- their category, of a place its place id); user_id and the binds of the access rule.

-- name: marks
SELECT CAST(jsonb_build_array(
           count(m.id), count(*) FILTER (WHERE m.status = 'active'), max(m.updated_at),
           sum(m.version + m.mention_count)) AS text) AS value
  FROM unnest(CAST(:kinds AS text[]), CAST(:names AS text[])) WITH ORDINALITY
       AS p (kind, name, place)
  LEFT JOIN memories AS m
         ON /*[visible m*/ true /*]*/
        AND CASE p.kind
            WHEN 'document' THEN m.owner_id = :user_id AND m.space_id IS NULL
            WHEN 'context' THEN m.in_use AND (m.expires_at > now()) IS NOT FALSE
            WHEN 'memories' THEN m.id = p.name
            WHEN 'facts' THEN m.category = p.name AND m.status = 'active'
            WHEN 'places' THEN m.place_id = p.name
            END
 GROUP BY p.place
 ORDER BY p.place;
