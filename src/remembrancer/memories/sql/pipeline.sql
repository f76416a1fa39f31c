-- Locks and checks before a write.

-- name: paused
SELECT id FROM conversations
 WHERE id = ANY (CAST(:conversation_ids AS uuid[])) AND paused_at IS NOT NULL
 LIMIT 1;

-- name: facts
-- What decides the scope of the user with a current agent.
/*[facts :user_id :agent_id*/
SELECT 'agent' AS agent_default, true AS preference, true AS toggle, true AS policy_allows
 WHERE :user_id IS NOT NULL AND :agent_id IS NOT NULL
/*]*/;

-- name: taken_ids
SELECT id AS value FROM memories WHERE owner_id = :owner_id AND id = ANY (CAST(:ids AS text[]));
