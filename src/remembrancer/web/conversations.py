"""Pages about a user's conversations: messages, summaries, the memories they led to, changes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final
from uuid import UUID

from fastapi import APIRouter
from starlette.responses import Response

from remembrancer.conversations.schemas import Message
from remembrancer.errors import InvalidInput, NotFound, RemembrancerError
from remembrancer.extraction.schemas import Chunk
from remembrancer.memories.schemas import Memory, SourcedMemory
from remembrancer.paging import all_items
from remembrancer.web.dependencies import (
    FORM_CHECK,
    CheckedForm,
    Form,
    PageRequest,
    UserRequest,
    shows_errors,
)
from remembrancer.web.languages import gettext
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
    memories = await request.app.memories.in_conversation(actor, conversation_id)
    is_gone = False
    if message is not None:
        try:
            position = await conversations.position(actor, conversation_id, message)
            before = position + WINDOW // 2
        except NotFound:
            # What a memory cites was there, and was removed because it is old.
            is_gone = message in {sourced.message_id for sourced in memories}
            if not is_gone:
                raise
    page = await conversations.messages(actor, conversation_id, last=WINDOW, before=before)
    messages = page.items
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
        is_gone=is_gone,
        by_message=_by_message(memories),
        others=list({sourced.memory.id: sourced.memory for sourced in elsewhere}.values()),
    )


def _by_message(memories: Sequence[SourcedMemory]) -> dict[UUID, list[Memory]]:
    groups: dict[UUID, list[Memory]] = {}
    for sourced in memories:
        if sourced.message_id is not None:
            groups.setdefault(sourced.message_id, []).append(sourced.memory)
    return groups


@router.post("/{conversation_id}/pause", dependencies=[FORM_CHECK])
async def pause(request: UserRequest, conversation_id: UUID) -> Response:
    await request.app.conversations.pause(request.user_actor, conversation_id)
    text = gettext("Remembering is paused here. What is said meanwhile is never recalled.")
    path = f"conversations/{conversation_id}"
    return request.to(path, text, f"{path}/resume")


@router.post("/{conversation_id}/resume", dependencies=[FORM_CHECK])
async def resume(request: UserRequest, conversation_id: UUID) -> Response:
    await request.app.conversations.resume(request.user_actor, conversation_id)
    path = f"conversations/{conversation_id}"
    return request.to(path, gettext("What is said here is remembered again."), f"{path}/pause")


@router.get("/{conversation_id}/delete")
async def preview_deletion(request: UserRequest, conversation_id: UUID) -> Response:
    return await _render_deletion(request, conversation_id)


async def _render_deletion(
    request: PageRequest, conversation_id: UUID, error: InvalidInput | None = None
) -> Response:
    delete = request.app.conversations.delete
    receipt = await delete(request.user_actor, conversation_id, dry_run=True)
    return request.render(
        "conversations/delete.html", error=error, conversation_id=conversation_id, receipt=receipt
    )


@router.post("/{conversation_id}/delete")
async def delete(request: UserRequest, conversation_id: UUID, form: CheckedForm) -> Response:
    if form.get("confirmation") != "delete":
        error = InvalidInput("type the word delete", field="confirmation")
        return await _render_deletion(request, conversation_id, error)
    await request.app.conversations.delete(request.user_actor, conversation_id)
    return request.to("conversations", gettext("The conversation is deleted."))


@router.get("/{conversation_id}/messages/{message_id}")
async def show_message(request: UserRequest, conversation_id: UUID, message_id: UUID) -> Response:
    return await _render_message(request, conversation_id, message_id)


async def _render_message(
    request: PageRequest,
    conversation_id: UUID,
    message_id: UUID,
    form: Form | None = None,
    error: RemembrancerError | None = None,
) -> Response:
    conversations, actor = request.app.conversations, request.user_actor
    receipt = await conversations.delete_message(actor, conversation_id, message_id, dry_run=True)
    position = await conversations.position(actor, conversation_id, message_id)
    page = await conversations.messages(actor, conversation_id, last=1, before=position + 1)
    [message] = page.items
    content = form.get("content") or "" if form else message.content
    return request.render(
        "conversations/message.html",
        error=error,
        message=message,
        receipt=receipt,
        content=content,
    )


@router.post("/{conversation_id}/messages/{message_id}")
@shows_errors(_render_message)
async def edit_message(
    request: UserRequest, conversation_id: UUID, message_id: UUID, form: CheckedForm
) -> Response:
    edit = request.app.conversations.edit_message
    await edit(request.user_actor, conversation_id, message_id, form.get("content") or "")
    path = f"conversations/{conversation_id}?message={message_id}#message-{message_id}"
    return request.to(path, gettext("The message is edited."))


@router.post("/{conversation_id}/messages/{message_id}/delete", dependencies=[FORM_CHECK])
async def delete_message(request: UserRequest, conversation_id: UUID, message_id: UUID) -> Response:
    await request.app.conversations.delete_message(request.user_actor, conversation_id, message_id)
    return request.to(f"conversations/{conversation_id}", gettext("The message is deleted."))
