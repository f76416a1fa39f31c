"""LibreChat's export of a conversation as JSON.

``messages`` has the branch that is open, or all branches in one list; with the option "recursive",
``messagesTree`` has them as a tree of ``children``. Its source writes it. The file
does not name the person, and has no times for messages that the browser has not read anew.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from pydantic import Field

from remembrancer.conversations.schemas import MessageRole
from remembrancer.importers.branches import branch
from remembrancer.importers.bundle import Bundle, files, note_unread
from remembrancer.importers.captions import caption, joined, kind_of, label
from remembrancer.importers.exported_conversations import Transcript, Turn
from remembrancer.importers.moments import moment
from remembrancer.importers.options import Options
from remembrancer.importers.parse import Notes, Record, record
from remembrancer.importers.turns import storable
from remembrancer.text import Key

PLATFORM: Final = "librechat"


class _Conversation(Record):
    conversation: Key = Field(alias="conversationId")
    title: str | None = None
    messages: list[object] | None = None
    tree: list[object] | None = Field(None, alias="messagesTree")


class _Message(Record):
    id: Key = Field(alias="messageId")
    parent: str | None = Field(None, alias="parentMessageId")
    is_person: bool = Field(False, alias="isCreatedByUser")
    sender: str | None = None
    text: str | None = ""
    content: list[dict[str, object]] | None = None
    at: str | None = Field(None, alias="createdAt")
    files: list[dict[str, object]] | None = None
    children: list[object] | None = None
    error: bool | None = None


def looks_like(first: object) -> bool:
    return isinstance(first, Mapping) and {"conversationId", "exportAt"} <= first.keys()


def read(bundle: Bundle, options: Options, notes: Notes) -> Iterator[Transcript]:
    found = files(bundle, ".json")
    for where, value in (pair for member in found for pair in member.elements()):
        chat = record(_Conversation, value, where, notes)
        turns = _turns(chat, where, notes)
        key, title = chat.conversation, label(chat.title)
        yield from storable(PLATFORM, key, turns, notes, options, title=title)
    note_unread(bundle, found, notes)


def _messages(chat: _Conversation, where: str, notes: Notes) -> Iterator[_Message]:
    rest = [(f"{where}, messages.{n}", value) for n, value in enumerate(chat.messages or (), 1)]
    rest += [(f"{where}, messagesTree.{n}", value) for n, value in enumerate(chat.tree or (), 1)]
    for position, value in rest:
        message = record(_Message, value, position, notes)
        yield message
        rest += [(position, child) for child in message.children or ()]


def _turns(chat: _Conversation, where: str, notes: Notes) -> Iterator[Turn]:
    messages = {message.id: message for message in _messages(chat, where, notes)}
    parents = {key: message.parent for key, message in messages.items()}
    leaves = messages.keys() - set(parents.values())
    newest_first = [key for key in reversed(messages) if key in leaves]
    leaf = max(newest_first, key=lambda key: messages[key].at or "", default=None)
    path = branch(parents, leaf, f"{where}, parentMessageId")
    for _ in range(len(messages) - len(path)):
        notes.skip("message of a branch that was not open")
    for message in (messages[key] for key in path):
        if message.error:
            notes.skip("error message")
            continue
        yield Turn(
            role=MessageRole.USER if message.is_person else MessageRole.ASSISTANT,
            content=joined(*_captions(message), *_texts(message, notes)),
            sender=None if message.is_person else label(message.sender) or "LibreChat",
            sent_at=moment(message.at),
            message_id=message.id,
        )


def _texts(message: _Message, notes: Notes) -> Iterator[str]:
    if not message.content:
        yield message.text or ""
    for part in message.content or ():
        kind, text = str(part.get("type")), part.get("text")
        if kind == "text":
            yield str(text.get("value") or "" if isinstance(text, Mapping) else text or "")
        elif kind in {"image_file", "image_url"}:
            yield caption("photo")
        else:
            notes.skip(f"part of kind {label(kind)}")


def _captions(message: _Message) -> Iterator[str]:
    for item in message.files or ():
        yield caption(kind_of(str(item.get("type") or "")), str(item.get("filename") or ""))
