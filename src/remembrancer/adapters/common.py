"""What adapters share: whom they act for, and how code that does not await gets an answer."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

Answer = TypeVar("Answer")


def missing(extra: str) -> ImportError:
    """Return what to raise where the framework of an extra is not installed."""
    return ImportError(f"this needs another package: pip install 'remembrancer[{extra}]'")


class Bridge:
    """Runs coroutines on the event loop that a store was opened on, whoever asks.

    Make one on that loop: its connections belong to it.
    """

    def __init__(self) -> None:
        try:
            self._loop = asyncio.get_running_loop()
        except RuntimeError:
            raise RuntimeError("make this where the store is open: inside a coroutine") from None

    def wait(self, answer: Coroutine[Any, Any, Answer]) -> Answer:
        """Return an answer to code in another thread; raise ``RuntimeError`` in the loop's own.

        There it would wait for itself.
        """
        if _running() is self._loop:
            answer.close()
            raise RuntimeError("this would stop the event loop; use the method that is awaited")
        return asyncio.run_coroutine_threadsafe(answer, self._loop).result()

    async def run(self, answer: Coroutine[Any, Any, Answer]) -> Answer:
        """Return an answer to a coroutine, on whichever loop that runs."""
        if _running() is self._loop:
            return await answer
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(answer, self._loop))


def _running() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
