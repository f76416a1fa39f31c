"""A source opened in the background and reopened when its database is lost.

The embedded database belongs to the process that started first. When that process ends, another one
takes the database over.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, TypeVar

from remembrancer.context.schemas import Context, ContextQuery
from remembrancer.document.schemas import MemoryDocument
from remembrancer.errors import DatabaseUnavailable
from remembrancer.mcp.sources import Principal, Source
from remembrancer.memories.schemas import MemoryHistory
from remembrancer.tools.registry import ToolAnswer

T = TypeVar("T")
OpenSource = Callable[[], AbstractAsyncContextManager[Source]]


class LazySource:
    """Delegates to a source; if it ``reopens``, repeats a request on a new source after a loss."""

    def __init__(self, open_source: OpenSource, *, reopens: bool) -> None:
        self._open = open_source
        self._reopens = reopens
        self._source: asyncio.Future[Source] = asyncio.get_running_loop().create_future()
        self._lost = asyncio.Event()
        self._id_arguments: Sequence[str] = ()

    async def run(self) -> None:
        """Open the source, and reopen it after each loss, in one task, until cancelled."""
        while True:
            async with self._open() as source:
                self._id_arguments = source.id_arguments
                self._source.set_result(source)
                await self._lost.wait()
                self._lost.clear()

    async def wait_open(self) -> None:
        await asyncio.shield(self._source)

    @property
    def id_arguments(self) -> Sequence[str]:
        return self._id_arguments

    async def tools(self) -> Sequence[Mapping[str, Any]]:
        return await self._request(lambda source: source.tools())

    async def call(
        self, principal: Principal, name: str, arguments: Mapping[str, Any]
    ) -> ToolAnswer:
        return await self._request(lambda source: source.call(principal, name, arguments))

    async def document(self, principal: Principal) -> MemoryDocument:
        return await self._request(lambda source: source.document(principal))

    async def history(self, principal: Principal, memory_id: str) -> MemoryHistory:
        return await self._request(lambda source: source.history(principal, memory_id))

    async def context(self, principal: Principal, query: ContextQuery) -> Context:
        return await self._request(lambda source: source.context(principal, query))

    async def _request(self, request: Callable[[Source], Awaitable[T]]) -> T:
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
