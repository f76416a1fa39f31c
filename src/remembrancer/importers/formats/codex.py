"""Sessions of Codex: ``rollout-<time>-<session>.jsonl`` in ``~/.codex/sessions``, by day.

The first line describes the session. Since September 2025 each line has a time, a ``type`` and a
``payload``; before, it is the payload, without a time. What the program tells the model about the
machine stands among the person's messages. A person who goes back leaves a line with the number of
turns that do not count.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import PurePosixPath
from typing import Final

from pydantic import AwareDatetime

from remembrancer.conversations.schemas import MessageRole
from remembrancer.importers.bundle import Bundle, Member, files, note_unread
from remembrancer.importers.captions import caption, joined, label
from remembrancer.importers.exported_conversations import Transcript, Turn
from remembrancer.importers.options import Options
from remembrancer.importers.parse import Notes, Record, record
from remembrancer.importers.turns import storable
from remembrancer.text import Key

PLATFORM: Final = "codex"
_ROLES: Final = {"user": MessageRole.USER, "assistant": MessageRole.ASSISTANT}
_TEXTS: Final = frozenset({"input_text", "output_text", "text"})
_OF_PROGRAM: Final = (
    "<environment_context>", "<user_instructions>", "<permissions instructions>", "<turn_aborted>",
    "<collaboration_mode>", "<skill>", "<user_shell_command>", "<subagent_notification>",
    "# AGENTS.md instructions",
)  # fmt: skip
_BY_EDITOR: Final = "# Context from my IDE setup"
_REQUEST: Final = "## My request for Codex:"


class _Session(Record):
    id: Key
    timestamp: AwareDatetime | None = None
    cwd: str | None = None
    source: object = None


class _Line(Record):
    type: str = ""
    timestamp: AwareDatetime | None = None
    payload: dict[str, object] | None = None


class _Item(Record):
    type: str = ""
    role: str = ""
    content: list[object] | None = None
    num_turns: int = 0


def looks_like(line: object) -> bool:
    """Tell by the first line of a file."""
    if not isinstance(line, Mapping):
        return False
    is_session = line.get("type") == "session_meta" and isinstance(line.get("payload"), Mapping)
    return is_session or {"id", "timestamp", "instructions"} <= line.keys()


def read(bundle: Bundle, options: Options, notes: Notes) -> Iterator[Transcript]:
    found = files(bundle, ".jsonl")
    for member in found:
        yield from _session(member, options, notes)
    note_unread(bundle, found, notes)


def _session(member: Member, options: Options, notes: Notes) -> Iterator[Transcript]:
    lines = member.json_lines()
    where, first = next(lines, (member.where, None))
    if not isinstance(first, Mapping) or not looks_like(first):
        notes.skip("file without a session")
        return
    session = record(_Session, first.get("payload") or first, where)
    if isinstance(session.source, Mapping):
        notes.skip("session of an agent that the model started")
        return
    turns: list[Turn] = []
    for position, value in lines:
        line = record(_Line, value, position)
        item = record(_Item, value if line.payload is None else line.payload, position)
        if not item.type:
            notes.skip(f"line of kind {label(line.type) or 'state'}")
        elif line.type == "event_msg":
            # Events repeat what is said; only this one says more.
            if item.type == "thread_rolled_back":
                _take_back(turns, item.num_turns, notes)
        elif turn := _turn(item, line.timestamp or session.timestamp, notes):
            turns.append(turn)
    title = label(PurePosixPath((session.cwd or "").replace("\\", "/")).name)
    yield from storable(PLATFORM, session.id, turns, notes, options, title=title)


def _turn(item: _Item, at: datetime | None, notes: Notes) -> Turn | None:
    """Return what a person or the model said; null for any other item."""
    role = _ROLES.get(item.role)
    if item.type != "message" or role is None:
        notes.skip(f"{label(item.role or item.type)} item")
        return None
    text = joined(*_texts(item, notes))
    sender = "Codex" if role is MessageRole.ASSISTANT else None
    return Turn(role, text, sender, sent_at=at) if text else None


def _take_back(turns: list[Turn], count: int, notes: Notes) -> None:
    """Remove the last turns: each begins with a message of the person."""
    while count > 0 and turns:
        count -= turns.pop().role is MessageRole.USER
        notes.skip("message that was taken back")


def _texts(item: _Item, notes: Notes) -> Iterator[str]:
    for part in item.content or ():
        if not isinstance(part, Mapping):
            continue
        kind = str(part.get("type"))
        if kind == "input_image":
            yield caption("photo")
        elif kind not in _TEXTS:
            notes.unknown_field(f"content.{label(kind)}")
        elif (text := str(part.get("text") or "").strip()).startswith(_OF_PROGRAM):
            notes.skip("note of the program")
        elif text.startswith(_BY_EDITOR):
            yield text.partition(_REQUEST)[2]
        else:
            yield text
