"""The HTTP server as this process runs it: one loop, its own signals, a quiet log."""

import asyncio
import logging
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp

from remembrancer.errors import ConfigurationError

GRACE = 2
"""Seconds that requests under way get to finish when the server stops."""


def bound(host: str, port: int) -> socket.socket:
    """Return a socket bound to the address, or say in one line why there is none."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        made = socket.socket(family, kind, protocol)
        try:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.bind(address)
        except OSError:
            made.close()
            raise
    except OSError as error:
        advice = "; choose another with --port, or 0 for any free one" if port else ""
        reason = (error.strerror or str(error)).lower()
        raise ConfigurationError(f"cannot listen at {host}:{port}: {reason}{advice}") from error
    return made


class QuietServer(uvicorn.Server):
    """Uvicorn, telling when it is ready, and leaving signals to whoever runs it."""

    def __init__(self, app: ASGIApp, ready: Callable[[], None]) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                access_log=False,
                log_config=None,
                server_header=False,
                timeout_graceful_shutdown=GRACE,
            )
        )
        self._ready = ready
        logging.getLogger("uvicorn.error").addFilter(_without_content)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start listening, then say so."""
        await super().startup(sockets)
        self._ready()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take no signals: uvicorn would raise them again before Postgres has stopped."""
        yield


class Stopping:
    """What SIGINT and SIGTERM do: end the server once it runs, and before that the start."""

    def __init__(self) -> None:
        self.server: uvicorn.Server | None = None
        self._task = asyncio.current_task()

    def install(self) -> None:
        """Take the signals over, as far as the system allows."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            try:
                loop.add_signal_handler(number, self._stop)
            except NotImplementedError:  # Windows
                signal.signal(number, lambda *_: loop.call_soon_threadsafe(self._stop))

    def _stop(self) -> None:
        if self.server is not None:
            self.server.force_exit = self.server.should_exit
            self.server.should_exit = True
        elif self._task is not None:
            self._task.cancel()


def _without_content(record: logging.LogRecord) -> bool:
    # The application has logged where an unexpected error happened; uvicorn would add its
    # message, which may quote what people said.
    return record.exc_info is None
