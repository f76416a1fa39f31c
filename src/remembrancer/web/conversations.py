"""Pages about a user's conversations: messages, summaries, and the memories they led to."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final
from uuid import UUID

from fastapi import APIRouter
from starlette.responses import Response

from remembrancer.conversations.schemas import Message
from remembrancer.errors import InvalidInput
from remembrancer.extraction.schemas import Chunk
from remembrancer.memories.schemas import Memory, SourcedMemory
from remembrancer.paging import all_items
from remembrancer.web.dependencies import UserRequest
from remembrancer.web.memories import render_named

router = APIRouter(prefix="/people/{user_id}/conversations")

WINDOW: Final = 60
"""Messages on one page."""


@router.get("")
async def list_conversations(request: UserRequest, cursor: str | None = None) -> Response:
    page = await request.app.conversations.list(request.user_actor, limit=50, cursor=cursor)
    return await render_named(request, "conversations/list.html", page=page)


@dataclass(slots=True)
class Section:
    """Consecutive messages with the summary they share, if there is one."""

    chunk: Chunk | None
    messages: list[Message] = field(default_factory=list)


def sections(messages: Sequence[Message], chunks: Sequence[Chunk]) -> list[Section]:
    """Group messages, in order, by the summary that covers them. Pure."""
    groups: list[Section] = []
    for message in messages:
        position = message.position
        chunk = next((c for c in chunks if c.range_start <= position <= c.range_end), None)
        if not groups or groups[-1].chunk is not chunk:
            groups.append(Section(chunk))
        groups[-1].messages.append(message)
    return groups


@router.get("/{conversation_id}")
async def show(
    request: UserRequest,
    conversation_id: UUID,
    before: int | None = None,
    message: UUID | None = None,
) -> Response:
    conversations, actor = request.app.conversations, request.user_actor
    conversation = await conversations.get(actor, conversation_id)
    if before is not None and before < 1:
        raise InvalidInput("must be a position in the conversation, from 1", field="before")
    if message is not None:
        position = await conversations.position(actor, conversation_id, message)
        before = position + WINDOW // 2
    page = await conversations.messages(actor, conversation_id, last=WINDOW, before=before)
    messages = page.items
    memories = await request.app.memories.in_conversation(actor, conversation_id)
    load_chunks = partial(conversations.chunks, actor, conversation_id)
    shown_ids = {message.id for message in messages}
    elsewhere = [sourced for sourced in memories if sourced.message_id not in shown_ids]
    return await render_named(
        request,
        "conversations/one.html",
        conversation=conversation,
        sections=sections(messages, await all_items(load_chunks)),
        first=messages[0].position if messages else 0,
        last=messages[-1].position if messages else 0,
        window=WINDOW,
        marked=message,
        by_message=_by_message(memories),
        others=list({sourced.memory.id: sourced.memory for sourced in elsewhere}.values()),
    )


def _by_message(memories: Sequence[SourcedMemory]) -> dict[UUID, list[Memory]]:
    groups: dict[UUID, list[Memory]] = {}
    for sourced in memories:
        if sourced.message_id is not None:
            groups.setdefault(sourced.message_id, []).append(sourced.memory)
    return groups
