"""What is said in a message of ChatGPT's export: text, voice, pictures and canvas. Pure.

A voice message is a transcription beside its sound. A canvas is a call of the tool ``canmore`` by
the model, whose text is JSON. A picture that ChatGPT makes is a message of a tool.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Final

from pydantic import Field

from remembrancer.conversations.schemas import MessageRole
from remembrancer.importers.captions import caption, joined, kind_of, label
from remembrancer.importers.parse import Notes, Record, record
from remembrancer.text import Key

INSTRUCTIONS: Final = "user_editable_context"
"""The kind of content that has what its user asks of all answers."""
_ROLES = {"user": MessageRole.USER, "assistant": MessageRole.ASSISTANT}
_TEXT_TYPES = ("text", "multimodal_text")
_CANVAS = ("canmore.create_textdoc", "canmore.update_textdoc")
_PICTURE = "image_asset_pointer"
_SOUNDS = frozenset({"audio_asset_pointer", "real_time_user_audio_video_asset_pointer"})
_SPOKEN = "audio_transcription"


class _Author(Record):
    role: str


class _Content(Record):
    # Other kinds of content have other fields, which are not read.
    content_type: str
    parts: list[object] = Field(default_factory=list)
    text: str | None = None


class Message(Record):
    id: Key
    author: dict[str, object]
    content: dict[str, object]
    create_time: float | None = None
    weight: float | None = 1.0
    recipient: str | None = "all"
    metadata: dict[str, object] | None = None


def content_of(message: Message, position: str, notes: Notes) -> tuple[MessageRole, str] | None:
    """Return what a person or the model said; null for any other message."""
    role = record(_Author, message.author, f"{position}, author", notes).role
    content = record(_Content, message.content, f"{position}, content")
    metadata = message.metadata or {}
    hidden = metadata.get("is_visually_hidden_from_conversation") or message.weight == 0
    if content.content_type == INSTRUCTIONS:
        return None  # read by ``chatgpt_memories``
    if role == "assistant" and message.recipient in _CANVAS and not hidden:
        return MessageRole.ASSISTANT, _canvas(content, notes)
    if role == "tool" and not hidden and _kinds(content).count(_PICTURE):
        return MessageRole.ASSISTANT, joined(*_made(content, metadata))
    if role not in _ROLES or message.recipient not in {None, "all"}:
        notes.skip(f"{label(role)} message" if role not in _ROLES else "tool call")
    elif hidden:
        notes.skip("hidden message")
    elif content.content_type not in _TEXT_TYPES:
        notes.skip(f"message of kind {label(content.content_type)}")
    else:
        return _ROLES[role], joined(*_captions(content, metadata), *_texts(content, notes))
    return None


def _kinds(content: _Content) -> list[str]:
    return [
        str(part.get("content_type", "")) if isinstance(part, Mapping) else type(part).__name__
        for part in content.parts
    ]


def _texts(content: _Content, notes: Notes) -> Iterator[str]:
    for part, kind in zip(content.parts, _kinds(content), strict=True):
        if isinstance(part, str):
            yield part
        elif isinstance(part, Mapping) and kind == _SPOKEN:
            yield str(part.get("text") or "")
        elif kind != _PICTURE and kind not in _SOUNDS:
            notes.unknown_field(f"part.{label(kind)}")


def _captions(content: _Content, metadata: Mapping[str, object]) -> Iterator[str]:
    """Yield a caption for each attachment, and for pictures and sounds that are none."""
    kinds, items = _kinds(content), metadata.get("attachments")
    photos = 0
    for item in items if isinstance(items, list) else ():
        if isinstance(item, Mapping):
            kind = kind_of(str(item.get("mime_type") or item.get("mimeType") or ""))
            photos += kind == "photo"
            yield caption(kind, str(item.get("name") or ""))
    yield from [caption("photo")] * (kinds.count(_PICTURE) - photos)
    if _SPOKEN not in kinds and not _SOUNDS.isdisjoint(kinds):
        yield caption("voice")


def _made(content: _Content, metadata: Mapping[str, object]) -> Iterator[str]:
    """Yield a caption for each picture that the model made, with the words for it."""
    for part, kind in zip(content.parts, _kinds(content), strict=True):
        if isinstance(part, Mapping) and kind == _PICTURE:
            about = part.get("metadata")
            made = about.get("dalle") if isinstance(about, Mapping) else None
            prompt = made.get("prompt") if isinstance(made, Mapping) else None
            yield caption("photo", str(prompt or metadata.get("image_gen_title") or ""))


def _canvas(content: _Content, notes: Notes) -> str:
    """Return the text of a canvas, or what replaces a part of it; empty if it is not readable."""
    text = content.text or "".join(part for part in content.parts if isinstance(part, str))
    try:
        call = json.loads(text)
    except (ValueError, RecursionError):
        call = None
    if not isinstance(call, Mapping):
        notes.skip("canvas that is not readable")
        return ""
    updates = call.get("updates")
    changes = [
        str(update.get("replacement") or "")
        for update in (updates if isinstance(updates, list) else ())
        if isinstance(update, Mapping)
    ]
    name = caption("canvas", str(call.get("name") or ""))
    return joined(name, str(call.get("content") or ""), *changes)
