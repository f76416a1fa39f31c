"""Account exports of Claude: ``conversations.json``, by itself or in the archive."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Final

from pydantic import AwareDatetime

from remembrancer.conversations.schemas import MessageRole
from remembrancer.importers.bundle import Bundle, find, main
from remembrancer.importers.exported_conversations import Transcript, Turn
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

PLATFORM: Final = "claude"
FILE: Final = "conversations.json"
_ROLES = {"human": MessageRole.USER, "assistant": MessageRole.ASSISTANT}
_ASIDE = frozenset({"thinking", "tool_use", "tool_result", "token_budget", "flag"})


class _Account(Record):
    uuid: Key


class _Conversation(Record):
    LEFT: ClassVar = frozenset(
        {"created_at", "updated_at", "summary", "model", "settings", "is_starred", "project"}
        | {"project_uuid", "current_leaf_message_uuid", "is_temporary", "platform"}
    )

    uuid: Key
    chat_messages: list[Any]
    name: str | None = None
    account: _Account | None = None


class _Message(Record):
    LEFT: ClassVar = frozenset(
        {"updated_at", "index", "parent_message_uuid", "truncated", "stop_reason", "files_v2"}
        | {"sync_sources", "input_mode"}
    )

    uuid: Key
    sender: str
    created_at: AwareDatetime | None = None
    text: str | None = ""
    content: list[dict[str, Any]] | None = None
    attachments: list[dict[str, Any]] | None = None
    files: list[dict[str, Any]] | None = None


class _User(Record):
    LEFT: ClassVar = frozenset({"email_address", "verified_phone_number", "verified_at"})

    uuid: Key
    full_name: str | None = None


def looks_like(first: Any) -> bool:
    """Say whether the first element of a file is one of Claude's conversations."""
    return isinstance(first, Mapping) and isinstance(first.get("chat_messages"), list)


def account(bundle: Bundle) -> Account | None:
    """Return whose export it is: the archive names them, a file has their id at least."""
    member = find(bundle, "users.json")
    for where, value in member.elements() if member else ():
        user = record(_User, value, where, Notes())
        return Account(PLATFORM, user.uuid, label(user.full_name))
    for where, value in main(bundle, FILE).elements():
        talk = record(_Conversation, value, where, Notes())
        return Account(PLATFORM, talk.account.uuid) if talk.account else None
    return None


def read(bundle: Bundle, options: Options, notes: Notes) -> Iterator[Transcript]:
    """Yield the conversations in the order of the file."""
    member = main(bundle, FILE)
    whose = account(bundle)
    for where, value in member.elements():
        talk = record(_Conversation, value, where, notes)
        turns = _turns(talk, where, whose, notes)
        yield from conversation(PLATFORM, talk.uuid, turns, notes, options, title=label(talk.name))


def _turns(talk: _Conversation, where: str, whose: Account | None, notes: Notes) -> Iterator[Turn]:
    account_id = talk.account.uuid if talk.account else None
    if account_id is None and whose is not None:
        account_id = whose.platform_user_id
    name = whose.name if whose and whose.platform_user_id == account_id else ""
    for number, value in enumerate(talk.chat_messages, 1):
        message = record(_Message, value, f"{where}, message {number}", notes)
        role = _ROLES.get(message.sender)
        if role is None:
            notes.skip(f"message of {label(message.sender)}")
            continue
        mine = role is MessageRole.USER
        yield Turn(
            role=role,
            content=joined(*_captions(message), _words(message, notes)),
            sender=(name or None) if mine else "Claude",
            platform_user_id=account_id if mine else None,
            sent_at=message.created_at,
            message_id=message.uuid,
        )


def _words(message: _Message, notes: Notes) -> str:
    """Return the blocks of text; older exports have none, and the text as a whole."""
    blocks = message.content or []
    words = [str(block.get("text") or "") for block in blocks if block.get("type") == "text"]
    for kind in (str(block.get("type")) for block in blocks):
        if kind in _ASIDE:
            notes.skip(f"block of kind {kind}")
        elif kind != "text":
            notes.strange(f"block.{label(kind)}")
    return "\n\n".join(word for word in words if word) or (message.text or "" if not words else "")


def _captions(message: _Message) -> Iterator[str]:
    for one in [*(message.attachments or ()), *(message.files or ())]:
        name, kind = str(one.get("file_name") or ""), one.get("file_kind")
        mime_type = f"{kind}/" if kind else str(one.get("file_type") or "")
        yield caption(kind_of(mime_type), name)
