"""Runs a command: settings from options, the open store, the event loop, logging."""

import asyncio
import logging
import signal
import sys
import threading
import warnings
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from remembrancer.access import Actor, Role
from remembrancer.settings import Settings, place
from remembrancer.telemetry.logs import log_to_stderr

if TYPE_CHECKING:
    from remembrancer.app import Remembrancer

T = TypeVar("T")

ADMIN = Actor(Role.ADMIN, entry_point="cli")
"""Anybody who can read the data directory is its admin."""
SERVICE = Actor(Role.SERVICE, entry_point="cli")


def settings_of(context: typer.Context, *, only_named: bool = False) -> Settings:
    """Return the settings; with ``only_named``, none of a file that happens to be here."""
    options = context.find_root().params
    values = place(options["data_dir"], options["database_url"])
    if options["settings"] is not None:
        values["settings"] = options["settings"]
    elif only_named:
        values["settings"] = None
    if options["workspace"] is not None:
        values["workspace"] = options["workspace"]
    return Settings(**values)


def with_store(
    context: typer.Context,
    work: Callable[["Remembrancer"], Awaitable[T]],
    *,
    check_model: bool = True,
) -> T:
    from remembrancer.app import Remembrancer  # noqa: PLC0415 - half of the time of a start

    settings = settings_of(context)
    log_quietly(settings)

    async def run_work() -> T:
        async with Remembrancer.open(settings=settings, check_model=check_model) as app:
            return await work(app)

    return run(run_work())


@contextmanager
def starting_database(settings: Settings) -> Iterator["Future[str] | None"]:
    """Start the embedded server, unless there is another, beside what the caller imports.

    Yields its future address, that of the owner. At the end it is stopped.
    """
    if settings.database_url is not None:
        yield None
        return
    from remembrancer.db.embedded import embedded_server  # noqa: PLC0415 - for servers only

    server = embedded_server(settings)
    with ThreadPoolExecutor(1) as pool:
        try:
            yield pool.submit(server.start)
        finally:
            server.stop()


def run(work: Coroutine[Any, Any, T], *, serves: bool = False) -> T:
    """Run a coroutine on an event loop that the database driver supports.

    With ``serves`` on uvloop where it is installed: a server earns back the time of its import.
    """
    factory: Callable[[], asyncio.AbstractEventLoop] | None = None
    if sys.platform == "win32":
        # psycopg cannot use the loop that Windows starts by default
        factory = asyncio.SelectorEventLoop
    elif serves and find_spec("uvloop"):
        factory = import_module("uvloop").new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(_interruptible(work))


async def _interruptible(work: Awaitable[T]) -> T:
    """Let Ctrl-C end the work in silence: what it logs on its way out is no news."""
    cancel = signal.getsignal(signal.SIGINT)
    if not callable(cancel) or threading.current_thread() is not threading.main_thread():
        return await work

    def interrupt(number: int, frame: FrameType | None) -> None:
        logging.disable()
        warnings.simplefilter("ignore")
        cancel(number, frame)

    signal.signal(signal.SIGINT, interrupt)
    try:
        return await work
    finally:
        signal.signal(signal.SIGINT, cancel)


def log_quietly(settings: Settings) -> None:
    """Print log lines as set, but none of the level "info", which is for servers."""
    level = "warning" if settings.log_level == "info" else settings.log_level
    log_to_stderr(level, settings.log_format)
