-- Whether the conversation is a group, its space, and the key of its frozen block: in a group, and
-- without a user, the reader is everybody; in a group in a space, its members.
--
-- Binds: user_id, agent_id, conversation_id.

-- name: talk
SELECT coalesce(cardinality(t.participants) > 1, false) AS is_group,
       t.space_id,
       CASE WHEN CAST(:user_id AS uuid) IS NULL
            THEN CAST('00000000-0000-0000-0000-000000000000' AS uuid)
            WHEN cardinality(t.participants) > 1
            THEN coalesce(t.space_id, '00000000-0000-0000-0000-000000000000')
            ELSE :user_id
       END AS reader_id,
       coalesce(CAST(:agent_id AS uuid), '00000000-0000-0000-0000-000000000000') AS agent_id
  FROM app_conversation(CAST(:conversation_id AS uuid)) AS t;
