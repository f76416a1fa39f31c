"""Chats of Open WebUI: the JSON of "Export Chats", of one person or, by an admin, of all.

A chat is a tree like that of ChatGPT: ``history.messages`` by id, each with its ``parentId``, and
``currentId``, the message that was open last. Thoughts and calls of tools stand in the text of an
answer, as ``<details>`` with a type. Types in its front end and in clients name the fields.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from pydantic import Field

from remembrancer.conversations.schemas import MessageRole
from remembrancer.importers.branches import branch, without
from remembrancer.importers.bundle import Bundle, files, note_unread
from remembrancer.importers.captions import caption, joined, kind_of, label
from remembrancer.importers.exported_conversations import Transcript, Turn
from remembrancer.importers.moments import moment
from remembrancer.importers.options import Account, Options
from remembrancer.importers.parse import Notes, Record, record
from remembrancer.importers.turns import storable
from remembrancer.text import Key

PLATFORM: Final = "open-webui"
_ROLES: Final = {"user": MessageRole.USER, "assistant": MessageRole.ASSISTANT}
_HIDDEN: Final = ("reasoning", "tool_calls", "code_interpreter")


class _Export(Record):
    id: Key
    chat: dict[str, object]
    user_id: Key | None = None
    title: str | None = None


class _Chat(Record):
    history: dict[str, object]


class _History(Record):
    messages: dict[str, object]
    current: str | None = Field(None, alias="currentId")


class _Message(Record):
    id: Key
    role: str
    content: str | None = ""
    parent: str | None = Field(None, alias="parentId")
    timestamp: float | None = None
    model: str | None = None
    model_name: str | None = Field(None, alias="modelName")
    files: list[dict[str, object]] | None = None


def looks_like(first: object) -> bool:
    chat = first.get("chat") if isinstance(first, Mapping) else None
    return isinstance(chat, Mapping) and isinstance(chat.get("history"), Mapping)


def find_account(bundle: Bundle) -> Account | None:
    """Return the person of the chats, unless they are of several."""
    ids = {
        record(_Export, value, where).user_id
        for member in files(bundle, ".json")
        for where, value in member.elements()
    }
    [only, *others] = ids or {None}
    return Account(PLATFORM, only) if only is not None and not others else None


def read(bundle: Bundle, options: Options, notes: Notes) -> Iterator[Transcript]:
    found = files(bundle, ".json")
    for where, value in (pair for member in found for pair in member.elements()):
        export = record(_Export, value, where, notes)
        chat = record(_Chat, export.chat, f"{where}, chat", notes)
        history = record(_History, chat.history, f"{where}, chat.history", notes)
        turns = _turns(history, export.user_id, f"{where}, chat.history", notes)
        title = label(export.title)
        yield from storable(PLATFORM, export.id, turns, notes, options, title=title)
    note_unread(bundle, found, notes)


def _turns(history: _History, owner: str | None, where: str, notes: Notes) -> Iterator[Turn]:
    messages = {
        key: record(_Message, value, f"{where}, messages.{label(key)[:64]}", notes)
        for key, value in history.messages.items()
    }
    parents = {key: message.parent for key, message in messages.items()}
    leaf = history.current if history.current in messages else next(reversed(messages), None)
    path = branch(parents, leaf, f"{where}, parentId")
    for _ in range(len(messages) - len(path)):
        notes.skip("message of a branch that was not open")
    for key in path:
        message = messages[key]
        role = _ROLES.get(message.role)
        if role is None:
            notes.skip(f"{label(message.role)} message")
            continue
        is_person = role is MessageRole.USER
        model = label(message.model_name) or label(message.model) or "Open WebUI"
        yield Turn(
            role=role,
            content=joined(*_captions(message), _said(message.content or "", notes)),
            sender=None if is_person else model,
            platform_user_id=owner if is_person else None,
            sent_at=moment(message.timestamp),
            message_id=message.id,
        )


def _said(text: str, notes: Notes) -> str:
    for kind in _HIDDEN:
        said = without(text, f'<details type="{kind}"', "</details>")
        if said != text:
            notes.skip(f"{kind.replace('_', ' ')} in an answer")
        text = said
    return text


def _captions(message: _Message) -> Iterator[str]:
    for item in message.files or ():
        kind = str(item.get("type") or "")
        mime_type = "image/" if kind == "image" else str(item.get("content_type") or "")
        yield caption(kind_of(mime_type), str(item.get("name") or ""))
