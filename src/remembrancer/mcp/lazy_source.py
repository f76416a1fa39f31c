"""A source that is opened beside the first requests, and again if its database has gone.

The embedded database belongs to the process that was first. When that one ends, be it a server or
another app's MCP server, this one takes the database over.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, TypeVar

from remembrancer.context.schemas import Context, ContextQuery
from remembrancer.document.schemas import MemoryDocument
from remembrancer.errors import DatabaseUnavailable
from remembrancer.mcp.sources import Source, Whom
from remembrancer.memories.schemas import MemoryHistory
from remembrancer.tools.registry import ToolAnswer

T = TypeVar("T")
Opening = Callable[[], AbstractAsyncContextManager[Source]]


class LazySource:
    """Waits for its source; if it ``reopens``, it asks a new one once more when that is lost."""

    def __init__(self, opening: Opening, *, reopens: bool) -> None:
        self._opening = opening
        self._reopens = reopens
        self._source: asyncio.Future[Source] = asyncio.get_running_loop().create_future()
        self._lost = asyncio.Event()
        self._naming: Sequence[str] = ()

    async def keep(self) -> None:
        """Open the source, and again whenever it is lost, until this is cancelled.

        Raises ``ConfigurationError`` when it cannot be opened. A source is entered and left in
        this one task.
        """
        while True:
            async with self._opening() as source:
                self._naming = source.naming
                self._source.set_result(source)
                await self._lost.wait()
                self._lost.clear()

    async def settled(self) -> None:
        """Wait until the source is open."""
        await asyncio.shield(self._source)

    @property
    def naming(self) -> Sequence[str]:
        """What requests say themselves; known once the source is open."""
        return self._naming

    async def tools(self) -> Sequence[Mapping[str, Any]]:
        """Return the tools."""
        return await self._ask(lambda source: source.tools())

    async def call(self, whom: Whom, name: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        """Call a tool."""
        return await self._ask(lambda source: source.call(whom, name, arguments))

    async def document(self, whom: Whom) -> MemoryDocument:
        """Return the memory document."""
        return await self._ask(lambda source: source.document(whom))

    async def history(self, whom: Whom, memory_id: str) -> MemoryHistory:
        """Return a memory with its history."""
        return await self._ask(lambda source: source.history(whom, memory_id))

    async def context(self, whom: Whom, wanted: ContextQuery) -> Context:
        """Return what an agent is told."""
        return await self._ask(lambda source: source.context(whom, wanted))

    async def _ask(self, question: Callable[[Source], Awaitable[T]]) -> T:
        source = await asyncio.shield(self._source)
        try:
            return await question(source)
        except DatabaseUnavailable:
            if not self._reopens:
                raise
            # Others may have met the same, and the new source be there already.
            if self._source.done() and self._source.result() is source:
                self._source = asyncio.get_running_loop().create_future()
                self._lost.set()
        return await question(await asyncio.shield(self._source))


@asynccontextmanager
async def kept(opening: Opening, *, reopens: bool = False) -> AsyncIterator[LazySource]:
    """Yield a source that is being opened, and close it at the end.

    ``reopens`` is for a database that may end with another process; one that somebody else runs
    comes back by itself. Raises what opening it raised, as soon as it does.
    """
    source = LazySource(opening, reopens=reopens)
    try:
        async with asyncio.TaskGroup() as group:
            keeping = group.create_task(source.keep())
            yield source
            keeping.cancel()
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
