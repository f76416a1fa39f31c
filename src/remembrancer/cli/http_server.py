"""The HTTP server in this process: its socket, its signals, its log."""

import asyncio
import logging
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp

GRACE_SECONDS = 2
"""Seconds that running requests get to finish when the server stops."""


class QuietServer(uvicorn.Server):
    def __init__(self, app: ASGIApp) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                access_log=False,
                log_config=None,
                server_header=False,
                timeout_graceful_shutdown=GRACE_SECONDS,
            )
        )
        self.answers = asyncio.Event()
        logging.getLogger("uvicorn.error").addFilter(_without_content)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.answers.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Ignore signals: uvicorn would raise them again before Postgres has stopped."""
        yield


class StopSignals:
    """Handles signals: they stop the server, or cancel its start."""

    def __init__(self) -> None:
        self.server: uvicorn.Server | None = None
        self._task = asyncio.current_task()

    def install(self, *numbers: signal.Signals) -> None:
        """Handle the signals; without any, SIGINT and SIGTERM."""
        loop = asyncio.get_running_loop()
        for number in numbers or (signal.SIGINT, signal.SIGTERM):
            try:
                loop.add_signal_handler(number, self.stop)
            except NotImplementedError:  # Windows
                signal.signal(number, lambda *_: loop.call_soon_threadsafe(self.stop))

    def stop(self) -> None:
        if self.server is not None:
            self.server.force_exit = self.server.should_exit
            self.server.should_exit = True
        elif self._task is not None:
            self._task.cancel()


def _without_content(record: logging.LogRecord) -> bool:
    # The application logs unexpected errors itself; uvicorn would add the message, which may quote
    # users' content.
    return record.exc_info is None
