"""Conversations: /api/conversations."""

from typing import Annotated, Final
from uuid import UUID

from fastapi import Query, Response
from pydantic import Field

from remembrancer.access import Actor
from remembrancer.api.dependencies import (
    App,
    IdempotencyKey,
    Paging,
    RequestActor,
)
from remembrancer.api.endpoints import Router, checks_key, takes_batch
from remembrancer.conversations.rules import WINDOW
from remembrancer.conversations.schemas import (
    AppendResult,
    Conversation,
    ConversationCreate,
    EditResult,
    Message,
    MessageCreate,
    MessageEdit,
    MessageRef,
)
from remembrancer.erasure.schemas import Receipt
from remembrancer.errors import InvalidInput
from remembrancer.paging import Items, Page
from remembrancer.text import Key
from remembrancer.validation import MOST_IN_BATCH, Input

router = Router(prefix="/api/conversations", tags=["conversations"])

MESSAGE: Final = "/{conversation_id}/messages/{message_id:path}"
"""One message. A platform's id may have a slash."""
DryRun = Annotated[bool, Query(description="Only count.")]


class AppendRequest(Input):
    """Messages to append, in order."""

    messages: list[MessageCreate] = Field(max_length=MOST_IN_BATCH)


@router.post("", status_code=201)
async def open_conversation(
    app: App,
    actor: RequestActor,
    conversation: ConversationCreate,
    response: Response,
    idempotency_key: IdempotencyKey = None,
) -> Conversation:
    """Open a conversation, or return the one with this platform id and agent."""
    opened = await app.conversations.open(
        actor,
        _with_agent(conversation, actor),
        idempotency_key=idempotency_key,
    )
    response.headers["Location"] = f"/api/conversations/{opened.id}"
    return opened


def _with_agent(conversation: ConversationCreate, actor: Actor) -> ConversationCreate:
    """Return the conversation with the agent that the query names."""
    if actor.agent_id is None or conversation.agent_id == actor.agent_id:
        return conversation
    if conversation.agent_id is not None:
        raise InvalidInput("is another agent in the body than in the query", field="agent_id")
    return conversation.model_copy(update={"agent_id": actor.agent_id})


@router.get("")
async def list_conversations(app: App, actor: RequestActor, page: Paging) -> Page[Conversation]:
    """List a user's conversations, the newest first."""
    return await app.conversations.list(actor, **page)


@router.get("/by-platform")
async def find_conversation(
    app: App,
    actor: RequestActor,
    platform: Annotated[Key, Query()],
    platform_conversation_id: Annotated[Key, Query()],
) -> Conversation:
    """Return the conversation of an agent with this id on a platform."""
    return await app.conversations.find(actor, platform, platform_conversation_id)


@router.get("/{conversation_id}")
async def get_conversation(app: App, actor: RequestActor, conversation_id: UUID) -> Conversation:
    """Return a conversation, for its participants."""
    return await app.conversations.get(actor, conversation_id)


@router.put("/{conversation_id}/pause")
async def pause_conversation(app: App, actor: RequestActor, conversation_id: UUID) -> Conversation:
    """Pause remembering: new messages stay in the conversation, and never enter memory."""
    return await app.conversations.pause(actor, conversation_id)


@router.delete("/{conversation_id}/pause")
async def resume_conversation(app: App, actor: RequestActor, conversation_id: UUID) -> Conversation:
    """Resume remembering. Messages from the pause never enter memory."""
    return await app.conversations.resume(actor, conversation_id)


@router.post("/{conversation_id}/messages", status_code=201)
@checks_key
@takes_batch
async def append_messages(
    app: App,
    actor: RequestActor,
    conversation_id: UUID,
    request: AppendRequest,
    idempotency_key: IdempotencyKey = None,
) -> AppendResult:
    """Append messages to a conversation, all or none."""
    return await app.conversations.append(
        actor,
        conversation_id,
        request.messages,
        idempotency_key=idempotency_key,
    )


@router.get("/{conversation_id}/messages")
async def read_messages(
    app: App,
    actor: RequestActor,
    conversation_id: UUID,
    last: Annotated[int, Query(ge=1, le=200, description="Number of messages.")] = WINDOW,
    before: Annotated[
        int | None, Query(ge=1, le=2_000_000_000, description="Before this position.")
    ] = None,
) -> Items[Message]:
    """Return the last messages of a conversation, the oldest first."""
    return await app.conversations.messages(actor, conversation_id, last=last, before=before)


@router.patch(MESSAGE)
async def edit_message(
    app: App, actor: RequestActor, conversation_id: UUID, message_id: MessageRef, edit: MessageEdit
) -> EditResult:
    """Replace the words of a message. What rests on the old ones follows."""
    return await app.conversations.edit_message(actor, conversation_id, message_id, edit.content)


@router.delete(MESSAGE)
async def delete_message(
    app: App,
    actor: RequestActor,
    conversation_id: UUID,
    message_id: MessageRef,
    dry_run: DryRun = False,
) -> Receipt:
    """Delete a message, and memories that cite only it, for good; its summaries are made anew."""
    return await app.conversations.delete_message(
        actor, conversation_id, message_id, dry_run=dry_run
    )


@router.delete("/{conversation_id}")
async def delete_conversation(
    app: App, actor: RequestActor, conversation_id: UUID, dry_run: DryRun = False
) -> Receipt:
    """Delete a conversation, and memories that cite only its messages, for good."""
    return await app.conversations.delete(actor, conversation_id, dry_run=dry_run)
