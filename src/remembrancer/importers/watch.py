"""Import what appears in a folder. Safe to stop at any moment: an import goes on where it was.

A file is imported when it has not changed for some seconds. One that cannot be read is reported
once, and again when it has changed. What is deleted in the folder stays in memory.
"""

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from remembrancer.access import Actor
from remembrancer.app import Remembrancer
from remembrancer.errors import InvalidInput, RemembrancerError, Unavailable
from remembrancer.extras import extra
from remembrancer.importers.counts import ImportResult
from remembrancer.importers.exported_memories import ExportedMemory
from remembrancer.importers.exports import Export, Format, open_export
from remembrancer.importers.importer import Importer
from remembrancer.importers.options import Options
from remembrancer.importers.watch_state import WatchState
from remembrancer.importers.watched_folder import Entry, Look, WatchedFolder
from remembrancer.text import plural

STILL: Final = 5.0
"""Seconds without a change after which a file is imported."""
LATEST: Final = 60.0
"""Seconds after which the folder is looked into, without an event of the system."""


@dataclass(frozen=True, slots=True)
class Report:
    """What became of a file: its counts, or why it is not imported."""

    name: str
    result: ImportResult | None = None
    left: int = 0
    """Items in it that no import reads."""
    reason: str | None = None


class _StoppedError(Exception):
    """The watch ends after the present batch."""


@dataclass(slots=True)
class _NewMemories(Export):
    """An export without the memories that this process has stored already."""

    stored: frozenset[str] = frozenset()
    keys: set[str] = field(default_factory=set)

    def memories(self) -> Iterator[ExportedMemory]:
        for memory in Export.memories(self):
            self.keys.add(memory.key)
            if memory.key not in self.stored:
                yield memory


class Watch:
    """Imports what is in a folder, for one actor. ``report`` is called for each file."""

    def __init__(
        self,
        app: Remembrancer,
        actor: Actor,
        folder: WatchedFolder,
        state: WatchState,
        report: Callable[[Report], None],
        *,
        format_: Format = Format.AUTO,
        options: Options | None = None,
        together: bool = False,
        still: float = STILL,
    ) -> None:
        self._app = app
        self._actor = actor
        self._folder = folder
        self._state = state
        self._report = report
        self._format = format_
        self._options = options or Options()
        self._together = together
        self._still = still
        self._since: dict[str, tuple[str, float]] = {}
        """By name: the stamp, and since when it is so."""
        self._failed: dict[str, str] = {}
        self._stored: dict[str, frozenset[str]] = {}
        """Ids of the memories of folders, which are read whole after each change."""
        self._told: set[str] = set()
        self._is_stopping = False
        self._began = False

    async def skip_present(self) -> None:
        """Take what is in the folder now as imported, until it changes."""
        for entry in (await asyncio.to_thread(self._folder.look)).entries:
            self._state.note(entry.name, entry.stamp)

    async def run(self, *, poll: bool = False) -> None:
        """Import until cancelled, after the present batch.

        With ``poll``, look into the folder every few seconds, without events of the system.
        """
        async with _changes(self._folder.path, poll, self._say_once) as changed:
            while True:
                changed.clear()
                try:
                    wait = await self.turn()
                except (Unavailable, InvalidInput) as error:
                    self._say_once(".", str(error))
                    wait = self._still
                latest = self._still if poll or wait is not None else LATEST
                with suppress(TimeoutError):
                    async with asyncio.timeout(latest):
                        await changed.wait()

    async def once(self) -> bool:
        """Import what is there, and wait for what is being written; return whether all was read."""
        while (wait := await self.turn()) is not None:  # noqa: ASYNC110 - no event tells it
            await asyncio.sleep(wait)
        return not self._failed

    async def turn(self) -> float | None:
        """Import what is due; return the seconds until more is, null if nothing waits."""
        found = await asyncio.to_thread(self._folder.look)
        self._tell(found)
        waiting = self._waiting(found.entries)
        for entry, wait in waiting:
            if wait <= 0:
                await self._take(entry)
        return min((wait for _, wait in waiting if wait > 0), default=None)

    def _waiting(self, entries: list[Entry]) -> list[tuple[Entry, float]]:
        """Return what is to be imported, the oldest first, and in how many seconds."""
        now, clock = time.monotonic(), time.time()
        since: dict[str, tuple[str, float]] = {}
        for entry in entries:
            stamp, first = self._since.get(entry.name, ("", now))
            if stamp != entry.stamp:
                # At the start, what changed long ago is whole. Later it may be a copy under way.
                age = 0.0 if self._began else max(0.0, clock - entry.changed_at)
                first = now - age
            since[entry.name] = entry.stamp, first
        self._since, self._began = since, True
        for gone in self._failed.keys() - since.keys():
            del self._failed[gone]
        waiting = [
            (entry, since[entry.name][1] + self._still - now)
            for entry in entries
            if not self._state.has(entry.name, entry.stamp)
            and self._failed.get(entry.name) != entry.stamp
        ]
        return sorted(waiting, key=lambda item: (item[0].changed_at, item[0].name))

    async def _take(self, entry: Entry) -> None:
        content = None
        try:
            if not entry.is_folder:
                content = await asyncio.to_thread(_digest, entry.path)
                if self._state.has_content(content):
                    self._state.note(entry.name, entry.stamp, content)  # it has another name
                    return
            report = await self._import(entry)
        except Unavailable:
            raise
        except FileNotFoundError:
            return
        except Exception as error:
            if not entry.path.exists():
                return
            self._failed[entry.name] = entry.stamp
            self._report(Report(entry.name, reason=_reason(error, entry.path)))
            return
        self._failed.pop(entry.name, None)
        self._state.note(entry.name, entry.stamp, content)
        self._report(report)

    async def _import(self, entry: Entry) -> Report:
        found = await asyncio.to_thread(open_export, entry.path, self._format, self._options)
        stored = self._stored.get(entry.name, frozenset())
        export = _NewMemories(found.bundle, found.format, found.options, stored=stored)
        importer = Importer(self._app, self._actor, self._advance, together=self._together)
        try:
            await importer.check(export)
        except InvalidInput as error:
            if error.extra.get("items") != 0:
                raise
        else:
            await self._whole(importer.store(export))
        if entry.is_folder:
            self._stored[entry.name] = frozenset(export.keys)
        return Report(entry.name, importer.result, left=export.notes.skipped.total())

    async def _whole(self, storing: Coroutine[None, None, None]) -> None:
        """Store; when cancelled, end after the present batch."""
        task = asyncio.ensure_future(storing)
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            self._is_stopping = True
            with suppress(_StoppedError):
                await task
            raise

    def _advance(self, _count: int) -> None:
        if self._is_stopping:
            raise _StoppedError

    def _tell(self, found: Look) -> None:
        for name in found.closed:
            self._say_once(name, "cannot be read")
        for ending, count in found.left.items():
            self._say_once(
                f"*{ending}", f"{plural(count, 'file')} left, of a kind that is not read"
            )

    def _say_once(self, name: str, reason: str) -> None:
        if name not in self._told:
            self._told.add(name)
            self._report(Report(name, reason=reason))


def _reason(error: Exception, path: Path) -> str:
    if isinstance(error, RemembrancerError):
        return str(error).removeprefix(str(path)).removeprefix(path.name).lstrip(",: ")
    if isinstance(error, OSError):
        return (error.strerror or "cannot be read").lower()
    return f"an unexpected error occurred ({type(error).__name__})"


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@asynccontextmanager
async def _changes(
    path: Path, poll: bool, say: Callable[[str, str], None]
) -> AsyncIterator[asyncio.Event]:
    """Give an event that is set whenever something below the folder changes."""
    with extra("cli"):
        from watchfiles import awatch  # noqa: PLC0415

    changed = asyncio.Event()

    async def follow() -> None:
        try:
            async for _ in awatch(path, watch_filter=None, ignore_permission_denied=True):
                changed.set()
        except OSError as error:
            say(".", f"the system tells no changes ({error.strerror}); use --poll")

    following = None if poll else asyncio.create_task(follow())
    try:
        yield changed
    finally:
        if following is not None:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
