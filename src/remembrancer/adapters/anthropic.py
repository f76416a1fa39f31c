"""Claude's memory tool, backed by memories: ``pip install 'remembrancer[anthropic]'``."""

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, Final

from remembrancer.access import Actor
from remembrancer.adapters import text_edits
from remembrancer.adapters.common import Bridge
from remembrancer.adapters.paths import FileRefused, Names, listing, names
from remembrancer.app import Remembrancer
from remembrancer.errors import Conflict, InvalidInput, NotFound, VersionConflict
from remembrancer.extras import extra
from remembrancer.memories.schemas import Category, Kind
from remembrancer.records.schemas import Address, Changes, Record, RecordWrite

with extra("anthropic"):
    import anthropic.lib.tools as tools  # noqa: PLR0402  a missing module must fail here

SHELF: Final = "files"
"""The first name in the address of every file."""
_BLANK: Final = "(a file without visible text)"
_TRIES: Final = 5
"""Maximum tries of an edit while others change the file."""

Edit = Callable[[str], tuple[str, str]]
"""Returns the new text of a file and the answer for the model."""


class MemoryFiles:
    """The memory files of one user and agent, each a memory with versions.

    Answers the commands of the tool ``memory_20250818`` like Anthropic's own backend. There is no
    file system, so no path leads out. Raises :class:`FileRefused` with a message for the model. A
    file is at most as long as a memory. A directory exists while it has a file.
    """

    def __init__(self, memory: Remembrancer, actor: Actor) -> None:
        self._records = memory.records
        self._actor = actor

    async def view(self, command: Any) -> str:
        """Show a file with line numbers, or list a directory."""
        path = _text(command, "path")
        at = names(path)
        record = await self._find(at)
        if record is not None:
            ends = getattr(command, "view_range", None)
            if ends is not None:
                ends = [_number(end, "`view_range` must be two numbers") for end in ends]
            return text_edits.numbered(path, _text_of(record), ends)
        sizes = await self._records.sizes(self._actor, _address(at))
        if not sizes and at:
            raise FileRefused(f"The path {path} does not exist. Please provide a valid path.")
        return listing(path, at, {address[1:]: size for address, size in sizes.items()})

    async def create(self, command: Any) -> str:
        """Create a new file."""
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
        """Replace the only occurrence of a text in a file."""
        path, old = _text(command, "path"), _text(command, "old_str")
        new = _text(command, "new_str", "")
        return await self._edit(path, lambda text: text_edits.replaced(path, text, old, new))

    async def insert(self, command: Any) -> str:
        """Insert lines into a file."""
        path, new = _text(command, "path"), _text(command, "insert_text")
        line = _number(command.insert_line)
        answer = f"The file {path} has been edited."
        return await self._edit(path, lambda text: (text_edits.inserted(text, line, new), answer))

    async def delete(self, command: Any) -> str:
        """Forget a file or all files of a directory; the user can restore them."""
        path = _text(command, "path")
        at = names(path)
        if not at:
            raise FileRefused("Cannot delete the /memories directory itself")
        if not await self._records.remove(self._actor, _address(at)):
            raise FileRefused(f"The path {path} does not exist")
        return f"Successfully deleted {path}"

    async def rename(self, command: Any) -> str:
        """Move a file or a directory to another path."""
        old, new = _text(command, "old_path"), _text(command, "new_path")
        source, target = names(old), names(new)
        if not source:
            raise FileRefused("Cannot rename the /memories directory itself")
        exists = FileRefused(f"The destination {new} already exists")
        if not target:
            raise exists
        try:
            await self._records.move(self._actor, _address(source), _address(target))
        except NotFound as error:
            raise FileRefused(f"The path {old} does not exist") from error
        except Conflict as error:
            raise exists from error
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
        for tries_left in reversed(range(_TRIES)):
            record = await self._find(at)
            if record is None:
                is_directory = not at or await self._records.addresses(self._actor, _address(at))
                raise FileRefused(
                    f"The path {path} is not a file."
                    if is_directory
                    else f"The path {path} does not exist. Please provide a valid path."
                )
            text, answer = edit(_text_of(record))
            try:
                await self._write(at, text, expected=record.version)
            except VersionConflict:
                if not tries_left:
                    raise
            else:
                return answer
        raise AssertionError("unreachable")

    async def _write(self, at: Names, text: str, *, expected: int) -> None:
        longest = self._records.longest
        if len(text) > longest:
            raise FileRefused(
                f"Nothing was saved: the file would have {len(text):,} characters, and the maximum "
                f"is {longest:,}. Split it into several files."
            )
        blank = not any(c.isprintable() and not c.isspace() for c in text)
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


def _method(command: Callable[..., Coroutine[Any, Any, str]]) -> Callable[..., Any]:
    @wraps(command)
    def method(self: Any, *arguments: Any) -> Any:
        return self.answer(_answer(command(self.files, *arguments)))

    return method


_METHODS: Final = [
    _method(command)
    for command in (
        MemoryFiles.view,
        MemoryFiles.create,
        MemoryFiles.str_replace,
        MemoryFiles.insert,
        MemoryFiles.delete,
        MemoryFiles.rename,
        MemoryFiles.clear,
    )
]


class RemembrancerMemoryTool(tools.BetaAsyncAbstractMemoryTool):
    """The memory tool for ``AsyncAnthropic().beta.messages.tool_runner(tools=[...])``."""

    view, create, str_replace, insert, delete, rename, clear_all_memory = _METHODS

    def __init__(self, memory: Remembrancer, actor: Actor, **settings: Any) -> None:
        super().__init__(**settings)
        self.files = MemoryFiles(memory, actor)
        self.answer: Callable[..., Any] = lambda answer: answer


class RemembrancerSyncMemoryTool(tools.BetaAbstractMemoryTool):
    """The memory tool for ``Anthropic()``, in a thread beside the event loop of the store.

    Construct it on that event loop.
    """

    view, create, str_replace, insert, delete, rename, clear_all_memory = _METHODS

    def __init__(self, memory: Remembrancer, actor: Actor, **settings: Any) -> None:
        super().__init__(**settings)
        self.files = MemoryFiles(memory, actor)
        self.answer: Callable[..., Any] = Bridge().wait


async def _answer(work: Coroutine[Any, Any, str]) -> str:
    try:
        return await work
    except FileRefused as error:
        # It may quote a lone surrogate, which cannot be sent.
        raise tools.ToolError(str(error).encode("utf-8", "replace").decode()) from error


def _address(at: Names) -> Address:
    return (SHELF, *at)


def _text_of(record: Record) -> str:
    """Return the text of a file; the metadata has that of a blank one."""
    blank = record.metadata.get("text")
    return blank if record.content == _BLANK and isinstance(blank, str) else record.content


def _text(command: Any, name: str, default: str | None = None) -> str:
    """Return a text argument, which may be missing or of another type."""
    value = getattr(command, name, default)
    if not isinstance(value, str):
        raise FileRefused(f"`{name}` must be given, as text")
    return value


def _number(value: Any, reason: str = "`insert_line` must be given, as a number") -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise FileRefused(reason)
    return value
