"""Account exports of Claude: ``conversations.json``, by itself or in the archive."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic import AwareDatetime

from remembrancer.conversations.schemas import MessageRole
from remembrancer.importers.bundle import Bundle, find, main
from remembrancer.importers.captions import caption, joined, kind_of, label
from remembrancer.importers.exported_conversations import Transcript, Turn
from remembrancer.importers.options import Account, Options
from remembrancer.importers.parse import Notes, Record, record
from remembrancer.importers.turns import storable
from remembrancer.text import Key

PLATFORM: Final = "claude"
FILE: Final = "conversations.json"
_ROLES = {"human": MessageRole.USER, "assistant": MessageRole.ASSISTANT}
_IGNORED_BLOCKS = frozenset({"thinking", "tool_use", "tool_result", "token_budget", "flag"})


class _Account(Record):
    uuid: Key


class _Conversation(Record):
    uuid: Key
    chat_messages: list[Any]
    name: str | None = None
    account: _Account | None = None


class _Message(Record):
    uuid: Key
    sender: str
    created_at: AwareDatetime | None = None
    text: str | None = ""
    content: list[dict[str, Any]] | None = None
    attachments: list[dict[str, Any]] | None = None
    files: list[dict[str, Any]] | None = None


class _User(Record):
    uuid: Key
    full_name: str | None = None


def looks_like(first: Any) -> bool:
    return isinstance(first, Mapping) and isinstance(first.get("chat_messages"), list)


def find_account(bundle: Bundle) -> Account | None:
    """Return the account of the export: with a name from an archive, else only with an id."""
    member = find(bundle, "users.json")
    for where, value in member.elements() if member else ():
        user = record(_User, value, where)
        return Account(PLATFORM, user.uuid, label(user.full_name))
    for where, value in main(bundle, FILE).elements():
        chat = record(_Conversation, value, where)
        return Account(PLATFORM, chat.account.uuid) if chat.account else None
    return None


def read(bundle: Bundle, options: Options, notes: Notes) -> Iterator[Transcript]:
    member = main(bundle, FILE)
    account = find_account(bundle)
    for where, value in member.elements():
        chat = record(_Conversation, value, where, notes)
        turns = _turns(chat, where, account, notes)
        yield from storable(PLATFORM, chat.uuid, turns, notes, options, title=label(chat.name))


def _turns(
    chat: _Conversation, where: str, account: Account | None, notes: Notes
) -> Iterator[Turn]:
    account_id = chat.account.uuid if chat.account else None
    if account_id is None and account is not None:
        account_id = account.platform_user_id
    name = account.name if account and account.platform_user_id == account_id else ""
    for number, value in enumerate(chat.chat_messages, 1):
        message = record(_Message, value, f"{where}, message {number}", notes)
        role = _ROLES.get(message.sender)
        if role is None:
            notes.skip(f"message of {label(message.sender)}")
            continue
        is_owner = role is MessageRole.USER
        yield Turn(
            role=role,
            content=joined(*_captions(message), _text(message, notes)),
            sender=(name or None) if is_owner else "Claude",
            platform_user_id=account_id if is_owner else None,
            sent_at=message.created_at,
            message_id=message.uuid,
        )


def _text(message: _Message, notes: Notes) -> str:
    """Return the text blocks, or the whole text of an older export."""
    blocks = message.content or []
    texts = [str(block.get("text") or "") for block in blocks if block.get("type") == "text"]
    for kind in (str(block.get("type")) for block in blocks):
        if kind in _IGNORED_BLOCKS:
            notes.skip(f"block of kind {kind}")
        elif kind != "text":
            notes.unknown_field(f"block.{label(kind)}")
    return "\n\n".join(filter(None, texts)) if texts else message.text or ""


def _captions(message: _Message) -> Iterator[str]:
    for item in [*(message.attachments or ()), *(message.files or ())]:
        name, kind = str(item.get("file_name") or ""), item.get("file_kind")
        mime_type = f"{kind}/" if kind else str(item.get("file_type") or "")
        yield caption(kind_of(mime_type), name)
