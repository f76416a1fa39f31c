"""Read an export, whichever format it has: conversations, or memories, as often as needed."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from remembrancer.importers.archives import open_bundle
from remembrancer.importers.bundle import Bundle, main
from remembrancer.importers.detect import Format, detect
from remembrancer.importers.exported_conversations import Defaults, Transcript, wrong
from remembrancer.importers.exported_memories import Statement
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
from remembrancer.importers.jsonl import read_documents, read_lines
from remembrancer.importers.locomo import read_locomo
from remembrancer.importers.parse import Account, Notes, Options

__all__ = ["Format", "Options", "Reading", "open_export", "read"]

Reader = Callable[[Bundle, Options, Notes], Iterator[Transcript]]


def _lines(bundle: Bundle, options: Options, _notes: Notes) -> Iterator[Transcript]:
    member = main(bundle, "")
    yield from read_lines(member.text(), _defaults(options), member.where)


def _documents(bundle: Bundle, options: Options, _notes: Notes) -> Iterator[Transcript]:
    member = main(bundle, "")
    yield from read_documents(member.json(), _defaults(options), member.where)


def _locomo(bundle: Bundle, _options: Options, _notes: Notes) -> Iterator[Transcript]:
    member = main(bundle, "")
    yield from read_locomo(member.json(), member.where)


def _defaults(options: Options) -> Defaults:
    return Defaults(options.platform, options.conversation)


_TALKS: Final[Mapping[Format, Reader]] = {
    Format.JSONL: _lines,
    Format.JSON: _documents,
    Format.LOCOMO: _locomo,
    Format.CHATGPT: chatgpt.read,
    Format.CLAUDE: claude.read,
    Format.SLACK: slack.read,
    Format.DISCORD: discord.read,
    Format.TELEGRAM: telegram.read,
    Format.WHATSAPP: whatsapp.read,
}
_STATEMENTS: Final[Mapping[Format, Callable[[Bundle, Options, Notes], Iterator[Statement]]]] = {
    Format.MEM0: mem0.read,
    Format.MCP_MEMORY: mcp_memory.read,
}
_ACCOUNTS: Final[Mapping[Format, Callable[[Bundle], Account | None]]] = {
    Format.CHATGPT: chatgpt.account,
    Format.CLAUDE: claude.account,
    Format.DISCORD: discord.account,
    Format.TELEGRAM: telegram.account,
}


@dataclass(slots=True)
class Reading:
    """An export, which is read anew each time: most of a large one is never in memory at once.

    ``notes`` are those of the last time.
    """

    bundle: Bundle
    format: Format
    options: Options
    notes: Notes = field(default_factory=Notes)

    @property
    def name(self) -> str:
        """What errors call it."""
        return self.bundle.name

    @property
    def ours(self) -> bool:
        """Whether somebody wrote it for us, so that what is wrong in it can be put right."""
        return self.format in {Format.JSONL, Format.JSON, Format.LOCOMO}

    def account(self) -> Account | None:
        """Return whose export it is, where it says so."""
        found = _ACCOUNTS.get(self.format)
        return found(self.bundle) if found else None

    def transcripts(self) -> Iterator[Transcript]:
        """Yield the conversations; raise ``InvalidInput`` with the place of what is wrong."""
        self.notes = Notes()
        if reader := _TALKS.get(self.format):
            yield from reader(self.bundle, self.options, self.notes)

    def statements(self) -> Iterator[Statement]:
        """Yield the memories; raise ``InvalidInput`` with the place of what is wrong."""
        if reader := _STATEMENTS.get(self.format):
            self.notes = Notes()
            yield from reader(self.bundle, self.options, self.notes)


def open_export(
    path: Path, written_as: Format = Format.AUTO, options: Options | None = None
) -> Reading:
    """Return what is at ``path``, ready to be read. A conversation without a name has the file's.

    Raises ``InvalidInput`` naming the file, and the place in it if there is one, with the reason.
    """
    bundle = open_bundle(path)
    found = detect(bundle) if written_as is Format.AUTO else written_as
    named = replace(options or Options(), conversation=path.stem[:255])
    return Reading(bundle, found, named)


def read(
    path: Path,
    written_as: Format = Format.AUTO,
    *,
    platform: str = "import",
    options: Options | None = None,
) -> list[Transcript]:
    """Return the conversations in a file, all checked.

    ``platform`` is that of conversations that name none. Raises ``InvalidInput`` naming
    the file, the place in it and the reason, never what was said.
    """
    given = replace(options or Options(), platform=platform)
    found = list(open_export(path, written_as, given).transcripts())
    if not found:
        raise wrong(path.name, "holds no messages")
    return found
