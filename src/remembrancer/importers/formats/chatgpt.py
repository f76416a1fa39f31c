"""Account exports of ChatGPT: ``conversations.json``, by itself or in the archive.

Since 2026 the archive has ``conversations-000.json``, ``-001`` and so on instead, with the names of
all its files in ``export_manifest.json``. OpenAI publishes no schema.

A conversation is a tree, because ChatGPT preserves edited messages and regenerated answers. Only
the branch that was open last is imported.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from pydantic import Field

from remembrancer.conversations.schemas import MessageRole
from remembrancer.importers.bundle import Bundle, find, note_unread, part_number, parts, within
from remembrancer.importers.captions import label
from remembrancer.importers.exported_conversations import Transcript, Turn
from remembrancer.importers.formats.chatgpt_content import Message, content_of
from remembrancer.importers.moments import moment
from remembrancer.importers.options import Account, Options
from remembrancer.importers.parse import Notes, Record, invalid, record
from remembrancer.importers.turns import storable
from remembrancer.text import Key

PLATFORM: Final = "chatgpt"
FILE: Final = "conversations.json"
MANIFEST: Final = "export_manifest.json"
INSTRUCTIONS: Final = ("custom_instructions.json", "user_settings.json")
_MOST_PARTS = 10_000


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
    files = parts(bundle, FILE)
    account = find_account(bundle)
    _note_missing(bundle, notes)
    for where, value in (pair for file in files for pair in file.elements()):
        chat = record(_Conversation, value, where, notes)
        key = chat.conversation_id or chat.id
        if key is None:
            raise invalid(f"{where}, conversation_id", "is missing; export the account again")
        turns = _turns(chat, where, account, notes)
        yield from storable(PLATFORM, key, turns, notes, options, title=label(chat.title))
    known = (find(bundle, name) for name in ("user.json", MANIFEST, *INSTRUCTIONS))
    note_unread(bundle, [*files, *within(bundle, "projects"), *filter(None, known)], notes)


def _note_missing(bundle: Bundle, notes: Notes) -> None:
    """Note the parts that the manifest or the numbers of the others name, but that are not there.

    A large account may come as several archives.
    """
    manifest = find(bundle, MANIFEST)
    named = _strings(manifest.json()) if manifest else ()
    there = _numbers(bundle.names())
    before_last = range(min(max(there, default=0), _MOST_PARTS))
    for number in sorted({*before_last, *_numbers(named)} - there):
        notes.skip(f"missing file conversations-{number:03}.json")


def _numbers(names: Iterable[str]) -> set[int]:
    numbers = (part_number(name, FILE) for name in names)
    return {number for number in numbers if number is not None and number >= 0}


def _strings(value: object) -> Iterator[str]:
    rest = [value]
    while rest:
        item = rest.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, list | dict):
            rest.extend(item.values() if isinstance(item, dict) else item)


def _turns(
    chat: _Conversation, where: str, account: Account | None, notes: Notes
) -> Iterator[Turn]:
    at = moment(chat.create_time)
    for position, value in _branch(chat, where):
        message = record(Message, value, position, notes)
        at = moment(message.create_time) or at
        if (found := content_of(message, position, notes)) is None:
            continue
        role, text = found
        is_owner = role is MessageRole.USER
        yield Turn(
            role=role,
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
