"""From a command to the services: options to settings, an open store, one event loop."""

import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

import typer

from remembrancer.access import Actor, Role
from remembrancer.app import Remembrancer, as_actor
from remembrancer.settings import Settings

T = TypeVar("T")

ADMIN = Actor(Role.ADMIN, entry_point="cli")
"""Whoever can read the data directory is its admin."""
SERVICE = as_actor(entry_point="cli")

_LINE = "%(asctime)s %(levelname)s %(name)s: %(message)s"
# They name addresses, never content, but nobody asked to see every request.
_CHATTY = ("httpx2", "httpcore2", "uvicorn", "alembic", "asyncio", "procrastinate")


def settings_of(context: typer.Context) -> Settings:
    """Return the settings that the global options and the environment make."""
    settings = context.find_root().obj
    assert isinstance(settings, Settings)
    return settings


def with_store(
    context: typer.Context,
    work: Callable[[Remembrancer], Awaitable[T]],
    *,
    check_model: bool = True,
) -> T:
    """Open the store, do ``work`` with it and close it again."""
    settings = settings_of(context)
    # "info" is for servers; a command that works says only what it was asked
    log_to_stderr("warning" if settings.log_level == "info" else settings.log_level)

    async def opened() -> T:
        async with Remembrancer.open(settings=settings, check_model=check_model) as app:
            return await work(app)

    return run(opened())


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run ``work`` to its end on a loop that the database driver can use."""
    # psycopg cannot use the loop that Windows starts by default
    factory = asyncio.SelectorEventLoop if sys.platform == "win32" else None
    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(work)


def log_to_stderr(level: str) -> None:
    """Print log lines of at least ``level``: times, places and ids, never content."""
    logging.basicConfig(level=level.upper(), format=_LINE)
    if level != "debug":
        for name in _CHATTY:
            logging.getLogger(name).setLevel(logging.WARNING)
