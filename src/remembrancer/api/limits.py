"""Limits: bytes and seconds of a request body, requests at once, and per minute of a key."""

import asyncio
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Final

from fastapi import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from remembrancer.api.problems import HUNG_UP, busy
from remembrancer.errors import TooManyRequests
from remembrancer.request_store import lend_until_end
from remembrancer.settings import LimitSettings

UPLOAD_PATH: Final = "/start/history"
"""The end of the path of the page that takes a file."""
_BODY: Final = "remembrancer.body"
_COUNTS: Final = """CREATE TABLE IF NOT EXISTS counts (
    key TEXT, minute INTEGER, count INTEGER, PRIMARY KEY (key, minute)) WITHOUT ROWID;"""
_COUNT: Final = (
    "INSERT INTO counts VALUES (?, ?, 1)"
    " ON CONFLICT (key, minute) DO UPDATE SET count = count + 1 RETURNING count"
)


class Body:
    """The body of a request, weighed and timed while it is read.

    Raises ``HTTPException``: FastAPI passes on only this kind of error while it reads a body.
    """

    limit: int
    """Maximum bytes. A route that takes more raises it before anything is read."""

    def __init__(self, scope: Scope, receive: Receive, front: "Front") -> None:
        self.limit = front.limits.body_bytes
        if scope["path"].endswith(UPLOAD_PATH):
            self.limit = max(self.limit, front.limits.upload_bytes)
        self._receive, self.front = receive, front
        announced = dict(scope["headers"]).get(b"content-length", b"0")
        self._announced = int(announced) if announced.isdigit() else 0
        self._read, self._is_complete = 0, False
        self._seconds: float = front.limits.body_seconds

    async def receive(self) -> Message:
        """Return the next message of the server, while it is of a body within the limits."""
        if self._is_complete:
            return await self._receive()
        self._check(self._announced)
        message = await self._in_time()
        if message["type"] == "http.disconnect":
            raise HTTPException(HUNG_UP, "the client hung up")
        self._check(self._read)
        self._is_complete = not message.get("more_body")
        if self._is_complete and self.front.in_work > self.front.limits.requests_at_once:
            # It was let in while others waited for their clients, and now all have come.
            raise HTTPException(503)
        return message

    async def _in_time(self) -> Message:
        """Wait for the client, which counts for its time, and not as a request in work."""
        loop = asyncio.get_running_loop()
        begun = loop.time()
        self.front.in_work -= 1
        try:
            async with asyncio.timeout(self._seconds):
                message = await self._receive()
        except TimeoutError:
            self._seconds = 0
            reason = "the body came too slowly; send it again, faster or in parts"
            raise HTTPException(408, reason, {"Connection": "close"}) from None
        finally:
            self.front.in_work += 1
        size = len(message.get("body", b""))
        self._read += size
        self._seconds += size / self.front.limits.body_rate - (loop.time() - begun)
        return message

    def _check(self, size: int) -> None:
        if size > self.limit:
            raise HTTPException(413, f"the body has more than {self.limit:,} bytes")


class Front:
    """Stands before all routes: bounds the requests in work, and the body of each."""

    def __init__(self, app: ASGIApp, limits: LimitSettings) -> None:
        self._app = app
        self.limits = limits
        self.in_work = 0
        """Requests that do not wait for their client."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request, or refuse it before anything of it is read."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if self.in_work >= self.limits.requests_at_once and scope["path"] != "/healthz":
            await busy()(scope, receive, send)
            return
        body = scope[_BODY] = Body(scope, receive, self)
        self.in_work += 1
        try:
            async with lend_until_end(scope):
                await self._app(scope, body.receive, send)
        finally:
            self.in_work -= 1


def allow_bytes(scope: Scope, limit: int) -> None:
    """Set the maximum bytes of a request's body. Its route does so before it reads any."""
    scope[_BODY].limit = limit


@contextmanager
def waiting(scope: Scope) -> Iterator[None]:
    """Not count a request as in work while it waits for something to tell."""
    front: Front = scope[_BODY].front
    front.in_work -= 1
    try:
        yield
    finally:
        front.in_work += 1


class RateLimit:
    """Counts the requests of each key per calendar minute; 0 means no limit.

    Processes with the same directory count together.
    """

    def __init__(
        self,
        per_minute: int,
        directory: Path | None = None,
        *,
        what: str = "requests",
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._per_minute, self._what = per_minute, what
        self._clock = clock
        self._minute = 0
        self._directory = directory

    @cached_property
    def _counts(self) -> sqlite3.Connection:
        return _counts(self._directory)

    def count(self, key: str, per_minute: int | None = None) -> None:
        """Count a request; raise ``TooManyRequests`` over the limit, or another one."""
        most = self._per_minute if per_minute is None else per_minute
        if not most:
            return
        now = self._clock()
        if (minute := int(now // 60)) != self._minute:
            self._minute = minute
            self._counts.execute("DELETE FROM counts WHERE minute <> ?", [minute])
        [[count]] = self._counts.execute(_COUNT, [key, minute]).fetchall()
        if count > most:
            raise TooManyRequests(
                f"more than {most} {self._what} in a minute",
                retry_after=60 - int(now % 60),
            )


def _counts(directory: Path | None) -> sqlite3.Connection:
    """Open the counts that processes share; without a directory, in the memory of this one.

    A restart may forget them: a killed process leaves the file whole, a power cut need not.
    """
    place = ":memory:" if directory is None else directory / "limits"
    file = sqlite3.connect(place, isolation_level=None, check_same_thread=False)
    file.execute("PRAGMA journal_mode = WAL")
    file.execute("PRAGMA synchronous = OFF")
    file.execute(_COUNTS)
    return file
