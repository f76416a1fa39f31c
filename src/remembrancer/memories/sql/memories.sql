-- Memories in the database.

-- name: lock_owner
SELECT pg_advisory_xact_lock(hashtextextended(CAST(:owner_id AS text), 0));

-- name: count_accesses
-- A read does not change updated_at. Rows are locked in order, against deadlocks of two processes
-- or with an erasure.
WITH accessed AS MATERIALIZED (
    SELECT m.owner_id, m.id, a.times
      FROM unnest(CAST(:owners AS uuid[]), CAST(:ids AS text[]), CAST(:times AS int[]))
           AS a (owner_id, id, times)
      JOIN memories AS m ON m.owner_id = a.owner_id AND m.id = a.id
     ORDER BY m.owner_id, m.id
       FOR NO KEY UPDATE OF m
)
UPDATE memories AS m
   SET access_count = m.access_count + a.times,
       last_accessed_at = greatest(m.last_accessed_at, CAST(:at AS timestamptz))
  FROM accessed AS a
 WHERE m.owner_id = a.owner_id AND m.id = a.id;

-- name: related
-- Memories of an owner that new statements may repeat, by reason: `same` has the same statement
-- hash, `subject` the same subject, `place` the same place id, `external_id` the same id of its
-- writer. The newest comes first, and what is in use before what is set aside.
WITH found AS (
    SELECT 'same' AS reason, m.*
      FROM memories AS m
     WHERE m.owner_id = :owner_id AND m.status IN ('active', 'pending')
       AND m.content_hash = ANY (ARRAY(
               SELECT decode(h, 'hex') FROM unnest(CAST(:hashes AS text[])) AS h))
     UNION ALL
    SELECT 'subject', m.*
      FROM memories AS m
     WHERE m.owner_id = :owner_id AND m.status = 'active'
       AND (m.expires_at > now()) IS NOT FALSE
       AND m.subject_key = ANY (CAST(:subject_keys AS text[]))
     UNION ALL
    SELECT 'place', m.*
      FROM memories AS m
     WHERE m.owner_id = :owner_id AND m.status = 'active'
       AND m.place_id = ANY (CAST(:place_ids AS text[]))
     UNION ALL
    SELECT 'external_id', m.*
      FROM memories AS m
     WHERE m.owner_id = :owner_id AND m.status <> 'forgotten'
       AND m.external_id = ANY (CAST(:external_ids AS text[]))
)
SELECT reason, id, agent_id, space_id, status, content_hash, subject_key, place_id, external_id,
       CASE WHEN reason = 'external_id' THEN content END AS content, expires_at <= now() AS expired
  FROM found
 ORDER BY reason, status = 'active' DESC, updated_at DESC, id;

-- name: by_ids
SELECT /*[columns*/ * /*]*/
  FROM memories
 WHERE owner_id = :owner_id AND id = ANY (CAST(:ids AS text[]));

-- name: add
-- Insert memories with their versions and mentions; skip statements that exist already.
WITH new AS (
    SELECT * FROM jsonb_populate_recordset(CAST(NULL AS memories), CAST(:memories AS jsonb))
),
added AS (
    INSERT INTO memories (/*[memory_columns*/ owner_id, id, kind, category, content, content_hash, tokens, importance /*]*/)
    SELECT /*[memory_columns*/ owner_id, id, kind, category, content, content_hash, tokens, importance /*]*/
      FROM new
        ON CONFLICT (owner_id, agent_id, space_id, content_hash) WHERE status = 'active' DO NOTHING
    RETURNING owner_id, id
),
versions AS (
    INSERT INTO memory_versions (owner_id, memory_id, version, content, recorded_at, valid_from,
                                 valid_to, source, platform, conversation_id, message_id)
    SELECT n.owner_id, n.id, n.version, n.content, n.created_at, n.valid_from,
           n.valid_to, n.source, n.platform, n.conversation_id, n.message_id
      FROM new AS n JOIN added USING (owner_id, id)
),
mentioned AS (
    INSERT INTO mentions (owner_id, memory_id, id, wording, agent_id, source, platform,
                          conversation_id, message_id, mentioned_at)
    SELECT n.owner_id, n.memory_id, n.id, n.wording, n.agent_id, n.source, n.platform,
           n.conversation_id, n.message_id, n.mentioned_at
      FROM jsonb_populate_recordset(CAST(NULL AS mentions), CAST(:mentions AS jsonb)) AS n
      JOIN added ON added.owner_id = n.owner_id AND added.id = n.memory_id
)
SELECT count(*) FROM added;

-- name: expire
-- Forget memories that have expired, each in a version that says so. What another transaction
-- changes waits for the next time.
WITH due AS MATERIALIZED (
    SELECT owner_id, id
      FROM memories
     WHERE expires_at <= now() AND status <> 'forgotten'
     ORDER BY owner_id, id
     LIMIT :most
       FOR NO KEY UPDATE SKIP LOCKED
),
gone AS (
    UPDATE memories AS m
       SET status = 'forgotten', forgotten_at = now(), updated_at = now(),
           version = m.version + 1, source = 'expiry'
      FROM due AS d
     WHERE m.owner_id = d.owner_id AND m.id = d.id
    RETURNING m.*
),
superseded AS (
    UPDATE memory_versions AS v
       SET superseded_at = now()
      FROM gone AS g
     WHERE v.owner_id = g.owner_id AND v.memory_id = g.id AND v.superseded_at IS NULL
),
added AS (
    INSERT INTO memory_versions (owner_id, memory_id, version, content, recorded_at, valid_from,
                                 valid_to, source, platform, conversation_id, message_id)
    SELECT owner_id, id, version, content, now(), valid_from,
           valid_to, source, platform, conversation_id, message_id
      FROM gone
)
SELECT owner_id, id FROM gone;

-- name: set_addresses
UPDATE memories AS m
   SET address = new.address, content_hash = new.hash, updated_at = now()
  FROM (SELECT CAST(r ->> 'id' AS text) AS id,
               ARRAY(SELECT jsonb_array_elements_text(r -> 'address')) AS address,
               decode(r ->> 'hash', 'hex') AS hash
          FROM jsonb_array_elements(CAST(:records AS jsonb)) AS r) AS new
 WHERE m.owner_id = :owner_id AND m.id = new.id;

-- name: restart_ttl
-- `metadata.ttl` is in minutes.
WITH restarted AS (
    UPDATE memories AS m
       SET valid_to = now() + make_interval(mins => 1) * CAST(m.metadata ->> 'ttl' AS float8)
     WHERE m.owner_id = :owner_id AND m.id = ANY (CAST(:ids AS text[])) AND m.metadata ? 'ttl'
    RETURNING m.id, m.version, m.valid_to
)
UPDATE memory_versions AS v
   SET valid_to = r.valid_to
  FROM restarted AS r
 WHERE v.owner_id = :owner_id AND v.memory_id = r.id AND v.version = r.version;

-- Sources that memories cite: whether the actor takes part in the conversation, and whether the
-- message is in it, or without a conversation, in any that the actor takes part in. Messages have
-- an index by owner: their owners are participants.
-- name: sources
SELECT s.conversation_id, s.message_id,
       c.participants IS NOT NULL AS has_conversation,
       CASE WHEN s.conversation_id IS NOT NULL THEN
           EXISTS (SELECT FROM messages AS m
                    WHERE m.id = s.message_id AND m.owner_id = ANY (c.participants)
                      AND m.conversation_id = s.conversation_id)
       WHEN EXISTS (SELECT FROM messages AS m
                     WHERE m.id = s.message_id AND m.owner_id = CAST(:user_id AS uuid)) THEN
           true
       ELSE
           EXISTS (SELECT FROM participants AS p
                    CROSS JOIN LATERAL app_conversation(p.conversation_id) AS o
                     JOIN messages AS m ON m.owner_id = ANY (o.participants)
                      AND m.id = s.message_id AND m.conversation_id = p.conversation_id
                    WHERE p.user_id = CAST(:user_id AS uuid))
       END AS has_message
  FROM unnest(CAST(:conversation_ids AS uuid[]), CAST(:message_ids AS uuid[]))
       AS s (conversation_id, message_id)
 CROSS JOIN LATERAL app_conversation(s.conversation_id) AS c;
