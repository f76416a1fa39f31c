"""Conversations, what is said in them, and what an agent is told."""

from collections.abc import Sequence
from uuid import UUID

from remembrancer.client.calls import Call, Many, call, part, sent, whom, with_whom
from remembrancer.client.operations import By, Group, listing, operation
from remembrancer.context.schemas import Context, ContextQuery, Turn
from remembrancer.conversations.schemas import (
    AppendResult,
    Conversation,
    ConversationCreate,
    Message,
    MessageCreate,
)
from remembrancer.erasure.schemas import Receipt
from remembrancer.extraction.schemas import Chunk, SummaryResult
from remembrancer.paging import Page


def _conversation(conversation_id: UUID, *parts: object) -> str:
    return "/".join(["/api/conversations", part(conversation_id), *map(str, parts)])


class Conversations(Group[By]):
    """Conversations. ``user_id`` says for whom; a user key need not."""

    @operation
    def open(
        self,
        conversation: ConversationCreate,
        *,
        user_id: UUID | None = None,
        idempotency_key: str | None = None,
    ) -> Call[Conversation]:
        """Open a conversation, or return the one with this platform id and agent."""
        body = with_whom(conversation, user_id)
        return call(
            "POST", "/api/conversations", Conversation, body=body, key=idempotency_key, keyed=True
        )

    @listing
    def list(
        self,
        *,
        user_id: UUID | None = None,
        agent_id: UUID | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Call[Page[Conversation]]:
        """List a user's conversations, newest first."""
        query = {**whom(user_id, agent_id), "limit": limit, "cursor": cursor}
        return call("GET", "/api/conversations", Page[Conversation], query=query)

    @operation
    def get(self, conversation_id: UUID, *, user_id: UUID | None = None) -> Call[Conversation]:
        """Return a conversation its reader takes part in."""
        return call("GET", _conversation(conversation_id), Conversation, query=whom(user_id))

    @operation
    def pause(self, conversation_id: UUID, *, user_id: UUID | None = None) -> Call[Conversation]:
        """Pause remembering."""
        path = _conversation(conversation_id, "pause")
        return call("PUT", path, Conversation, query=whom(user_id))

    @operation
    def resume(self, conversation_id: UUID, *, user_id: UUID | None = None) -> Call[Conversation]:
        """Resume remembering."""
        path = _conversation(conversation_id, "pause")
        return call("DELETE", path, Conversation, query=whom(user_id))

    @operation
    def append(
        self,
        conversation_id: UUID,
        messages: Sequence[MessageCreate],
        *,
        user_id: UUID | None = None,
        idempotency_key: str | None = None,
    ) -> Call[AppendResult]:
        """Add messages at the end of a conversation, all or none."""
        path = _conversation(conversation_id, "messages")
        body = {"messages": sent(Many(messages)), **whom(user_id)}
        return call("POST", path, AppendResult, body=body, key=idempotency_key, keyed=True)

    @operation
    def messages(
        self,
        conversation_id: UUID,
        *,
        last: int = 20,
        before: int | None = None,
        user_id: UUID | None = None,
    ) -> Call[Many[Message]]:
        """Return the last messages of a conversation, oldest first."""
        path = _conversation(conversation_id, "messages")
        query = {"last": last, "before": before, **whom(user_id)}
        return call("GET", path, Many[Message], inside="messages", query=query)

    @operation
    def erase_message(
        self,
        conversation_id: UUID,
        message_id: UUID,
        *,
        dry_run: bool = True,
        user_id: UUID | None = None,
    ) -> Call[Receipt]:
        """Delete a message for good, and what rests on it alone; at first, only count."""
        path = _conversation(conversation_id, "messages", part(message_id), "erase")
        query = {"dry_run": dry_run, **whom(user_id)}
        return call("POST", path, Receipt, query=query, safe=dry_run)

    @operation
    def context(
        self,
        query: ContextQuery | None = None,
        *,
        user_id: UUID | None = None,
        agent_id: UUID | None = None,
    ) -> Call[Context]:
        """Return what an agent is told before it answers."""
        body = with_whom(query or ContextQuery(), user_id, agent_id)
        return call("POST", "/api/memory/context", Context, body=body, safe=True)

    @operation
    def begin_turn(
        self,
        conversation_id: UUID,
        message: MessageCreate,
        *,
        query: ContextQuery | None = None,
        user_id: UUID | None = None,
        idempotency_key: str | None = None,
    ) -> Call[Turn]:
        """Store what a user said; return the context and the last messages to answer from.

        Of ``query``, the window and the budgets count.
        """
        fields = sent(query) if query is not None else {}
        taken = {"window", "stable_tokens", "dynamic_tokens"}
        body = {
            "message": sent(message),
            **{name: value for name, value in fields.items() if name in taken},
            **whom(user_id),
        }
        path = _conversation(conversation_id, "turn")
        return call("POST", path, Turn, body=body, key=idempotency_key, keyed=True)

    @operation
    def finish_turn(
        self,
        conversation_id: UUID,
        content: str,
        *,
        user_id: UUID | None = None,
        idempotency_key: str | None = None,
    ) -> Call[AppendResult]:
        """Store what the agent answered."""
        path = _conversation(conversation_id, "answer")
        body = {"content": content, **whom(user_id)}
        return call("POST", path, AppendResult, body=body, key=idempotency_key, keyed=True)

    @operation
    def summarize(
        self, conversation_id: UUID, *, user_id: UUID | None = None
    ) -> Call[SummaryResult]:
        """Summarise all that has left the window and has no summary."""
        path = _conversation(conversation_id, "summarize")
        return call("POST", path, SummaryResult, query=whom(user_id), safe=True)

    @listing
    def chunks(
        self,
        conversation_id: UUID,
        *,
        user_id: UUID | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Call[Page[Chunk]]:
        """List the summaries of a conversation its reader takes part in, in order."""
        query = {**whom(user_id), "limit": limit, "cursor": cursor}
        return call("GET", _conversation(conversation_id, "chunks"), Page[Chunk], query=query)
