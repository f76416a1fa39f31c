-- Names for ids, and people by part of a name or id.

-- name: named
-- Whose ids these are. For admins.
SELECT u.id, 'person' AS kind, u.display_name AS name
  FROM users AS u WHERE u.id = ANY (CAST(:ids AS uuid[])) AND u.id <> :shared_owner
 UNION ALL
SELECT a.id, 'agent', a.name FROM agents AS a WHERE a.id = ANY (CAST(:ids AS uuid[]))
 UNION ALL
SELECT s.id, 'space', s.name FROM spaces AS s WHERE s.id = ANY (CAST(:ids AS uuid[]))
 UNION ALL
SELECT k.id, 'key', k.name FROM api_keys AS k WHERE k.id = ANY (CAST(:ids AS uuid[]));

-- name: everybody
-- People with a text in their name, in one of their platform ids, or at the start of their id. First
-- who has it as a whole platform id or name, then whose name starts with it.
WITH by_link AS (
    SELECT l.user_id, bool_or(l.platform || ':' || l.platform_user_id = CAST(:text AS text)) AS is_whole
      FROM platform_links AS l
     WHERE strpos(lower(l.platform || ':' || l.platform_user_id), lower(CAST(:text AS text))) > 0
     GROUP BY l.user_id
),
ranked AS (
    SELECT u.id, u.display_name,
           row_number() OVER (
               ORDER BY coalesce(b.is_whole, false) DESC,
                        lower(u.display_name) = lower(CAST(:text AS text)) DESC,
                        starts_with(lower(u.display_name), lower(CAST(:text AS text))) DESC,
                        lower(u.display_name), u.id) AS rank
      FROM users AS u
      LEFT JOIN by_link AS b ON b.user_id = u.id
     WHERE u.id <> :shared_owner AND u.merged_into IS NULL
       AND (b.user_id IS NOT NULL
            OR strpos(lower(u.display_name), lower(CAST(:text AS text))) > 0
            OR starts_with(CAST(u.id AS text), lower(CAST(:text AS text))))
)
-- Who was added in the pages has a link of theirs, which says nothing.
SELECT r.id, r.display_name,
       ARRAY(SELECT l.platform || ':' || l.platform_user_id
               FROM platform_links AS l
              WHERE l.user_id = r.id AND l.platform <> 'pages'
              ORDER BY l.platform, l.platform_user_id) AS links
  FROM ranked AS r
 WHERE r.rank <= :most
 ORDER BY r.rank;

-- name: fellows
-- The members of a user's spaces with a text in their name, or with one of these ids. Where a user
-- is a member they see the names of all members, and nothing else of them.
SELECT u.id, u.display_name, CAST('{}' AS text[]) AS links
  FROM users AS u
 WHERE u.id <> :user_id
   AND u.id IN (SELECT fellow.user_id
                  FROM space_members AS own
                  JOIN space_members AS fellow USING (space_id)
                 WHERE own.user_id = :user_id)
   AND (strpos(lower(u.display_name), lower(CAST(:text AS text))) > 0
        OR u.id = ANY (CAST(:ids AS uuid[])))
 ORDER BY starts_with(lower(u.display_name), lower(CAST(:text AS text))) DESC,
          lower(u.display_name), u.id
 LIMIT :most;
