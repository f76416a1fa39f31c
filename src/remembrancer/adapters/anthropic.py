"""Claude's memory tool, on memories: ``pip install 'remembrancer[anthropic]'``."""

from collections.abc import Callable, Coroutine
from typing import Any, Final

from remembrancer.access import Actor
from remembrancer.adapters import text_edits
from remembrancer.adapters.common import Bridge, missing
from remembrancer.adapters.paths import FileRefused, Names, listing, names
from remembrancer.app import Remembrancer
from remembrancer.errors import Conflict, InvalidInput, NotFound, VersionConflict
from remembrancer.memories.schemas import Category, Kind
from remembrancer.records.schemas import Address, Changes, Record, RecordWrite

try:
    from anthropic.lib.tools import (
        BetaAbstractMemoryTool,
        BetaAsyncAbstractMemoryTool,
        BetaFunctionToolResultType,
        ToolError,
    )
except ImportError as error:
    raise missing("anthropic") from error

SHELF: Final = "files"
"""The first name in the address of every file: what keeps it."""
_BLANK: Final = "(a file with nothing to read in it)"
_TRIES: Final = 5
"""How often an edit begins anew because somebody else changed the file meanwhile."""

Edit = Callable[[str], tuple[str, str]]
"""From the text of a file to its new text, and to what the model is told."""


class MemoryFiles:
    """The memory files of one user, through one agent, each of them a memory with versions.

    The commands of the tool ``memory_20250818``, answered as Anthropic's own backend does.
    Whatever a path says, it stays among these files: they lie in no file system. Raises
    :class:`FileRefused` with what the model is to be told. A file is as long as a memory at
    most; a directory is there as long as it holds a file.
    """

    def __init__(self, memory: Remembrancer, actor: Actor) -> None:
        self._records = memory.records
        self._actor = actor

    async def view(self, command: Any) -> str:
        """Show a file with line numbers, or what lies in a directory."""
        path = _text(command, "path")
        at = names(path)
        record = await self._find(at)
        if record is not None:
            return text_edits.numbered(path, _text_of(record), _range(command))
        sizes = await self._records.sizes(self._actor, _address(at))
        if not sizes and at:
            raise FileRefused(f"The path {path} does not exist. Please provide a valid path.")
        return listing(path, at, {one[1:]: size for one, size in sizes.items()})

    async def create(self, command: Any) -> str:
        """Make a new file."""
        path = _text(command, "path")
        at = names(path)
        exists = FileRefused(f"File {path} already exists")
        if not at:
            raise exists
        try:
            await self._write(at, _text(command, "file_text"), expected=0)
        except Conflict as error:
            raise exists from error
        return f"File created successfully at: {path}"

    async def str_replace(self, command: Any) -> str:
        """Replace the one place where a text stands in a file."""
        path, old = _text(command, "path"), _text(command, "old_str")
        new = _text(command, "new_str", "")
        return await self._edit(path, lambda text: text_edits.replaced(path, text, old, new))

    async def insert(self, command: Any) -> str:
        """Insert lines into a file."""
        path, new = _text(command, "path"), _text(command, "insert_text")
        line = _number(command.insert_line)
        told = f"The file {path} has been edited."
        return await self._edit(path, lambda text: (text_edits.inserted(text, line, new), told))

    async def delete(self, command: Any) -> str:
        """Forget a file, or all that lies in a directory; people can restore it."""
        path = _text(command, "path")
        at = names(path)
        if not at:
            raise FileRefused("Cannot delete the /memories directory itself")
        if not await self._records.remove(self._actor, _address(at)):
            raise FileRefused(f"The path {path} does not exist")
        return f"Successfully deleted {path}"

    async def rename(self, command: Any) -> str:
        """Give a file or a directory another path."""
        old, new = _text(command, "old_path"), _text(command, "new_path")
        source, target = names(old), names(new)
        if not source:
            raise FileRefused("Cannot rename the /memories directory itself")
        taken = FileRefused(f"The destination {new} already exists")
        if not target:
            raise taken
        try:
            await self._records.move(self._actor, _address(source), _address(target))
        except NotFound as error:
            raise FileRefused(f"The path {old} does not exist") from error
        except Conflict as error:
            raise taken from error
        except InvalidInput as error:
            raise FileRefused(f"The path {new} is too long") from error
        return f"Successfully renamed {old} to {new}"

    async def clear(self) -> str:
        """Forget all files."""
        await self._records.remove(self._actor, (SHELF,))
        return "All memory cleared"

    async def _find(self, at: Names) -> Record | None:
        address = _address(at)
        return (await self._records.get(self._actor, [address])).get(address) if at else None

    async def _edit(self, path: str, edit: Edit) -> str:
        at = names(path)
        for left in reversed(range(_TRIES)):
            record = await self._find(at)
            if record is None:
                there = not at or await self._records.addresses(self._actor, _address(at))
                raise FileRefused(
                    f"The path {path} is not a file."
                    if there
                    else f"The path {path} does not exist. Please provide a valid path."
                )
            text, told = edit(_text_of(record))
            try:
                await self._write(at, text, expected=record.version)
            except VersionConflict:
                if not left:
                    raise
            else:
                return told
        raise AssertionError("unreachable")

    async def _write(self, at: Names, text: str, *, expected: int) -> None:
        longest = self._records.longest
        if len(text) > longest:
            raise FileRefused(
                f"Nothing was saved: the file would have {len(text):,} characters, and a memory "
                f"file holds at most {longest:,}. Split it into several files."
            )
        blank = not any(one.isprintable() and not one.isspace() for one in text)
        write = RecordWrite(
            _address(at),
            _BLANK if blank else text,
            {"text": text} if blank else {},
            kind=Kind.OBSERVATION,
            category=Category.CONTEXT,
            expected_version=expected,
            alone=True,
        )
        try:
            await self._records.write(self._actor, Changes([write]), source=SHELF)
        except InvalidInput as error:
            where = "path" if error.field == "address" else "text"
            raise FileRefused(f"Nothing was saved: the {where} {error.reason}") from error


class RemembrancerMemoryTool(BetaAsyncAbstractMemoryTool):
    """The memory tool for ``AsyncAnthropic().beta.messages.tool_runner(tools=[...])``."""

    def __init__(self, memory: Remembrancer, actor: Actor, **settings: Any) -> None:
        super().__init__(**settings)
        self._files = MemoryFiles(memory, actor)

    async def view(self, command: Any) -> BetaFunctionToolResultType:
        """See :meth:`MemoryFiles.view`."""
        return await _answered(self._files.view(command))

    async def create(self, command: Any) -> BetaFunctionToolResultType:
        """See :meth:`MemoryFiles.create`."""
        return await _answered(self._files.create(command))

    async def str_replace(self, command: Any) -> BetaFunctionToolResultType:
        """See :meth:`MemoryFiles.str_replace`."""
        return await _answered(self._files.str_replace(command))

    async def insert(self, command: Any) -> BetaFunctionToolResultType:
        """See :meth:`MemoryFiles.insert`."""
        return await _answered(self._files.insert(command))

    async def delete(self, command: Any) -> BetaFunctionToolResultType:
        """See :meth:`MemoryFiles.delete`."""
        return await _answered(self._files.delete(command))

    async def rename(self, command: Any) -> BetaFunctionToolResultType:
        """See :meth:`MemoryFiles.rename`."""
        return await _answered(self._files.rename(command))

    async def clear_all_memory(self) -> BetaFunctionToolResultType:
        """See :meth:`MemoryFiles.clear`."""
        return await _answered(self._files.clear())


class RemembrancerSyncMemoryTool(BetaAbstractMemoryTool):
    """The memory tool for ``Anthropic()``, in a thread beside the event loop of the store.

    Make it on that loop.
    """

    def __init__(self, memory: Remembrancer, actor: Actor, **settings: Any) -> None:
        super().__init__(**settings)
        self._files = MemoryFiles(memory, actor)
        self._bridge = Bridge()

    def view(self, command: Any) -> BetaFunctionToolResultType:
        """See :meth:`MemoryFiles.view`."""
        return self._bridge.wait(_answered(self._files.view(command)))

    def create(self, command: Any) -> BetaFunctionToolResultType:
        """See :meth:`MemoryFiles.create`."""
        return self._bridge.wait(_answered(self._files.create(command)))

    def str_replace(self, command: Any) -> BetaFunctionToolResultType:
        """See :meth:`MemoryFiles.str_replace`."""
        return self._bridge.wait(_answered(self._files.str_replace(command)))

    def insert(self, command: Any) -> BetaFunctionToolResultType:
        """See :meth:`MemoryFiles.insert`."""
        return self._bridge.wait(_answered(self._files.insert(command)))

    def delete(self, command: Any) -> BetaFunctionToolResultType:
        """See :meth:`MemoryFiles.delete`."""
        return self._bridge.wait(_answered(self._files.delete(command)))

    def rename(self, command: Any) -> BetaFunctionToolResultType:
        """See :meth:`MemoryFiles.rename`."""
        return self._bridge.wait(_answered(self._files.rename(command)))

    def clear_all_memory(self) -> BetaFunctionToolResultType:
        """See :meth:`MemoryFiles.clear`."""
        return self._bridge.wait(_answered(self._files.clear()))


async def _answered(work: Coroutine[Any, Any, str]) -> str:
    try:
        return await work
    except FileRefused as error:
        # It may quote half a character, which nothing could send.
        raise ToolError(str(error).encode("utf-8", "replace").decode()) from error


def _address(at: Names) -> Address:
    return (SHELF, *at)


def _text_of(record: Record) -> str:
    """Return the text of a file; one that nothing can be read in keeps it beside the memory."""
    kept = record.metadata.get("text")
    return kept if record.content == _BLANK and isinstance(kept, str) else record.content


def _text(command: Any, name: str, default: str | None = None) -> str:
    """Return a text of a command, which comes from a model as it is."""
    value = getattr(command, name, default)
    if not isinstance(value, str):
        raise FileRefused(f"`{name}` must be given, as text")
    return value


def _number(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise FileRefused("`insert_line` must be given, as a number")
    return value


def _range(command: Any) -> list[int] | None:
    value = getattr(command, "view_range", None)
    return None if value is None else [_number_in(one) for one in value]


def _number_in(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise FileRefused("`view_range` must be two numbers")
    return value
