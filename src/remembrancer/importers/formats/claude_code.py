"""Sessions of Claude Code: ``<session>.jsonl`` in a folder for each project of ``~/.claude``.

A line is a message, a block of one, or a note of the program. It names the line that it follows
(``parentUuid``). Anthropic publishes no schema. When a person goes back and writes something else,
both prompts follow the same line: the later one counts. What they write while the model works is
an ``attachment`` of type ``queued_command``, most often without a line of its own. Lines of agents
that the model starts have ``isSidechain``, and a file of their own since 2025.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Final

from pydantic import AwareDatetime, Field

from remembrancer.conversations.schemas import MessageRole
from remembrancer.importers.branches import without
from remembrancer.importers.bundle import Bundle, Member, files, note_unread
from remembrancer.importers.captions import caption, joined, label
from remembrancer.importers.exported_conversations import Transcript, Turn
from remembrancer.importers.options import Options
from remembrancer.importers.parse import Notes, Record, record
from remembrancer.importers.turns import storable
from remembrancer.text import Key

PLATFORM: Final = "claude-code"
_ROLES: Final = {"user": MessageRole.USER, "assistant": MessageRole.ASSISTANT}
_BLOCKS: Final = frozenset({"thinking", "redacted_thinking", "tool_use", "tool_result"})
_OF_PROGRAM: Final = (
    "<command-", "<local-command-", "<bash-", "<task-notification>", "<ide_", "<user-memory-input>",
    "[Request interrupted by user", "Caveat: The messages below",
)  # fmt: skip
"""What texts begin with that the program writes in the person's place."""


class _Line(Record):
    type: str = ""
    uuid: Key | None = None
    parent: str | None = Field(None, alias="parentUuid")
    session: Key | None = Field(None, alias="sessionId")
    timestamp: AwareDatetime | None = None
    message: dict[str, object] | None = None
    is_agents: bool | None = Field(None, alias="isSidechain")
    is_note: bool | None = Field(None, alias="isMeta")
    is_summary: bool | None = Field(None, alias="isCompactSummary")
    is_error: bool | None = Field(None, alias="isApiErrorMessage")
    cwd: str | None = None
    given_title: str | None = Field(None, alias="customTitle")
    title: str | None = Field(None, alias="aiTitle")
    attachment: object = None

    def words(self) -> tuple[MessageRole, object] | None:
        """Return who said what; null for a note of the program."""
        if (role := _ROLES.get(self.type)) is not None:
            return role, (self.message or {}).get("content")
        queued = self._queued()
        origin = queued.get("origin")
        is_persons = not isinstance(origin, Mapping) or origin.get("kind") == "human"
        is_prompt = queued.get("commandMode", "prompt") == "prompt" and not queued.get("isMeta")
        return (MessageRole.USER, queued["prompt"]) if is_prompt and is_persons and queued else None

    def source(self) -> str:
        """Return the id of the message that a queued prompt became, too; empty for none."""
        return str(self._queued().get("source_uuid") or "")

    def _queued(self) -> Mapping[str, object]:
        found = self.attachment if isinstance(self.attachment, Mapping) else {}
        return found if found.get("type") == "queued_command" and "prompt" in found else {}


def looks_like(line: object) -> bool:
    """Tell by the first line of a file."""
    if not isinstance(line, Mapping) or not isinstance(line.get("type"), str):
        return False
    return bool({"sessionId", "leafUuid"} & line.keys()) or {"messageId", "snapshot"} <= line.keys()


def read(bundle: Bundle, options: Options, notes: Notes) -> Iterator[Transcript]:
    found = files(bundle, ".jsonl")
    for member in found:
        yield from _session(member, options, notes)
    note_unread(bundle, found, notes)


def _session(member: Member, options: Options, notes: Notes) -> Iterator[Transcript]:
    lines = [
        record(_Line, value, where, notes if _is_message(value) else None)
        for where, value in member.json_lines()
    ]
    said = {line.uuid: line for line in lines if line.uuid and line.words()}
    turns = {
        key: turn
        for key, line in said.items()
        if line.source() not in said and (turn := _turn(line, notes))
    }
    withdrawn = _withdrawn(lines, turns)
    for _ in range(len(withdrawn & turns.keys())):
        notes.skip("message that was taken back")
    valid = [turn for key, turn in turns.items() if key not in withdrawn]
    key = next((line.session for line in said.values() if line.session), options.conversation)
    yield from storable(PLATFORM, key, valid, notes, options, title=_title(lines))


def _is_message(value: object) -> bool:
    return isinstance(value, Mapping) and str(value.get("type")) in _ROLES


def _withdrawn(lines: Sequence[_Line], turns: Mapping[str, Turn]) -> set[str]:
    """Return the ids of prompts that another one stands in for, and of all that follows them."""
    prompts: dict[str, str] = {}
    withdrawn: set[str] = set()
    for line in lines:
        key = line.uuid or ""
        if key in turns and line.type == "user" and line.parent:
            withdrawn |= {prompts.get(line.parent, key)} - {key}
            prompts[line.parent] = key
    for line in lines:
        if line.uuid and line.parent in withdrawn:
            withdrawn.add(line.uuid)
    return withdrawn


def _title(lines: Iterable[_Line]) -> str:
    """Return the title that the person gave, else that of the model, else the project's folder."""
    found: dict[int, str] = {}
    for line in lines:
        folder = PurePosixPath((line.cwd or "").replace("\\", "/")).name
        names = enumerate((line.given_title, line.title, folder))
        found |= {rank: name for rank, name in names if name}
    return label(found[min(found)]) if found else ""


def _turn(line: _Line, notes: Notes) -> Turn | None:
    """Return what a person or the model said in a line; null for any other line."""
    for is_one, kind in (
        (line.is_agents, "message of an agent that the model started"),
        (line.is_summary, "summary of the session"),
        (line.is_note, "note of the program"),
        (line.is_error, "error of the model's service"),
    ):
        if is_one:
            notes.skip(kind)
            return None
    role, content = line.words() or (MessageRole.USER, "")
    text = joined(*_texts(content, notes))
    if not text:
        return None
    sender = "Claude" if role is MessageRole.ASSISTANT else None
    return Turn(role, text, sender, sent_at=line.timestamp, message_id=line.uuid)


def _texts(content: object, notes: Notes) -> Iterator[str]:
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
    for block in blocks:
        kind = str(block.get("type")) if isinstance(block, Mapping) else ""
        if kind == "text":
            text = str(block.get("text") or "")
            text = without(text, "<system-reminder>", "</system-reminder>").strip()
            if text.startswith(_OF_PROGRAM):
                notes.skip("note of the program")
            else:
                yield text
        elif kind == "image":
            yield caption("photo")
        elif kind == "document":
            yield caption("file", str(block.get("title") or ""))
        elif kind in _BLOCKS:
            notes.skip(f"block of kind {kind}")
        else:
            notes.unknown_field(f"block.{label(kind)}")
