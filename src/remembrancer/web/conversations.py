"""A person's conversations: what was said, its summaries, and the memories it led to."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from fastapi import APIRouter
from starlette.responses import Response

from remembrancer.conversations.schemas import Message
from remembrancer.errors import InvalidInput
from remembrancer.extraction.schemas import Chunk
from remembrancer.memories.schemas import Memory, Told
from remembrancer.web.dependencies import PageRequest, UserRequest
from remembrancer.web.memories import agent_and_space_names

router = APIRouter(prefix="/people/{user_id}/conversations")

WINDOW: Final = 60
_MOST: Final = 200


@router.get("")
async def list_conversations(request: UserRequest, cursor: str | None = None) -> Response:
    """List conversations, newest first."""
    page = await request.app.conversations.list(request.user_actor, limit=50, cursor=cursor)
    return request.render(
        "conversations/list.html", page=page, **await agent_and_space_names(request)
    )


@dataclass(slots=True)
class Stretch:
    """Messages in a row with the summary they share, or without one."""

    chunk: Chunk | None
    messages: list[Message] = field(default_factory=list)


def stretches(messages: Sequence[Message], chunks: Sequence[Chunk]) -> list[Stretch]:
    """Return messages, in order, by the summary whose range they are in. Pure."""
    found: list[Stretch] = []
    for message in messages:
        chunk = next(
            (one for one in chunks if one.range_start <= message.position <= one.range_end), None
        )
        if not found or found[-1].chunk is not chunk:
            found.append(Stretch(chunk))
        found[-1].messages.append(message)
    return found


@router.get("/{conversation_id}")
async def show(
    request: UserRequest,
    conversation_id: UUID,
    before: int | None = None,
    message: UUID | None = None,
) -> Response:
    """Show messages beside their summaries: the last ones, or those around one of them."""
    talks = request.app.conversations
    talk = await talks.get(request.user_actor, conversation_id)
    if before is not None and before < 1:
        raise InvalidInput("must be a position in the conversation", field="before")
    if message is not None:
        position = await talks.position(request.user_actor, conversation_id, message)
        before = position + WINDOW // 2
    said = await talks.messages(request.user_actor, conversation_id, last=WINDOW, before=before)
    found = await request.app.memories.told_in(request.user_actor, conversation_id)
    shown = {each.id for each in said}
    return request.render(
        "conversations/one.html",
        talk=talk,
        stretches=stretches(said, await _chunks(request, conversation_id)),
        first=said[0].position if said else 0,
        last=said[-1].position if said else 0,
        window=WINDOW,
        marked=message,
        by_message=_by_message(found),
        others=list(
            {one.memory.id: one.memory for one in found if one.message_id not in shown}.values()
        ),
        **await agent_and_space_names(request),
    )


async def _chunks(request: PageRequest, conversation_id: UUID) -> list[Chunk]:
    found: list[Chunk] = []
    cursor: str | None = None
    while True:
        page = await request.app.conversations.chunks(
            request.user_actor, conversation_id, limit=_MOST, cursor=cursor
        )
        found += page.items
        cursor = page.next_cursor
        if cursor is None:
            return found


def _by_message(found: Sequence[Told]) -> dict[UUID, list[Memory]]:
    sorted_: dict[UUID, list[Memory]] = {}
    for one in found:
        if one.message_id is not None:
            sorted_.setdefault(one.message_id, []).append(one.memory)
    return sorted_
