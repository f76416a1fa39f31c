"""What Claude remembers, and its projects: ``memories.json`` and ``projects`` of the archive.

Both are one file, or a folder with a file each. Claude's memory is a text for all conversations
and one for each project, by the project's id.
"""

from collections.abc import Iterator

from pydantic import Field

from remembrancer.importers.bundle import Bundle, Member, within
from remembrancer.importers.exported_memories import ExportedMemory
from remembrancer.importers.formats import claude
from remembrancer.importers.formats.statements import project_names, project_statements, statements
from remembrancer.importers.options import Options
from remembrancer.importers.parse import Notes, Record, record
from remembrancer.memories.schemas import Category
from remembrancer.text import Key


class _Memory(Record):
    account_uuid: Key | None = None
    conversations_memory: str | None = None
    project_memories: dict[str, str] | None = None
    memory_files: list[object] = Field(default_factory=list)


def memories(bundle: Bundle) -> list[Member]:
    return within(bundle, "memories")


def read(bundle: Bundle, _options: Options, notes: Notes) -> Iterator[ExportedMemory]:
    account = claude.find_account(bundle)
    account_id = account.platform_user_id if account else None
    names = project_names(bundle)
    for where, value in (pair for member in memories(bundle) for pair in member.elements()):
        memory = record(_Memory, value, where, notes)
        about = memory.account_uuid or account_id
        yield from statements(claude.PLATFORM, about, memory.conversations_memory)
        for key, text in (memory.project_memories or {}).items():
            yield from statements(
                claude.PLATFORM, about, text, subject=names.get(key), category=Category.PROJECT
            )
        for _ in memory.memory_files:
            notes.skip("file of Claude's memory")
    yield from project_statements(claude.PLATFORM, account_id, bundle, notes)
