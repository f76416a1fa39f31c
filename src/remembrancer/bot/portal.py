"""Synchronous methods made of asynchronous ones, which are the one definition of both."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, AbstractContextManager, contextmanager
from functools import partial, update_wrapper
from threading import Thread
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, cast, overload

import anyio
from anyio.from_thread import BlockingPortal

P = ParamSpec("P")
T = TypeVar("T")
S = TypeVar("S")
B = TypeVar("B")


class Synchronous:
    """An object whose methods wait for those of an asynchronous one, on a loop elsewhere."""

    def behind(self) -> tuple[object, BlockingPortal]:
        """Return the asynchronous object, and the way to its loop."""
        raise NotImplementedError


class _Method(Generic[P, S]):
    def __init__(self, function: Callable[Concatenate[B, P], object]) -> None:
        self._function: Callable[..., Any] = function
        update_wrapper(self, function)  # type: ignore[arg-type]

    @overload
    def __get__(self, thing: None, owner: type) -> Self: ...
    @overload
    def __get__(self, thing: Synchronous, owner: type) -> Callable[P, S]: ...
    def __get__(self, thing: Synchronous | None, owner: type) -> Self | Callable[P, S]:
        """Return the method of an object."""
        if thing is None:
            return self
        return update_wrapper(cast("Callable[P, S]", partial(self.call, thing)), self._function)

    def call(self, thing: Synchronous, *args: P.args, **kwargs: P.kwargs) -> S:
        """Call the method."""
        raise NotImplementedError


class Waits(_Method[P, S]):
    """A method that returns the result of a coroutine."""

    def __init__(self, function: Callable[Concatenate[B, P], Awaitable[S]]) -> None:
        super().__init__(function)

    def call(self, thing: Synchronous, *args: P.args, **kwargs: P.kwargs) -> S:
        """Wait for the result."""
        behind, portal = thing.behind()
        result: S = wait(portal, partial(self._function, behind, *args, **kwargs))
        return result


class Enters(_Method[P, AbstractContextManager[S]], Generic[P, T, S]):
    """A method that returns a context manager of what ``convert`` makes of the asynchronous one."""

    def __init__(
        self,
        function: Callable[Concatenate[B, P], AbstractAsyncContextManager[T]],
        convert: Callable[[T, BlockingPortal], S],
    ) -> None:
        super().__init__(function)
        self._convert = convert

    def call(
        self, thing: Synchronous, *args: P.args, **kwargs: P.kwargs
    ) -> AbstractContextManager[S]:
        """Return the context manager."""
        behind, portal = thing.behind()
        manager = self._function(behind, *args, **kwargs)

        @contextmanager
        def enter() -> Iterator[S]:
            with portal.wrap_async_context_manager(manager) as entered:
                yield self._convert(entered, portal)

        return enter()


class Iterates(_Method[P, Iterator[S]]):
    """A method that yields what an asynchronous generator does."""

    def __init__(self, function: Callable[Concatenate[B, P], AsyncGenerator[S, None]]) -> None:
        super().__init__(function)

    def call(self, thing: Synchronous, *args: P.args, **kwargs: P.kwargs) -> Iterator[S]:
        """Yield item after item; the generator is closed at the end."""
        behind, portal = thing.behind()
        generator: AsyncGenerator[S, None] = self._function(behind, *args, **kwargs)
        try:
            while items := wait(portal, partial(_next, generator)):
                yield items[0]
        finally:
            portal.call(generator.aclose)


def start_portal() -> tuple[BlockingPortal, Callable[[], None]]:
    """Run an event loop in a thread that keeps no program from ending.

    Returns the way to it, and what ends it.
    """
    started: Future[BlockingPortal] = Future()

    async def run() -> None:
        async with BlockingPortal() as portal:
            started.set_result(portal)
            await portal.sleep_until_stopped()

    thread = Thread(target=anyio.run, args=(run,), daemon=True)
    thread.start()
    portal = started.result()

    def stop() -> None:
        portal.call(portal.stop)
        thread.join()

    return portal, stop


def wait(portal: BlockingPortal, function: Callable[[], Awaitable[S]]) -> S:
    """Return the result of a function on another loop; Ctrl-C cancels it there too."""
    future = portal.start_task_soon(function)
    try:
        return future.result()
    finally:
        future.cancel()


async def _next(generator: AsyncGenerator[S, None]) -> list[S]:
    """Return the next item in a list; an empty list at the end."""
    async for item in generator:
        return [item]
    return []
