"""Detect the format of an export, and read it into conversations or memories."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import Any, Final
from uuid import UUID

from pydantic_core import from_json

from remembrancer.errors import InvalidInput
from remembrancer.importers import unknown
from remembrancer.importers.address_book import owned
from remembrancer.importers.archives import open_bundle
from remembrancer.importers.bundle import (
    Bundle,
    Member,
    files,
    find,
    part_number,
    parts,
)
from remembrancer.importers.exported_conversations import Transcript
from remembrancer.importers.exported_memories import ExportedMemory
from remembrancer.importers.formats import (
    calendar,
    chatgpt,
    chatgpt_memories,
    claude,
    claude_code,
    claude_memories,
    codex,
    contacts,
    discord,
    gemini,
    gemini_html,
    hindsight,
    jsonl,
    langmem,
    letta,
    librechat,
    locomo,
    mail,
    matrix,
    mcp_memory,
    mem0,
    messenger,
    notes,
    open_webui,
    person,
    signal,
    sillytavern,
    slack,
    telegram,
    whatsapp,
    zep,
)
from remembrancer.importers.json_stream import elements
from remembrancer.importers.options import Account, Options
from remembrancer.importers.parse import Notes, invalid
from remembrancer.portability.records import AnyRecord


class Format(StrEnum):
    AUTO = "auto"
    """Detect the format from the content."""
    JSONL = "jsonl"
    """One message per line."""
    JSON = "json"
    """A list of conversations with their messages."""
    LOCOMO = "locomo"
    """The LoCoMo benchmark's files."""
    CHATGPT = "chatgpt"
    """ChatGPT's account export."""
    CLAUDE = "claude"
    """Claude's account export."""
    GEMINI = "gemini"
    """Gemini's activity in Google Takeout."""
    CLAUDE_CODE = "claude-code"
    """Sessions of Claude Code."""
    CODEX = "codex"
    """Sessions of Codex."""
    OPEN_WEBUI = "open-webui"
    """Open WebUI's export of chats."""
    LIBRECHAT = "librechat"
    """LibreChat's export of a conversation."""
    SILLYTAVERN = "sillytavern"
    """SillyTavern's chats."""
    SLACK = "slack"
    """Slack's export of a workspace."""
    DISCORD = "discord"
    """DiscordChatExporter's JSON, or Discord's data package."""
    TELEGRAM = "telegram"
    """Telegram Desktop's ``result.json``."""
    WHATSAPP = "whatsapp"
    """WhatsApp's chat export."""
    MEM0 = "mem0"
    """mem0's memories, as its ``get_all`` returns them."""
    ZEP = "zep"
    """Facts of Zep or Graphiti."""
    LETTA = "letta"
    """Letta's agent file with its messages, passages or blocks."""
    LANGMEM = "langmem"
    """Items of LangMem's store."""
    HINDSIGHT = "hindsight"
    """Hindsight's memories of a bank."""
    MCP_MEMORY = "mcp-memory"
    """The file of the MCP reference memory server."""
    MAIL = "mail"
    """Mailboxes (mbox) and messages (.eml)."""
    MESSENGER = "messenger"
    """Chats of Messenger and Instagram in Meta's download."""
    MATRIX = "matrix"
    """Element's JSON of a Matrix room."""
    SIGNAL = "signal"
    """Signal's chats, as signal-export writes them."""
    NOTES = "notes"
    """A folder of Markdown files, such as a vault of Obsidian."""
    CALENDAR = "calendar"
    """Calendars (.ics)."""
    CONTACTS = "contacts"
    """Contacts (.vcf)."""
    REMEMBRANCER = "remembrancer"
    """A person's memory as Remembrancer exports it."""


PERSONAL: Final = frozenset({Format.WHATSAPP, Format.MESSENGER, Format.SIGNAL})
"""Formats whose people have names alone; their readers know whose export it is."""
ENDINGS: Final[Mapping[str, Format]] = {
    ".eml": Format.MAIL,
    ".mbox": Format.MAIL,
    calendar.ENDING: Format.CALENDAR,
    contacts.ENDING: Format.CONTACTS,
    **dict.fromkeys(notes.ENDINGS, Format.NOTES),
}
"""Formats that the endings of files tell."""


_LISTS: Sequence[tuple[Format, Callable[[object], bool]]] = (
    (Format.CHATGPT, chatgpt.looks_like),
    (Format.CLAUDE, claude.looks_like),
    (Format.GEMINI, gemini.looks_like),
    (Format.OPEN_WEBUI, open_webui.looks_like),
    (Format.LOCOMO, lambda first: locomo.looks_like([first])),
    (Format.MEM0, lambda first: mem0.looks_like([first])),
    (Format.ZEP, lambda first: zep.looks_like([first])),
    (Format.LETTA, lambda first: letta.looks_like([first])),
    (Format.LANGMEM, langmem.looks_like),
    (Format.HINDSIGHT, lambda first: hindsight.looks_like([first])),
)
_OBJECTS: Sequence[tuple[Format, Callable[[object], bool]]] = (
    (Format.CHATGPT, chatgpt.looks_like),
    (Format.CLAUDE, claude.looks_like),
    (Format.OPEN_WEBUI, open_webui.looks_like),
    (Format.LIBRECHAT, librechat.looks_like),
    (Format.DISCORD, discord.looks_like),
    (Format.TELEGRAM, telegram.looks_like),
    (Format.MEM0, mem0.looks_like),
    (Format.ZEP, zep.looks_like),
    (Format.LETTA, letta.looks_like),
    (Format.HINDSIGHT, hindsight.looks_like),
    (Format.MESSENGER, messenger.looks_like),
    (Format.MATRIX, matrix.looks_like),
)
_TEXTS: Sequence[tuple[Format, Callable[[str], bool]]] = (
    (Format.REMEMBRANCER, person.is_json_ld),
    (Format.WHATSAPP, whatsapp.looks_like),
    (Format.GEMINI, gemini_html.looks_like),
)
"""Formats that a whole text tells."""
_LAYOUTS: Sequence[tuple[Format, Callable[[Bundle], bool]]] = (
    (Format.REMEMBRANCER, person.is_vault),
    (Format.SLACK, slack.looks_like),
    (Format.DISCORD, discord.is_package),
    (Format.MESSENGER, messenger.is_download),
    (Format.SIGNAL, signal.is_folder),
)
"""Formats that the names of files in a folder tell."""
_LINES: Sequence[tuple[Format, Callable[[object], bool]]] = (
    (Format.REMEMBRANCER, person.looks_like),
    (Format.MCP_MEMORY, mcp_memory.looks_like),
    (Format.CLAUDE_CODE, claude_code.looks_like),
    (Format.CODEX, codex.looks_like),
    (Format.SILLYTAVERN, sillytavern.looks_like),
    (Format.SIGNAL, signal.looks_like),
    (Format.JSONL, jsonl.looks_like),
)
"""Formats that the first line tells."""
_FOLDERS: Final = frozenset(
    {
        Format.GEMINI,
        Format.CLAUDE_CODE,
        Format.CODEX,
        Format.OPEN_WEBUI,
        Format.LIBRECHAT,
        Format.SILLYTAVERN,
        Format.MESSENGER,
    }
)
"""Formats whose readers read all files of a folder, whatever they are called."""
_MOST_TRIED: Final = 20
_TRANSCRIPTS: Final[Mapping[Format, Callable[[Bundle, Options, Notes], Iterator[Transcript]]]] = {
    Format.JSONL: jsonl.read_lines,
    Format.JSON: jsonl.read_conversations,
    Format.LOCOMO: locomo.read,
    Format.CHATGPT: chatgpt.read,
    Format.CLAUDE: claude.read,
    Format.GEMINI: gemini.read,
    Format.CLAUDE_CODE: claude_code.read,
    Format.CODEX: codex.read,
    Format.OPEN_WEBUI: open_webui.read,
    Format.LIBRECHAT: librechat.read,
    Format.SILLYTAVERN: sillytavern.read,
    Format.SLACK: slack.read,
    Format.DISCORD: discord.read,
    Format.TELEGRAM: telegram.read,
    Format.WHATSAPP: whatsapp.read,
    Format.MAIL: mail.read,
    Format.MESSENGER: messenger.read,
    Format.MATRIX: matrix.read,
    Format.SIGNAL: signal.read,
    Format.LETTA: letta.read_messages,
}
_MEMORIES: Final[Mapping[Format, Callable[[Bundle, Options, Notes], Iterator[ExportedMemory]]]] = {
    Format.CHATGPT: chatgpt_memories.read,
    Format.CLAUDE: claude_memories.read,
    Format.MEM0: mem0.read,
    Format.ZEP: zep.read,
    Format.LETTA: letta.read,
    Format.LANGMEM: langmem.read,
    Format.HINDSIGHT: hindsight.read,
    Format.MCP_MEMORY: mcp_memory.read,
    Format.NOTES: notes.read,
    Format.CALENDAR: calendar.read,
    Format.CONTACTS: contacts.read,
}
_ACCOUNTS: Final[Mapping[Format, Callable[[Bundle], Account | None]]] = {
    Format.CHATGPT: chatgpt.find_account,
    Format.CLAUDE: claude.find_account,
    Format.OPEN_WEBUI: open_webui.find_account,
    Format.DISCORD: discord.find_account,
    Format.TELEGRAM: telegram.find_account,
    Format.MATRIX: matrix.find_account,
}


def detect(bundle: Bundle) -> Format:
    """Return the format of an export; raise ``InvalidInput`` that says what it looks like."""
    for format_, is_laid_out in _LAYOUTS:
        if is_laid_out(bundle):
            return format_
    by_ending = _by_ending(bundle)
    if by_ending is not None and len(bundle.names()) == 1:
        return by_ending
    found = None
    for member in _candidates(bundle):
        found = detect_member(member)
        if found is not Format.JSON:
            return found  # else a part without conversations, perhaps
    found = found or _of_folder(bundle) or by_ending
    if found is None:
        raise unknown.files(bundle)
    return found


def is_one_export(bundle: Bundle) -> bool:
    """Return whether the files of a folder belong together, so that none stands for itself."""
    directly = [name for name in bundle.names() if "/" not in name]
    return any(is_laid_out(bundle) for _, is_laid_out in _LAYOUTS) or any(
        name == whatsapp.FILE or part_number(name, chatgpt.FILE) is not None for name in directly
    )


def _of_folder(bundle: Bundle) -> Format | None:
    """Return the format of the first file that is of one with a file for each conversation."""
    found = sorted(files(bundle, ".jsonl", ".json", ".html"), key=_unlikeliness)
    for member in found[:_MOST_TRIED]:
        with suppress(InvalidInput):
            if (format_ := detect_member(member)) in _FOLDERS:
                return format_
    return None


def _unlikeliness(member: Member) -> tuple[bool, bool]:
    """Put Gemini's folder in Takeout first, then lines, and notes of programs last."""
    return "gemini" not in member.name.casefold(), member.path.suffix.casefold() != ".jsonl"


def _by_ending(bundle: Bundle) -> Format | None:
    paths = [PurePosixPath(name.casefold()) for name in bundle.names()]
    endings = {f".{path.name}" if path.name == "mbox" else path.suffix for path in paths}
    found = next((format_ for ending, format_ in ENDINGS.items() if ending in endings), None)
    return None if found is Format.NOTES and not notes.is_vault(bundle) else found


def _candidates(bundle: Bundle) -> Iterator[Member]:
    """Yield the files that tell the format: the first ones of their kind."""
    if len(bundle.names()) == 1:
        yield Member(bundle, bundle.names()[0])
        return
    found = [
        p for p in parts(bundle, chatgpt.FILE) if part_number(p.name, chatgpt.FILE) is not None
    ]
    found = found or [
        *filter(None, (find(bundle, name) for name in (telegram.FILE, "memory.jsonl", matrix.FILE)))
    ]
    yield from found
    if not found and (chat := whatsapp.chat(bundle)) and whatsapp.looks_like(chat.start()[0]):
        yield chat


def detect_member(member: Member) -> Format:
    """Return the format of one file; raise ``InvalidInput`` that says what it looks like.

    The beginning of a large file tells nearly always.
    """
    start, is_whole = member.start()
    text = start.lstrip()
    first = _first_value(text, is_whole=is_whole)
    format_ = _match_start(text, first)
    if format_ is None and not is_whole and not (text[0] == "[" and _has_messages(first)):
        text = member.text().lstrip()
        first = _first_value(text, is_whole=True)
        format_ = _match_start(text, first)
    if format_ is not None:
        return format_
    mark = text[:1]
    if mark == "[":
        for _ in member.elements():
            pass  # an error in the list comes first
    elif first is None:
        first = _first_line(text)  # of several
    if (isinstance(first, Mapping) and not _has_messages(first)) or mark not in {"[", "{", ""}:
        raise unknown.text(text, first, member.where)
    return Format.JSON


def _match_start(text: str, first: object) -> Format | None:
    for format_, looks_like in _TEXTS:
        if looks_like(text):
            return format_
    if text[:1] == "{" and (found := _match(_LINES, _first_line(text))):
        return found
    return _match(_LISTS if text[:1] == "[" else _OBJECTS, first)


def _has_messages(value: object) -> bool:
    return isinstance(value, Mapping) and "messages" in value


def _match(
    formats: Sequence[tuple[Format, Callable[[object], bool]]], content: object
) -> Format | None:
    return next((format_ for format_, looks_like in formats if looks_like(content)), None)


def _first_line(text: str) -> Any:
    return _first_value(text.partition("\n")[0], is_whole=True)


def _first_value(text: str, *, is_whole: bool) -> Any:
    """Return the first value of a list, or the only one, as far as a text has it; else null."""
    if text[:1] not in {"[", "{"}:
        return None
    try:
        if is_whole:
            return next(elements((text,), ""))[1]
        value = from_json(text.encode("utf-8", "replace"), allow_partial=True)
    except (InvalidInput, StopIteration, ValueError):
        return None
    return next(iter(value), None) if isinstance(value, list) else value


@dataclass(slots=True)
class Export:
    """An export, read anew each time so that little of a large one is in memory at once.

    ``notes`` belong to the last read of its conversations and then its memories. With ``owner``,
    all in it is this user's, whatever they are called there, in conversations that no platform has.
    """

    bundle: Bundle
    format: Format
    options: Options
    notes: Notes = field(default_factory=Notes)
    owner: UUID | None = None

    @property
    def name(self) -> str:
        """The name for errors."""
        return self.bundle.name

    def account(self) -> Account | None:
        """Return the account of the export, if the export states it."""
        find_account = _ACCOUNTS.get(self.format) if self.owner is None else None
        return find_account(self.bundle) if find_account else None

    def transcripts(self) -> Iterator[Transcript]:
        """Yield the conversations; raise ``InvalidInput`` with the position of an error."""
        self.notes = Notes()
        if reader := _TRANSCRIPTS.get(self.format):
            for transcript in reader(self.bundle, self.options, self.notes):
                yield transcript if self.owner is None else owned(transcript, self.owner)

    def records(self) -> Iterator[AnyRecord]:
        """Yield the records of an export of ours; raise ``InvalidInput`` with the position."""
        self.notes = Notes()
        yield from person.read(self.bundle, self.notes)

    def memories(self) -> Iterator[ExportedMemory]:
        """Yield the memories; raise ``InvalidInput`` with the position of an error."""
        if reader := _MEMORIES.get(self.format):
            for memory in reader(self.bundle, self.options, self.notes):
                yield memory if self.owner is None else replace(memory, about=None)


def open_export(
    path: Path,
    format_: Format = Format.AUTO,
    options: Options | None = None,
    *,
    most: int | None = None,
) -> Export:
    """Return the export at ``path``. A conversation without a name gets the file's name.

    ``most`` is the maximum unpacked size of a file in an archive, if not the usual one.

    Raises ``InvalidInput`` with the file, the position in it if known, and the reason.
    """
    bundle = open_bundle(path, most)
    options = replace(options or Options(), conversation=path.stem[:255])
    return Export(bundle, detect(bundle) if format_ is Format.AUTO else format_, options)


def read_export(
    path: Path,
    format_: Format = Format.AUTO,
    *,
    platform: str = "import",
    options: Options | None = None,
) -> list[Transcript]:
    """Return all conversations of a file.

    ``platform`` applies to conversations that name none. Raises ``InvalidInput`` with the file,
    the position and the reason, never with the text of a message.
    """
    options = replace(options or Options(), platform=platform)
    transcripts = [
        replace(transcript, turns=list(transcript.turns))
        for transcript in open_export(path, format_, options).transcripts()
    ]
    if not transcripts:
        raise invalid(path.name, "has no messages")
    return transcripts
