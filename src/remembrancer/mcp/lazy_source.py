"""A source opened in the background and reopened when its database is lost.

The embedded database belongs to the process that started first. When that process ends, another one
takes the database over.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TypeVar

from remembrancer.errors import DatabaseUnavailable
from remembrancer.mcp.sources import Source

T = TypeVar("T")
OpenSource = Callable[[], AbstractAsyncContextManager[Source]]


class LazySource:
    """Passes requests to a source; if it ``reopens``, repeats one on a new source after a loss."""

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

    async def ask(self, request: Callable[[Source], Awaitable[T]]) -> T:
        source = await asyncio.shield(self._source)
        try:
            return await request(source)
        except DatabaseUnavailable:
            if not self._reopens:
                raise
            # Another request may have replaced the source already.
            if self._source.done() and self._source.result() is source:
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
