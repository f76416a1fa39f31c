"""Runs a change again whose transaction was undone as a whole."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import wraps
from inspect import iscoroutinefunction
from typing import Final, ParamSpec, TypeVar

from remembrancer.errors import Deadlock, WorkspaceMoved
from remembrancer.paging import PageMethod

P = ParamSpec("P")
T = TypeVar("T")

DEADLOCK_TRIES: Final = 3
"""Times that a change is tried before its deadlock is reported."""


def retries_deadlocks(service: type[T]) -> type[T]:
    """Let the public methods of a service run again, as :func:`retries_deadlock` does."""
    for name, method in list(vars(service).items()):
        if isinstance(method, PageMethod):
            # An admin's look at a list adds a line to the audit log.
            setattr(service, name, PageMethod(retries_deadlock(method.function)))
        elif iscoroutinefunction(method) and not name.startswith("_"):
            setattr(service, name, retries_deadlock(method))
    return service


def retries_deadlock(
    method: Callable[P, Awaitable[T]],
) -> Callable[P, Awaitable[T]]:
    """Run a method again that lost a deadlock: its transaction was undone as a whole.

    So was one whose workspace moved to another server meanwhile: now the method runs there.
    """

    @wraps(method)
    async def run(*args: P.args, **kwargs: P.kwargs) -> T:
        for _ in range(DEADLOCK_TRIES - 1):
            with suppress(Deadlock, WorkspaceMoved):
                return await method(*args, **kwargs)
        return await method(*args, **kwargs)

    return run
