"""Conversations: /api/conversations."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Response
from pydantic import Field

from remembrancer.api.dependencies import (
    App,
    Caller,
    IdempotencyKey,
    Paging,
    QueryActor,
    narrowed,
)
from remembrancer.conversations.rules import WINDOW
from remembrancer.conversations.schemas import (
    AppendResult,
    Conversation,
    ConversationCreate,
    Message,
    MessageCreate,
)
from remembrancer.paging import Items, Page
from remembrancer.validation import Input

router = APIRouter(prefix="/api/conversations", tags=["conversations"])


class OpenRequest(ConversationCreate):
    """A conversation to open, and its user."""

    user_id: UUID | None = Field(None, description="The participant; for a user key, its own user.")


class AppendRequest(Input):
    """Messages to append, in order."""

    messages: list[MessageCreate]
    user_id: UUID | None = Field(None, description="The sender of messages that name none.")


@router.post("", status_code=201)
async def open_conversation(
    app: App,
    actor: Caller,
    request: OpenRequest,
    response: Response,
    idempotency_key: IdempotencyKey = None,
) -> Conversation:
    """Open a conversation, or return the one with this platform id and agent."""
    opened = await app.conversations.open(
        actor.acting_for(request.user_id),
        narrowed(request, ConversationCreate),
        idempotency_key=idempotency_key,
    )
    response.headers["Location"] = f"/api/conversations/{opened.id}"
    return opened


@router.get("")
async def list_conversations(app: App, actor: QueryActor, page: Paging) -> Page[Conversation]:
    """List a user's conversations, the newest first."""
    return await app.conversations.list(actor, **page)


@router.get("/{conversation_id}")
async def get_conversation(app: App, actor: QueryActor, conversation_id: UUID) -> Conversation:
    """Return a conversation, for its participants."""
    return await app.conversations.get(actor, conversation_id)


@router.put("/{conversation_id}/pause")
async def pause_conversation(app: App, actor: QueryActor, conversation_id: UUID) -> Conversation:
    """Pause remembering: new messages stay in the conversation, and never enter memory."""
    return await app.conversations.pause(actor, conversation_id)


@router.delete("/{conversation_id}/pause")
async def resume_conversation(app: App, actor: QueryActor, conversation_id: UUID) -> Conversation:
    """Resume remembering. Messages from the pause never enter memory."""
    return await app.conversations.resume(actor, conversation_id)


@router.post("/{conversation_id}/messages", status_code=201)
async def append_messages(
    app: App,
    actor: Caller,
    conversation_id: UUID,
    request: AppendRequest,
    idempotency_key: IdempotencyKey = None,
) -> AppendResult:
    """Append messages to a conversation, all or none."""
    return await app.conversations.append(
        actor.acting_for(request.user_id),
        conversation_id,
        request.messages,
        idempotency_key=idempotency_key,
    )


@router.get("/{conversation_id}/messages")
async def read_messages(
    app: App,
    actor: QueryActor,
    conversation_id: UUID,
    last: Annotated[int, Query(ge=1, le=200, description="Number of messages.")] = WINDOW,
    before: Annotated[
        int | None, Query(ge=1, le=2_000_000_000, description="Before this position.")
    ] = None,
) -> Items[Message]:
    """Return the last messages of a conversation, the oldest first."""
    return await app.conversations.messages(actor, conversation_id, last=last, before=before)
