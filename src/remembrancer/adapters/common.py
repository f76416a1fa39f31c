"""Calls of adapters across event loops."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

Answer = TypeVar("Answer")


class WouldBlock(RuntimeError, asyncio.InvalidStateError):
    """A method that waits was called on the event loop. LangGraph's stores raise the second."""


class Bridge:
    """Runs coroutines on the event loop of a store, from any thread or loop.

    Construct it on that event loop, which owns the connections.
    """

    def __init__(self) -> None:
        try:
            self._loop = asyncio.get_running_loop()
        except RuntimeError:
            raise RuntimeError(
                "no event loop is running; construct this inside a coroutine"
            ) from None

    def wait(self, answer: Coroutine[Any, Any, Answer]) -> Answer:
        """Return an answer to code in another thread.

        Raises :class:`WouldBlock` in the event loop's own thread, where it would wait for itself.
        """
        if _running() is self._loop:
            answer.close()
            raise WouldBlock("this would block the event loop; use the async method")
        return asyncio.run_coroutine_threadsafe(answer, self._loop).result()

    async def run(self, answer: Coroutine[Any, Any, Answer]) -> Answer:
        """Return an answer to a coroutine on any event loop."""
        if _running() is self._loop:
            return await answer
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(answer, self._loop))


def _running() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
