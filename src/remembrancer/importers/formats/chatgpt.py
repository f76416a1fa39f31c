"""Account exports of ChatGPT: ``conversations.json``, by itself or in the archive.

A conversation there is a tree, since a message can be edited and an answer made anew. What is
taken is the branch that was open last.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, ClassVar, Final

from pydantic import Field

from remembrancer.conversations.schemas import MessageRole
from remembrancer.importers.bundle import Bundle, find, main
from remembrancer.importers.exported_conversations import Transcript, Turn, wrong
from remembrancer.importers.parse import (
    Account,
    Notes,
    Options,
    Record,
    caption,
    joined,
    kind_of,
    label,
    record,
)
from remembrancer.importers.turns import conversation
from remembrancer.text import Key

PLATFORM: Final = "chatgpt"
FILE: Final = "conversations.json"
_ROLES = {"user": MessageRole.USER, "assistant": MessageRole.ASSISTANT}
_WORDS = ("text", "multimodal_text")


class _Conversation(Record):
    LEFT: ClassVar = frozenset(
        [
            "async_status",
            "atlas_mode_enabled",
            "blocked_urls",
            "context_scopes",
            "conversation_origin",
            "conversation_template_id",
            "default_model_slug",
            "disabled_tool_ids",
            "gizmo_id",
            "gizmo_type",
            "is_archived",
            "is_do_not_remember",
            "is_read_only",
            "is_starred",
            "is_study_mode",
            "memory_scope",
            "moderation_results",
            "owner",
            "pinned_time",
            "plugin_ids",
            "safe_urls",
            "sugar_item_id",
            "sugar_item_visible",
            "update_time",
            "voice",
        ]
    )

    mapping: dict[str, Any]
    title: str | None = None
    create_time: float | None = None
    current_node: str | None = None
    conversation_id: Key | None = None
    id: Key | None = None


class _Node(Record):
    LEFT: ClassVar = frozenset({"id", "children"})

    parent: str | None = None
    message: dict[str, Any] | None = None


class _Author(Record):
    LEFT: ClassVar = frozenset({"name", "metadata"})

    role: str


class _Content(Record):
    # What other kinds of content hold is not read, so it is not looked at.
    content_type: str
    parts: list[Any] = Field(default_factory=list)


class _Message(Record):
    LEFT: ClassVar = frozenset({"update_time", "status", "end_turn", "channel"})

    id: Key
    author: dict[str, Any]
    content: dict[str, Any]
    create_time: float | None = None
    weight: float | None = 1.0
    recipient: str | None = "all"
    metadata: dict[str, Any] | None = None


class _User(Record):
    id: Key
    email: str = ""
    name: str = Field("", description="In no export so far.")


def looks_like(first: Any) -> bool:
    """Say whether the first element of a file is one of ChatGPT's conversations."""
    return isinstance(first, Mapping) and isinstance(first.get("mapping"), Mapping)


def account(bundle: Bundle) -> Account | None:
    """Return whose export it is, which only the archive says."""
    member = find(bundle, "user.json")
    if member is None:
        return None
    user = record(_User, member.json(), member.where, Notes())
    return Account(PLATFORM, user.id, label(user.name or user.email.partition("@")[0]))


def read(bundle: Bundle, options: Options, notes: Notes) -> Iterator[Transcript]:
    """Yield the conversations in the order of the file."""
    member = main(bundle, FILE)
    whose = account(bundle)
    for where, value in member.elements():
        talk = record(_Conversation, value, where, notes)
        key = talk.conversation_id or talk.id
        if key is None:
            raise wrong(f"{where}, conversation_id", "is missing")
        turns = _turns(talk, where, whose, notes)
        yield from conversation(PLATFORM, key, turns, notes, options, title=label(talk.title))


def _turns(talk: _Conversation, where: str, whose: Account | None, notes: Notes) -> Iterator[Turn]:
    at = _time(talk.create_time)
    for place, value in _branch(talk, where):
        message = record(_Message, value, place, notes)
        role = record(_Author, message.author, f"{place}, author", notes).role
        at = _time(message.create_time) or at
        told = _content(message, role, place, notes)
        if told is None:
            continue
        mine = role == "user"
        yield Turn(
            role=_ROLES[role],
            content=told,
            sender=(whose.name or None if whose else None) if mine else "ChatGPT",
            platform_user_id=whose.platform_user_id if whose and mine else None,
            sent_at=at,
            message_id=message.id,
        )


def _branch(talk: _Conversation, where: str) -> list[tuple[str, Any]]:
    """Return the messages from the root to where the conversation stood last."""
    at = talk.current_node or _latest(talk.mapping)
    found: list[tuple[str, Any]] = []
    seen: set[str] = set()
    while at is not None:
        place = f"{where}, mapping.{label(at)[:64]}"
        if at in seen or at not in talk.mapping:
            reason = "is its own ancestor" if at in seen else "is named but not there"
            raise wrong(place, reason)
        seen.add(at)
        node = record(_Node, talk.mapping[at], place, Notes())
        if node.message is not None:
            found.append((place, node.message))
        at = node.parent
    return found[::-1]


def _latest(mapping: Mapping[str, Any]) -> str | None:
    """Return the leaf that was written last, where the export does not say which is open."""
    leaves = [
        key
        for key, node in mapping.items()
        if isinstance(node, Mapping) and not node.get("children")
    ]
    return max(leaves, key=lambda key: _written(mapping[key]), default=None)


def _written(node: Mapping[str, Any]) -> float:
    message = node.get("message")
    at = message.get("create_time") if isinstance(message, Mapping) else None
    return float(at) if isinstance(at, int | float) else 0.0


def _content(message: _Message, role: str, place: str, notes: Notes) -> str | None:
    """Return what a person or the model said in a message; null for anything else."""
    metadata = message.metadata or {}
    content = record(_Content, message.content, f"{place}, content", Notes())
    if role not in _ROLES or message.recipient not in {None, "all"}:
        notes.skip(f"{label(role)} message" if role not in _ROLES else "call of a tool")
    elif metadata.get("is_visually_hidden_from_conversation") or message.weight == 0:
        notes.skip("hidden message")
    elif content.content_type not in _WORDS:
        notes.skip(f"message of kind {label(content.content_type)}")
    else:
        return joined(*_attached(metadata), *(_part(part, notes) for part in content.parts))
    return None


def _attached(metadata: Mapping[str, Any]) -> Iterator[str]:
    attachments = metadata.get("attachments")
    for one in attachments if isinstance(attachments, list) else ():
        if isinstance(one, Mapping):
            mime_type = one.get("mime_type") or one.get("mimeType")
            yield caption(kind_of(str(mime_type or "")), str(one.get("name") or ""))


def _part(part: Any, notes: Notes) -> str:
    if isinstance(part, str):
        return part
    kind = str(part.get("content_type", "")) if isinstance(part, Mapping) else type(part).__name__
    if kind == "audio_transcription":
        return str(part.get("text") or "")
    # The picture itself; its name, if it has one, is among the attachments.
    if kind not in {"image_asset_pointer", "audio_asset_pointer"} and not kind.startswith("real_"):
        notes.strange(f"part.{label(kind)}")
    return ""


def _time(seconds: float | None) -> datetime | None:
    try:
        return datetime.fromtimestamp(seconds, UTC) if seconds else None
    except (OverflowError, ValueError, OSError):
        return None
