-- Users of tokens.

-- The user of an id on a platform, with their former ids: a link follows its user in a merge.
-- name: user_of_token
SELECT l.user_id, ARRAY(SELECT f.id FROM users AS f WHERE f.merged_into = l.user_id) AS merged_ids
  FROM platform_links AS l
 WHERE l.platform = :platform AND l.platform_user_id = :platform_user_id;
