-- Append messages to a conversation, and edit them.

-- The conversation, and the names of users that messages may belong to.
--
-- Binds: conversation_id, user_id (the actor's), user_ids and platform_user_ids (named by the
-- messages), platform_message_ids.
-- name: target
WITH target AS MATERIALIZED (
    SELECT c.id, c.agent_id, c.space_id, c.visibility, c.platform,
           EXISTS (SELECT FROM participants AS p
                    WHERE p.conversation_id = c.id AND p.user_id = :user_id) AS takes_part,
           (SELECT m.owner_id FROM messages AS m
             WHERE m.conversation_id = c.id AND m.role = 'user'
             ORDER BY m.position DESC LIMIT 1) AS last_sender
      FROM conversations AS c
     WHERE c.id = :conversation_id
),
linked AS MATERIALIZED (
    SELECT l.platform_user_id, l.user_id
      FROM target AS t
      JOIN platform_links AS l ON l.platform = t.platform
     WHERE l.platform_user_id = ANY (CAST(:platform_user_ids AS text[]))
)
SELECT t.*,
       (SELECT coalesce(jsonb_object_agg(u.id, u.display_name), '{}')
          FROM users AS u
         WHERE u.id = ANY (CAST(:user_ids AS uuid[]))
            OR u.id IN (:user_id, t.last_sender)
            OR u.id IN (SELECT user_id FROM linked)) AS names,
       (SELECT coalesce(jsonb_object_agg(platform_user_id, user_id), '{}') FROM linked) AS linked,
       EXISTS (SELECT FROM messages AS m
                WHERE m.conversation_id = t.id
                  AND m.platform_message_id = ANY (CAST(:platform_message_ids AS text[])))
       AS has_repeated,
       EXISTS (SELECT FROM users AS u
                WHERE u.id = ANY (CAST(:user_ids AS uuid[])) AND u.merged_into IS NOT NULL)
       AS has_merged
  FROM target AS t;

-- Insert messages at the end. The conversation stays locked until the transaction ends, so that
-- positions follow the order of commits and a rolled-back append leaves no gap. No row comes back
-- if the conversation is gone, and none for a message whose platform id it has or whose owner is
-- unknown.
--
-- An owner's messages are shared in the conversation's space, if they are a member, or else in the
-- namespace of their effective scope: conversations/rules.py has the rule for summaries.
--
-- Binds: conversation_id, agent_id (the conversation's), messages as JSON, and their count.
-- name: insert
WITH new AS (
    SELECT *
      FROM jsonb_populate_recordset(CAST(NULL AS messages), CAST(:messages AS jsonb))
           WITH ORDINALITY AS m
),
conversation AS (
    UPDATE conversations
       SET message_count = message_count + CAST(:count AS int), updated_at = now()
     WHERE id = :conversation_id
    RETURNING id, space_id, visibility, platform, paused_at IS NOT NULL AS paused,
              message_count - CAST(:count AS int) AS last_position
),
owner AS MATERIALIZED (
    SELECT o.id, u.paused_at IS NOT NULL AS paused, s.shared, CASE WHEN NOT s.shared THEN /*[namespace o.id*/ CAST(NULL AS uuid) /*]*/ END AS agent_id
      FROM (SELECT DISTINCT owner_id AS id FROM new) AS o
      JOIN users AS u ON u.id = o.id
     CROSS JOIN conversation AS c
     CROSS JOIN LATERAL (
           SELECT c.visibility = 'shared' AND EXISTS (
                  SELECT FROM space_members AS m
                   WHERE m.space_id = c.space_id AND m.user_id = o.id) AS shared
           ) AS s
),
joined AS (
    INSERT INTO participants (user_id, conversation_id)
    SELECT o.id, c.id
      FROM conversation AS c, owner AS o
     ORDER BY o.id
    ON CONFLICT DO NOTHING
)
INSERT INTO messages (owner_id, agent_id, space_id, visibility, id, conversation_id, position,
                      role, sender_name, content, platform, platform_message_id, off_record,
                      metadata, sent_at)
SELECT new.owner_id, o.agent_id, c.space_id, CASE WHEN o.shared THEN 'shared' ELSE 'private' END,
       new.id, c.id,
       c.last_position + new.ordinality, new.role, new.sender_name, new.content, c.platform,
       new.platform_message_id, c.paused OR o.paused, new.metadata, new.sent_at
  FROM conversation AS c
 CROSS JOIN new
  JOIN owner AS o ON o.id = new.owner_id
    ON CONFLICT DO NOTHING
RETURNING id, position, off_record;

-- Which messages a conversation has by the platform's ids, and whether with the same words.
--
-- Binds: conversation_id, platform_message_ids and contents.
-- name: compare
SELECT m.platform_message_id, m.content = n.content AS is_same, m.sent_at
  FROM unnest(CAST(:platform_message_ids AS text[]), CAST(:contents AS text[]))
       AS n (platform_message_id, content)
  JOIN messages AS m ON m.platform_message_id = n.platform_message_id
 WHERE m.conversation_id = :conversation_id;

-- Binds: the owners, ids and new contents of messages.
-- name: edit
UPDATE messages AS m
   SET content = e.content, edited_at = now()
  FROM unnest(CAST(:owners AS uuid[]), CAST(:ids AS uuid[]), CAST(:contents AS text[]))
       AS e (owner_id, id, content)
 WHERE m.owner_id = e.owner_id AND m.id = e.id;
