"""What people told ChatGPT of themselves and of its answers, and their projects.

Custom instructions stand in the conversations that had them, as a message of a kind of its own,
and in files of the archive. Each text comes once, from the first time it was in use.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime

from remembrancer.importers.bundle import Bundle, find, parts
from remembrancer.importers.exported_memories import ExportedMemory
from remembrancer.importers.formats import chatgpt
from remembrancer.importers.formats.chatgpt_content import INSTRUCTIONS
from remembrancer.importers.formats.statements import project_statements, statements
from remembrancer.importers.moments import moment
from remembrancer.importers.options import Options
from remembrancer.importers.parse import Notes
from remembrancer.memories.schemas import Category, Kind

_FIELDS = {
    "about_user_message": True,
    "user_profile": True,
    "about_model_message": False,
    "user_instructions": False,
}
"""Fields with what a person says of themselves, or else of the answers."""
_FENCE = "```"


def read(bundle: Bundle, _options: Options, notes: Notes) -> Iterator[ExportedMemory]:
    account = chatgpt.find_account(bundle)
    about = account.platform_user_id if account else None
    first: dict[tuple[bool, str], datetime | None] = {}
    for words, at in _instructions(bundle):
        earlier = first.get(words)
        first[words] = min(at, earlier) if at and earlier else at or earlier
    for (is_person, text), at in first.items():
        yield from statements(
            chatgpt.PLATFORM, about, text,
            said_of="" if is_person else "Instructions for answers",
            kind=Kind.IDENTITY if is_person else Kind.PREFERENCE,
            category=Category.PERSON if is_person else Category.PREFERENCE,
            at=at,
        )  # fmt: skip
    yield from project_statements(chatgpt.PLATFORM, about, bundle, notes)


def _instructions(bundle: Bundle) -> Iterator[tuple[tuple[bool, str], datetime | None]]:
    for name in chatgpt.INSTRUCTIONS:
        if (member := find(bundle, name)) is not None:
            value = member.json()
            for words in (
                found for item in (value, *_object(value).values()) for found in _words(item)
            ):
                yield words, None
    for part in parts(bundle, chatgpt.FILE):
        for _, chat in part.elements():
            yield from _of_chat(chat)


def _of_chat(chat: object) -> Iterator[tuple[tuple[bool, str], datetime | None]]:
    for node in _object(_object(chat).get("mapping")).values():
        message = _object(_object(node).get("message"))
        content = _object(message.get("content"))
        if content.get("content_type") == INSTRUCTIONS:
            times = message.get("create_time"), _object(chat).get("create_time")
            at = next(filter(None, map(moment, times)), None)
            exact = _object(message.get("metadata")).get("user_context_message_data")
            for words in [*_words(exact)] or _words(content):
                yield words, at


def _object(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _words(item: object) -> Iterator[tuple[bool, str]]:
    for name, is_person in _FIELDS.items():
        text = _object(item).get(name)
        if isinstance(text, str) and text.strip():
            # Around the text that a person wrote, ChatGPT tells the model what it is.
            yield is_person, text.split(_FENCE)[1] if text.count(_FENCE) == 2 else text
