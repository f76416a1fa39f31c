"""Read an export of any format into conversations or memories."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from remembrancer.importers import jsonl, locomo
from remembrancer.importers.archives import open_bundle
from remembrancer.importers.bundle import Bundle
from remembrancer.importers.detect import Format, detect
from remembrancer.importers.exported_conversations import Transcript
from remembrancer.importers.exported_memories import ExportedMemory
from remembrancer.importers.formats import (
    chatgpt,
    claude,
    discord,
    mcp_memory,
    mem0,
    slack,
    telegram,
    whatsapp,
)
from remembrancer.importers.options import Account, Options
from remembrancer.importers.parse import Notes, invalid

_TRANSCRIPTS: Final[Mapping[Format, Callable[[Bundle, Options, Notes], Iterator[Transcript]]]] = {
    Format.JSONL: jsonl.read_lines,
    Format.JSON: jsonl.read_conversations,
    Format.LOCOMO: locomo.read,
    Format.CHATGPT: chatgpt.read,
    Format.CLAUDE: claude.read,
    Format.SLACK: slack.read,
    Format.DISCORD: discord.read,
    Format.TELEGRAM: telegram.read,
    Format.WHATSAPP: whatsapp.read,
}
_MEMORIES: Final[Mapping[Format, Callable[[Bundle, Options, Notes], Iterator[ExportedMemory]]]] = {
    Format.MEM0: mem0.read,
    Format.MCP_MEMORY: mcp_memory.read,
}
_ACCOUNTS: Final[Mapping[Format, Callable[[Bundle], Account | None]]] = {
    Format.CHATGPT: chatgpt.find_account,
    Format.CLAUDE: claude.find_account,
    Format.DISCORD: discord.find_account,
    Format.TELEGRAM: telegram.find_account,
}


@dataclass(slots=True)
class Export:
    """An export, read anew each time so that most of a large one is never in memory at once.

    ``notes`` belong to the last read.
    """

    bundle: Bundle
    format: Format
    options: Options
    notes: Notes = field(default_factory=Notes)

    @property
    def name(self) -> str:
        """The name for errors."""
        return self.bundle.name

    def account(self) -> Account | None:
        """Return the account of the export, if the export states it."""
        find_account = _ACCOUNTS.get(self.format)
        return find_account(self.bundle) if find_account else None

    def transcripts(self) -> Iterator[Transcript]:
        """Yield the conversations; raise ``InvalidInput`` with the position of an error."""
        self.notes = Notes()
        if reader := _TRANSCRIPTS.get(self.format):
            yield from reader(self.bundle, self.options, self.notes)

    def memories(self) -> Iterator[ExportedMemory]:
        """Yield the memories; raise ``InvalidInput`` with the position of an error."""
        if reader := _MEMORIES.get(self.format):
            self.notes = Notes()
            yield from reader(self.bundle, self.options, self.notes)


def open_export(
    path: Path, format_: Format = Format.AUTO, options: Options | None = None
) -> Export:
    """Return the export at ``path``. A conversation without a name gets the file's name.

    Raises ``InvalidInput`` with the file, the position in it if known, and the reason.
    """
    bundle = open_bundle(path)
    options = replace(options or Options(), conversation=path.stem[:255])
    return Export(bundle, detect(bundle) if format_ is Format.AUTO else format_, options)


def read(
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
    transcripts = list(open_export(path, format_, options).transcripts())
    if not transcripts:
        raise invalid(path.name, "has no messages")
    return transcripts
