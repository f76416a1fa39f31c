"""MCP over standard input and output: one client, for as long as it keeps the input open."""

import asyncio
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TypeVar

from remembrancer.errors import DatabaseUnavailable, Unavailable
from remembrancer.extras import extra
from remembrancer.fast_imports import uncollected
from remembrancer.ids import new_uuid
from remembrancer.mcp.sources import Catalogue, Source
from remembrancer.telemetry.ids import bound

if TYPE_CHECKING:
    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext

T = TypeVar("T")
OpenSource = Callable[[], AbstractAsyncContextManager[Source]]

MAX_LINE_BYTES: Final = 16 * 1024 * 1024
"""The most bytes of a message; a longer one is dropped."""
_CHUNK_BYTES: Final = 64 * 1024


class LazySource:
    """Passes requests to a source; if it ``reopens``, repeats one on a new source after a loss.

    The embedded database belongs to the process that started first. When that process ends,
    another one takes the database over.
    """

    def __init__(self, open_source: OpenSource, *, reopens: bool) -> None:
        self._open = open_source
        self._reopens = reopens
        self._source: asyncio.Future[Source] = asyncio.get_running_loop().create_future()
        self._lost = asyncio.Event()

    async def run(self) -> None:
        """Open the source, and reopen it after each loss, in one task, until cancelled."""
        while True:
            async with self._open() as source:
                self._source.set_result(source)
                await self._lost.wait()
                self._lost.clear()

    async def opened(self) -> None:
        """Wait for the first opening."""
        await asyncio.shield(self._source)

    async def ask(self, request: Callable[[Source], Awaitable[T]]) -> T:
        source = await asyncio.shield(self._source)
        try:
            return await request(source)
        except Unavailable as error:
            # Another request may have replaced the source already, which is closed then.
            is_current = self._source.done() and self._source.result() is source
            if not self._reopens or (is_current and not isinstance(error, DatabaseUnavailable)):
                raise
            if is_current:
                self._source = asyncio.get_running_loop().create_future()
                self._lost.set()
        return await request(await asyncio.shield(self._source))


@asynccontextmanager
async def open_lazily(
    open_source: OpenSource, *, reopens: bool = False
) -> AsyncIterator[LazySource]:
    """Yield a source that opens in the background; raise the errors of opening."""
    source = LazySource(open_source, reopens=reopens)
    try:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(source.run())
            yield source
            task.cancel()
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None


async def serve(
    open_source: OpenSource, *, reopens: bool = False, catalogue: Catalogue | None = None
) -> None:
    """Answer requests until the input ends or a signal arrives; raise the errors of opening.

    With a ``catalogue``, lists are answered before the source is open; without, nothing is.
    """
    task = asyncio.current_task()
    assert task is not None
    with suppress(NotImplementedError):  # Windows
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    try:
        # Clients wait for the lists. What they need is imported first, and alone.
        with uncollected(), extra("mcp"):
            import_module("remembrancer.mcp.server")
        async with open_lazily(open_source, reopens=reopens) as source:
            if catalogue is None:
                await source.opened()
            await _answer(source, catalogue)
    except (asyncio.CancelledError, BrokenPipeError):
        return
    except ExceptionGroup as errors:
        if errors.subgroup(BrokenPipeError) is None:
            raise


async def _answer(source: LazySource, catalogue: Catalogue | None) -> None:
    from mcp.server.stdio import stdio_server  # noqa: PLC0415

    from remembrancer.mcp.server import create_server  # noqa: PLC0415
    from remembrancer.mcp.updates import Subscriptions  # noqa: PLC0415

    known = None if catalogue is None else lambda _context, request: request(catalogue)
    subscriptions = Subscriptions()
    server = create_server(lambda _context, request: source.ask(request), known, subscriptions)
    server.middleware.append(_with_request_id)
    lines: Any = _Lines()
    async with stdio_server(stdin=lines) as (requests, answers):
        try:
            await server.run(requests, answers, server.create_initialization_options())
        finally:
            await subscriptions.close()


async def _with_request_id(
    ctx: "ServerRequestContext[Any, Any]", call_next: "CallNext"
) -> "HandlerResult":
    with bound(request_id=str(new_uuid())):
        return await call_next(ctx)


class _Lines:
    """The lines of standard input. Waiting for a line can be cancelled."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._room = threading.Semaphore(16)
        self._input = os.dup(sys.stdin.fileno())
        # A daemon: it ends with the input, or with the process.
        threading.Thread(target=self._read, daemon=True).start()

    async def __aiter__(self) -> AsyncIterator[str]:
        while (line := await self._lines.get()) is not None:
            self._room.release()
            yield line

    def _read(self) -> None:
        rest, skipping = b"", False
        with suppress(RuntimeError, OSError):  # the loop has ended
            while more := os.read(self._input, _CHUNK_BYTES):
                *whole, rest = (rest + more).split(b"\n")
                for line in whole:
                    if not skipping and line.strip():
                        self._put(line.decode(errors="replace"))
                    skipping = False
                if len(rest) > MAX_LINE_BYTES:
                    rest, skipping = b"", True
            self._put(None)

    def _put(self, line: str | None) -> None:
        self._room.acquire()
        self._loop.call_soon_threadsafe(self._lines.put_nowait, line)
