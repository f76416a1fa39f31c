"""Account exports of ChatGPT: ``conversations.json``, by itself or in the archive.

A conversation is a tree, because ChatGPT preserves edited messages and regenerated answers. Only
the branch that was open last is imported.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from pydantic import Field

from remembrancer.conversations.schemas import MessageRole
from remembrancer.importers.bundle import Bundle, find, main
from remembrancer.importers.captions import caption, joined, kind_of, label
from remembrancer.importers.exported_conversations import Transcript, Turn
from remembrancer.importers.options import Account, Options
from remembrancer.importers.parse import Notes, Record, invalid, record
from remembrancer.importers.turns import storable
from remembrancer.text import Key

PLATFORM: Final = "chatgpt"
FILE: Final = "conversations.json"
_ROLES = {"user": MessageRole.USER, "assistant": MessageRole.ASSISTANT}
_TEXT_TYPES = ("text", "multimodal_text")


class _Conversation(Record):
    mapping: dict[str, Any]
    title: str | None = None
    create_time: float | None = None
    current_node: str | None = None
    conversation_id: Key | None = None
    id: Key | None = None


class _Node(Record):
    parent: str | None = None
    message: dict[str, Any] | None = None


class _Author(Record):
    role: str


class _Content(Record):
    # Other kinds of content have other fields, which are not read.
    content_type: str
    parts: list[Any] = Field(default_factory=list)


class _Message(Record):
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
    name: str = Field("", description="Reserved: no export has it yet.")


def looks_like(first: Any) -> bool:
    return isinstance(first, Mapping) and isinstance(first.get("mapping"), Mapping)


def find_account(bundle: Bundle) -> Account | None:
    member = find(bundle, "user.json")
    if member is None:
        return None
    user = record(_User, member.json(), member.where)
    return Account(PLATFORM, user.id, label(user.name or user.email.partition("@")[0]))


def read(bundle: Bundle, options: Options, notes: Notes) -> Iterator[Transcript]:
    member = main(bundle, FILE)
    account = find_account(bundle)
    for where, value in member.elements():
        chat = record(_Conversation, value, where, notes)
        key = chat.conversation_id or chat.id
        if key is None:
            raise invalid(f"{where}, conversation_id", "is missing; export the account again")
        turns = _turns(chat, where, account, notes)
        yield from storable(PLATFORM, key, turns, notes, options, title=label(chat.title))


def _turns(
    chat: _Conversation, where: str, account: Account | None, notes: Notes
) -> Iterator[Turn]:
    at = _time(chat.create_time)
    for position, value in _branch(chat, where):
        message = record(_Message, value, position, notes)
        role = record(_Author, message.author, f"{position}, author", notes).role
        at = _time(message.create_time) or at
        text = _content(message, role, position, notes)
        if text is None:
            continue
        is_owner = role == "user"
        yield Turn(
            role=_ROLES[role],
            content=text,
            sender=(account.name or None if account else None) if is_owner else "ChatGPT",
            platform_user_id=account.platform_user_id if account and is_owner else None,
            sent_at=at,
            message_id=message.id,
        )


def _branch(chat: _Conversation, where: str) -> list[tuple[str, Any]]:
    """Return the messages from the root to the current node."""
    at = chat.current_node or _latest(chat.mapping)
    messages: list[tuple[str, Any]] = []
    seen: set[str] = set()
    while at is not None:
        position = f"{where}, mapping.{label(at)[:64]}"
        if at in seen or at not in chat.mapping:
            reason = "is its own ancestor" if at in seen else "is named as a parent, but missing"
            raise invalid(position, reason)
        seen.add(at)
        node = record(_Node, chat.mapping[at], position)
        if node.message is not None:
            messages.append((position, node.message))
        at = node.parent
    return messages[::-1]


def _latest(mapping: Mapping[str, Any]) -> str | None:
    """Return the newest leaf, for an export without a current node."""
    leaves = [
        key
        for key, node in mapping.items()
        if isinstance(node, Mapping) and not node.get("children")
    ]
    return max(leaves, key=lambda key: _node_time(mapping[key]), default=None)


def _node_time(node: Mapping[str, Any]) -> float:
    message = node.get("message")
    at = message.get("create_time") if isinstance(message, Mapping) else None
    return at if isinstance(at, int | float) else 0.0


def _content(message: _Message, role: str, position: str, notes: Notes) -> str | None:
    """Return the text of a person or the model; null for any other message."""
    metadata = message.metadata or {}
    content = record(_Content, message.content, f"{position}, content")
    if role not in _ROLES or message.recipient not in {None, "all"}:
        notes.skip(f"{label(role)} message" if role not in _ROLES else "tool call")
    elif metadata.get("is_visually_hidden_from_conversation") or message.weight == 0:
        notes.skip("hidden message")
    elif content.content_type not in _TEXT_TYPES:
        notes.skip(f"message of kind {label(content.content_type)}")
    else:
        return joined(*_attached(metadata), *(_part(part, notes) for part in content.parts))
    return None


def _attached(metadata: Mapping[str, Any]) -> Iterator[str]:
    attachments = metadata.get("attachments")
    for item in attachments if isinstance(attachments, list) else ():
        if isinstance(item, Mapping):
            mime_type = item.get("mime_type") or item.get("mimeType")
            yield caption(kind_of(str(mime_type or "")), str(item.get("name") or ""))


def _part(part: Any, notes: Notes) -> str:
    if isinstance(part, str):
        return part
    kind = str(part.get("content_type", "")) if isinstance(part, Mapping) else type(part).__name__
    if kind == "audio_transcription":
        return str(part.get("text") or "")
    # The picture itself; the attachments have its name.
    if kind not in {"image_asset_pointer", "audio_asset_pointer"} and not kind.startswith("real_"):
        notes.unknown_field(f"part.{label(kind)}")
    return ""


def _time(seconds: float | None) -> datetime | None:
    try:
        return datetime.fromtimestamp(seconds, UTC) if seconds else None
    except (OverflowError, ValueError, OSError):
        return None
