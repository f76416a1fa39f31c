"""Account exports of Claude: ``conversations.json``, by itself or in the archive.

Each message names its parent (``parent_message_uuid``); an edited question or a regenerated answer
is one more child. The branch that was open is imported: the one of ``current_leaf_message_uuid``,
which archives lack, else the one with the latest message.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from pydantic import AwareDatetime

from remembrancer.conversations.schemas import MessageRole
from remembrancer.importers.bundle import Bundle, find, note_unread, parts, within
from remembrancer.importers.captions import caption, joined, kind_of, label
from remembrancer.importers.exported_conversations import Transcript, Turn
from remembrancer.importers.options import Account, Options
from remembrancer.importers.parse import Notes, Record, invalid, record
from remembrancer.importers.turns import storable
from remembrancer.text import Key

PLATFORM: Final = "claude"
FILE: Final = "conversations.json"
_ROLES = {"human": MessageRole.USER, "assistant": MessageRole.ASSISTANT}
_IGNORED_BLOCKS = frozenset({"thinking", "tool_use", "tool_result", "token_budget", "flag"})
_TEXT_BLOCKS = frozenset({"text", "voice_note"})
_PASTED = frozenset({"", "paste.txt", "pasted.txt"})
"""Names of attachments that are a text which was pasted."""


class _Account(Record):
    uuid: Key


class _Conversation(Record):
    uuid: Key
    chat_messages: list[Any]
    name: str | None = None
    account: _Account | None = None
    current_leaf_message_uuid: str | None = None


class _Message(Record):
    uuid: Key
    sender: str
    parent_message_uuid: str | None = None
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
    for part in parts(bundle, FILE):
        for where, value in part.elements():
            chat = record(_Conversation, value, where)
            return Account(PLATFORM, chat.account.uuid) if chat.account else None
    return None


def read(bundle: Bundle, options: Options, notes: Notes) -> Iterator[Transcript]:
    files = parts(bundle, FILE)
    account = find_account(bundle)
    for where, value in (pair for file in files for pair in file.elements()):
        chat = record(_Conversation, value, where, notes)
        turns = _turns(chat, where, account, notes)
        yield from storable(PLATFORM, chat.uuid, turns, notes, options, title=label(chat.name))
    users = [user] if (user := find(bundle, "users.json")) else []
    others = [*within(bundle, "memories"), *within(bundle, "projects")]
    note_unread(bundle, [*files, *users, *others], notes)


def _turns(
    chat: _Conversation, where: str, account: Account | None, notes: Notes
) -> Iterator[Turn]:
    account_id = chat.account.uuid if chat.account else None
    if account_id is None and account is not None:
        account_id = account.platform_user_id
    name = account.name if account and account.platform_user_id == account_id else ""
    messages = [
        record(_Message, value, f"{where}, message {number}", notes)
        for number, value in enumerate(chat.chat_messages, 1)
    ]
    for message in _branch(messages, chat.current_leaf_message_uuid, where, notes):
        role = _ROLES.get(message.sender)
        if role is None:
            notes.skip(f"message of {label(message.sender)}")
            continue
        is_owner = role is MessageRole.USER
        yield Turn(
            role=role,
            content=joined(*_attached(message, notes), _text(message, notes)),
            sender=(name or None) if is_owner else "Claude",
            platform_user_id=account_id if is_owner else None,
            sent_at=message.created_at,
            message_id=message.uuid,
        )


def _branch(
    messages: Sequence[_Message], leaf: str | None, where: str, notes: Notes
) -> Sequence[_Message]:
    """Return the messages of the branch that was open; all of an export that has no branches."""
    by_id = {message.uuid: message for message in messages}
    parents = {message.parent_message_uuid for message in messages}
    if not parents & by_id.keys():
        return messages
    if leaf not in by_id:
        leaves = [message for message in messages if message.uuid not in parents]
        leaf = max(leaves, key=_moment).uuid if leaves else messages[-1].uuid
    branch: dict[str, _Message] = {}
    while (message := by_id.get(leaf or "")) is not None:
        if message.uuid in branch:
            raise invalid(f"{where}, parent_message_uuid", "makes a message its own ancestor")
        branch[message.uuid], leaf = message, message.parent_message_uuid
    for _ in range(len(by_id) - len(branch)):
        notes.skip("message of a branch that was not open")
    return [*branch.values()][::-1]


def _moment(message: _Message) -> datetime:
    return message.created_at or datetime.min.replace(tzinfo=UTC)


def _text(message: _Message, notes: Notes) -> str:
    """Return the text blocks, or the whole text of an older export."""
    blocks = message.content or []
    texts = [str(block.get("text") or "") for block in blocks if block.get("type") in _TEXT_BLOCKS]
    for kind in (str(block.get("type")) for block in blocks):
        if kind in _IGNORED_BLOCKS:
            notes.skip(f"block of kind {kind}")
        elif kind not in _TEXT_BLOCKS:
            notes.unknown_field(f"block.{label(kind)}")
    return "\n\n".join(filter(None, texts)) if texts else message.text or ""


def _attached(message: _Message, notes: Notes) -> Iterator[str]:
    """Yield captions, and the texts that were pasted."""
    for item in [*(message.attachments or ()), *(message.files or ())]:
        name, kind = str(item.get("file_name") or ""), item.get("file_kind")
        text = str(item.get("extracted_content") or "")
        if text and name.casefold() in _PASTED:
            yield text
            continue
        if text:
            notes.skip("text of an attached file")
        mime_type = f"{kind}/" if kind else str(item.get("file_type") or "")
        yield caption(kind_of(mime_type), name)
