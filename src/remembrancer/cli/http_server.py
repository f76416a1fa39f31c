"""The HTTP server in this process: its connections, its signals, its log."""

import asyncio
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import cast

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

log = logging.getLogger(__name__)

GRACE_SECONDS = 2
"""Seconds that running requests get to finish when the server stops."""
STOP_SECONDS = 8.5
"""Seconds from the signal until the process ends, whatever does not answer."""
HEAD_SECONDS = 10
"""Seconds that a connection may take for the head of a request, and for the rest of a body that
was answered before it was read."""
KEEP_SECONDS = 75
"""Seconds that a connection is kept between two requests: longer than proxies and clients keep
theirs. Whoever is the first to close one must not be asked on it in the same moment."""
HEAD_BYTES = 65_536
"""Bytes of a head from which on it is refused. The parser has no limit of its own."""
ACCEPTS = 32
"""Connections that uvloop takes in one turn of its loop: one for each copy of the socket. With one
alone, a crowd waits in line for a minute, unseen, instead of being refused."""
_OWN_FILES = 256
"""File descriptors that are left for the database, the model and the log."""


class QuietServer(uvicorn.Server):
    def __init__(self, app: FastAPI) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=Connection,
                access_log=False,
                log_config=None,
                server_header=False,
                timeout_keep_alive=KEEP_SECONDS,
                timeout_graceful_shutdown=GRACE_SECONDS,
            )
        )
        self.answers = asyncio.Event()
        app.state.server = self  # which asks whether it stops
        logging.getLogger("uvicorn.error").addFilter(_is_ours)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        if sockets is not None and type(asyncio.get_running_loop()).__module__ == "uvloop":
            sockets = [each.dup() for each in sockets for _ in range(ACCEPTS)]
        await super().startup(sockets)
        self.answers.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Ignore signals: uvicorn would raise them again before Postgres has stopped."""
        yield


class Connection(HttpToolsProtocol):
    """A connection of uvicorn that nobody holds without a request."""

    _deadline: asyncio.TimerHandle | None = None
    _is_in_head = False
    _head_bytes = 0

    def connection_made(  # type: ignore[override]
        self, transport: asyncio.Transport
    ) -> None:
        super().connection_made(cast("asyncio.Transport", _OneSend(transport)))
        if len(self.connections) > most_connections():
            self._refuse(b"503 Service Unavailable", b"retry-after: 2\r\n")
        else:
            self._set_deadline(HEAD_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._clear_deadline()

    def data_received(self, data: bytes) -> None:
        was_in_head = self._is_in_head
        super().data_received(data)
        is_more_head = was_in_head and self._is_in_head
        self._head_bytes = self._head_bytes + len(data) if is_more_head else 0
        if self._head_bytes > HEAD_BYTES:
            self._refuse(b"431 Request Header Fields Too Large")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._is_in_head = True
        self._set_deadline(HEAD_SECONDS)

    def on_headers_complete(self) -> None:
        self._is_in_head = False
        self._clear_deadline()
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.cycle.response_complete:  # else the next request was there already
            is_crowded = len(self.connections) > most_connections() // 2
            is_kept = not self.cycle.more_body and not is_crowded
            self._set_deadline(KEEP_SECONDS if is_kept else HEAD_SECONDS)

    def _set_deadline(self, seconds: float) -> None:
        self._clear_deadline()
        self._deadline = self.loop.call_later(seconds, self._give_up)

    def _clear_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        if self._is_in_head:
            self._refuse(b"408 Request Timeout")
        else:
            self.transport.close()

    def _refuse(self, status: bytes, header: bytes = b"") -> None:
        self.transport.write(
            b"HTTP/1.1 "
            + status
            + b"\r\ncontent-length: 0\r\n"
            + header
            + b"connection: close\r\n\r\n"
        )
        self.transport.close()


@cache
def most_connections() -> int:
    """Allow this process as many files as it may have; return how many may be connections."""
    if sys.platform == "win32":
        return 8_192
    import resource  # noqa: PLC0415 - not on Windows

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = 65_536 if hard == resource.RLIM_INFINITY else min(hard, 65_536)
    if most > soft:
        with suppress(OSError, ValueError):  # macOS allows less than it says
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
            soft = most
    return max(soft - _OWN_FILES, soft // 2)


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
        self._is_stopping = False

    def install(self, *numbers: signal.Signals) -> None:
        """Handle the signals; without any, SIGINT and SIGTERM."""
        loop = asyncio.get_running_loop()
        for number in numbers or (signal.SIGINT, signal.SIGTERM):
            try:
                loop.add_signal_handler(number, self.stop)
            except NotImplementedError:  # Windows
                signal.signal(number, lambda *_: loop.call_soon_threadsafe(self.stop))

    def stop(self) -> None:
        if not self._is_stopping:
            self._is_stopping = True
            end = threading.Timer(STOP_SECONDS, _end)
            end.daemon = True
            end.start()
        if self.server is not None:
            self.server.force_exit = self.server.should_exit
            self.server.should_exit = True
        elif self._task is not None:
            self._task.cancel()


def _end() -> None:
    # Such as of a database that hangs: nothing that was acknowledged is lost with the process.
    log.error("something did not end within %g s; the process ends without it", STOP_SECONDS)
    os._exit(1)


def _is_ours(record: logging.LogRecord) -> bool:
    # The application logs unexpected errors itself; uvicorn would add the message, which may quote
    # users' content. It warns of what strangers send, as often as they like.
    return record.exc_info is None and record.levelno != logging.WARNING
