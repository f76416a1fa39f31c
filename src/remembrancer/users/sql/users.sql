-- Users and their platform links.

-- name: create_if_new
-- Of two writers at once, the second waits for the key of the link, then creates nothing.
WITH link AS (
    INSERT INTO platform_links (platform, platform_user_id, user_id)
    VALUES (:platform, :platform_user_id, :new_id)
    ON CONFLICT DO NOTHING
    RETURNING user_id
)
INSERT INTO users (id, display_name, time_zone)
SELECT user_id, :display_name, coalesce(:time_zone, 'UTC') FROM link;

-- name: hold
-- Against merges and erasures, until the transaction ends; with the survivors of merges.
SELECT id, coalesce(merged_into, id) AS current_id, paused_at IS NOT NULL AS is_paused
  FROM users
 WHERE id = ANY (ARRAY(SELECT unnest(CAST(:ids AS uuid[]))
                        UNION
                       SELECT merged_into FROM users WHERE id = ANY (CAST(:ids AS uuid[]))))
 ORDER BY id
   FOR KEY SHARE;

-- name: with_memory_counts
-- Counts only the memories of the users on the page, by the access rule of each.
SELECT someone.id, someone.display_name, someone.created_at, counted.memory_count
  FROM (SELECT * FROM users
         WHERE id <> :shared_owner AND merged_into IS NULL
         ORDER BY id LIMIT :limit OFFSET :offset) AS someone
 CROSS JOIN LATERAL (
       -- Once for each user: OFFSET keeps it out of the condition on each memory.
       SELECT /*[namespace someone.id*/ CAST(NULL AS uuid) /*]*/ AS agent_id OFFSET 0
       ) AS namespace
 CROSS JOIN LATERAL (
       SELECT count(*) AS memory_count
         FROM memories AS m
        WHERE m.owner_id = someone.id AND m.status = 'active'
          AND /*[own m*/ true /*]*/
       ) AS counted
 ORDER BY someone.id;

-- name: transfer_links
UPDATE platform_links SET user_id = :taker WHERE user_id = :giver
RETURNING platform, platform_user_id;

-- name: forward_merged
UPDATE users SET merged_into = :taker WHERE merged_into = :giver RETURNING id;

-- name: set_merged
UPDATE users SET merged_into = :taker, version = version + 1, updated_at = now()
 WHERE id = :giver;

-- name: transfer_links_back
UPDATE platform_links SET user_id = :giver
 WHERE user_id = :taker AND (platform, platform_user_id) IN (
       SELECT * FROM unnest(CAST(:platforms AS text[]), CAST(:platform_user_ids AS text[])));

-- name: forward_merged_back
UPDATE users SET merged_into = :giver
 WHERE merged_into = :taker AND id = ANY (CAST(:forwarded AS uuid[]));

-- name: set_unmerged
UPDATE users SET merged_into = NULL, version = version + 1, updated_at = now()
 WHERE id = :giver;

-- name: with_toggle_off
SELECT id FROM users
 WHERE allow_agent_specific_memory IS FALSE AND merged_into IS NULL
   AND id > :after
 ORDER BY id
 LIMIT :limit
   FOR NO KEY UPDATE;

-- name: set_toggle_migrated
UPDATE users SET toggle_migrated_at = now()
 WHERE id = ANY (CAST(:user_ids AS uuid[])) AND toggle_migrated_at IS NULL;
