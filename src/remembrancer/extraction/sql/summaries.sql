-- Summaries: which conversations are due for one, and pages of chunks.

-- Conversations with too many messages without a summary, or too many tokens in those of them
-- that are outside of the window. Tokens are estimated only if the number does not decide.
--
-- Binds: messages and tokens (the limits), window_size, bytes_a_token.
-- name: due
SELECT c.id
  FROM conversations AS c
 WHERE c.is_behind AND CASE
           WHEN c.message_count - c.summarised_to > :messages THEN true
           WHEN c.message_count - c.summarised_to > :window_size THEN
                (SELECT coalesce(sum(octet_length(m.content)), 0) / :bytes_a_token
                   FROM messages AS m
                  WHERE m.conversation_id = c.id AND m.position > c.summarised_to
                    AND m.position <= c.message_count - :window_size) > :tokens
           ELSE false
       END;

-- name: enqueue
SELECT /*[enqueue c.id*/ c.id /*]*/
  FROM conversations AS c
 WHERE c.id = :conversation_id
   AND c.id IN (/*[due*/ SELECT id FROM conversations /*]*/);

-- Stale summaries, and due conversations: all of them, or with [failed] those whose job failed.
-- An append holds the row of its conversation, and queues the job itself.
-- name: sweep
WITH unfinished AS MATERIALIZED (
    SELECT conversation_id AS id FROM chunks WHERE stale
    UNION
    SELECT id
      FROM (/*[due*/ SELECT id FROM conversations /*]*/) AS due
      /*[failed*/ /*]*/
),
due AS MATERIALIZED (
    SELECT c.id
      FROM conversations AS c
     WHERE c.id IN (SELECT id FROM unfinished)
       AND NOT /*[running c.id*/ false /*]*/
       FOR UPDATE OF c SKIP LOCKED
)
SELECT count(/*[enqueue due.id*/ due.id /*]*/) FROM due;

-- name: is_due
SELECT EXISTS (
    SELECT FROM (/*[due*/ SELECT id FROM conversations /*]*/) AS due WHERE id = :conversation_id
);

-- Conversations with messages outside of the window and without a summary.
-- name: unsummarised
SELECT id AS conversation_id, message_count - :window_size - summarised_to AS messages
  FROM conversations
 WHERE is_behind
 ORDER BY id;

-- Chunks in order, without those to be made anew. Of the copies for several readers one is shown, the user's own if there is one.
-- name: page
SELECT DISTINCT ON (range_start, range_end) *
  FROM chunks
 WHERE conversation_id = :conversation_id AND range_start > :after AND content <> ''
 ORDER BY range_start, range_end, owner_id IS DISTINCT FROM CAST(:user_id AS uuid), id
 LIMIT :count;
