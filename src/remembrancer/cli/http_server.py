"""The HTTP server in this process: its socket, its signals, its log."""

import asyncio
import logging
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

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
        protocol = self.config.http_protocol_class

        def one_send(**arguments: object) -> asyncio.Protocol:
            made = protocol(**arguments)
            connect = made.connection_made

            def connection_made(transport: asyncio.BaseTransport) -> None:
                connect(cast("asyncio.Transport", _OneSend(cast("asyncio.Transport", transport))))

            made.connection_made = connection_made  # type: ignore[method-assign]
            return made

        self.config.http_protocol_class = one_send  # type: ignore[assignment]
        await super().startup(sockets)
        self.answers.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Ignore signals: uvicorn would raise them again before Postgres has stopped."""
        yield


class _OneSend:
    """A transport that sends the head of an answer with its body.

    uvicorn writes them one by one, and each wakes the client.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._head = b""

    def __getattr__(self, name: str) -> object:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        if self._head or not data.startswith(b"HTTP/1.1 "):
            data, self._head = self._head + data, b""
            self._transport.write(data)
        else:
            self._head = data
            # A body that comes later, as that of a stream, does not hold it up.
            asyncio.get_running_loop().call_soon(self._send_head)

    def close(self) -> None:
        self._send_head()
        self._transport.close()

    def _send_head(self) -> None:
        if self._head:
            self.write(b"")


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
