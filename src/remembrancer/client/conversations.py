"""Conversations: messages, turns, contexts and summaries."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Unpack
from uuid import UUID

from remembrancer.client.calls import json_of
from remembrancer.client.operations import (
    By,
    ForAgent,
    ForAgentPage,
    ForUser,
    ForUserOnce,
    ForUserPage,
    Group,
    listing,
    operation,
)
from remembrancer.context.schemas import Context, ContextQuery, Turn
from remembrancer.conversations.schemas import (
    AnyMessage,
    AppendResult,
    ChatCommand,
    ChatReply,
    Conversation,
    ConversationCreate,
    ConversationDetails,
    EditResult,
    Message,
    MessageCreate,
)
from remembrancer.erasure.schemas import Receipt
from remembrancer.extraction.schemas import Chunk, SummaryResult
from remembrancer.paging import Items, Page

_OF_A_TURN: Final = {"window", "stable_tokens", "dynamic_tokens"}


def _turn(arguments: Mapping[str, Any]) -> dict[str, Any]:
    query = json_of(arguments["query"]) or {}
    options = {name: value for name, value in query.items() if name in _OF_A_TURN}
    message = arguments["message"]
    if isinstance(message, str):
        message = {"content": message}
    return {"message": json_of(message), **options}


class Chat(Group[By]):
    """``/memory`` for bots of any platform."""

    @operation("POST /api/chat/commands")
    def command(self, command: ChatCommand) -> ChatReply:
        """Answer a message if it is a command; send what the answer says."""


class NewConversation(ForUserOnce, ConversationDetails, total=False):
    """A conversation of a user to open once."""


class Conversations(Group[By]):
    """Conversations, for a user; a user's own key needs none."""

    @operation("POST /api/conversations", ids="body", model=("conversation", ConversationCreate))
    def open(
        self, conversation: ConversationCreate | None = None, **ids: Unpack[NewConversation]
    ) -> Conversation:
        """Open a conversation, or return the one with this platform id and agent."""

    @listing("GET /api/conversations")
    def list(self, **ids: Unpack[ForAgentPage]) -> Page[Conversation]:
        """List a user's conversations, the newest first."""

    @operation("GET /api/conversations/by-platform")
    def find(
        self, platform: str, platform_conversation_id: str, **ids: Unpack[ForAgent]
    ) -> Conversation:
        """Return the conversation of an agent with this id on a platform, or raise ``NotFound``."""

    @operation("GET /api/conversations/{conversation_id}")
    def get(self, conversation_id: UUID, **ids: Unpack[ForUser]) -> Conversation:
        """Return a conversation of a participant."""

    @operation("PUT /api/conversations/{conversation_id}/pause")
    def pause(self, conversation_id: UUID, **ids: Unpack[ForUser]) -> Conversation:
        """Pause remembering in a conversation."""

    @operation("DELETE /api/conversations/{conversation_id}/pause")
    def resume(self, conversation_id: UUID, **ids: Unpack[ForUser]) -> Conversation:
        """Resume remembering in a conversation."""

    @operation("POST /api/conversations/{conversation_id}/messages", ids="body", body=json_of)
    def append(
        self,
        conversation_id: UUID,
        messages: Sequence[MessageCreate],
        **ids: Unpack[ForUserOnce],
    ) -> AppendResult:
        """Add messages at the end of a conversation, all or none."""

    @operation("GET /api/conversations/{conversation_id}/messages")
    def messages(
        self,
        conversation_id: UUID,
        *,
        last: int = 20,
        before: int | None = None,
        **ids: Unpack[ForUser],
    ) -> Items[Message]:
        """Return the last messages before a position, the oldest first."""

    @operation("PATCH /api/conversations/{conversation_id}/messages/{message_id}", body=json_of)
    def edit_message(
        self, conversation_id: UUID, message_id: AnyMessage, content: str, **ids: Unpack[ForUser]
    ) -> EditResult:
        """Replace the words of a message; what rests on the old ones follows.

        The message is an id, or ``platform:`` and the platform's id.
        """

    @operation("DELETE /api/conversations/{conversation_id}/messages/{message_id}")
    def delete_message(
        self,
        conversation_id: UUID,
        message_id: AnyMessage,
        *,
        dry_run: bool = False,
        **ids: Unpack[ForUser],
    ) -> Receipt:
        """Delete a message and what cites it alone, for good; with ``dry_run``, only count."""

    @operation("DELETE /api/conversations/{conversation_id}")
    def delete(
        self, conversation_id: UUID, *, dry_run: bool = False, **ids: Unpack[ForUser]
    ) -> Receipt:
        """Delete a conversation and what cites it alone, for good; with ``dry_run``, only count."""

    @operation("POST /api/memory/context", ids="body", safe=True)
    def context(self, query: ContextQuery | None = None, **ids: Unpack[ForAgent]) -> Context:
        """Return the context of an agent's next answer."""

    @operation("POST /api/conversations/{conversation_id}/turn", ids="body", body=_turn)
    def begin_turn(
        self,
        conversation_id: UUID,
        message: MessageCreate | str,
        *,
        query: ContextQuery | None = None,
        **ids: Unpack[ForUserOnce],
    ) -> Turn:
        """Store a user's message; return the context and the last messages to answer from.

        Of ``query``, the window and the budgets count.
        """

    @operation("POST /api/conversations/{conversation_id}/answer", ids="body", body=json_of)
    def finish_turn(
        self, conversation_id: UUID, content: str, **ids: Unpack[ForUserOnce]
    ) -> AppendResult:
        """Store the agent's answer."""

    @operation("POST /api/conversations/{conversation_id}/summarize", safe=True)
    def summarize(self, conversation_id: UUID, **ids: Unpack[ForUser]) -> SummaryResult:
        """Summarise all messages that left the window and have no summary."""

    @listing("GET /api/conversations/{conversation_id}/chunks")
    def chunks(self, conversation_id: UUID, **ids: Unpack[ForUserPage]) -> Page[Chunk]:
        """List the summaries of a conversation, in order."""
