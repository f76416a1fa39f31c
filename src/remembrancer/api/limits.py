"""Limits: bytes of a request body, and requests per minute of a key."""

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from fastapi import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from remembrancer.api.problems import too_large
from remembrancer.errors import TooManyRequests

UPLOAD_PATH: Final = "/start/history"
_COUNTS: Final = """CREATE TABLE IF NOT EXISTS counts (
    key TEXT, minute INTEGER, count INTEGER, PRIMARY KEY (key, minute)) WITHOUT ROWID;"""
_COUNT: Final = (
    "INSERT INTO counts VALUES (?, ?, 1)"
    " ON CONFLICT (key, minute) DO UPDATE SET count = count + 1 RETURNING count"
)


class BodyLimit:
    """Refuses request bodies over ``limit`` bytes, with or without Content-Length.

    A page that takes a file has the limit ``uploads``.
    """

    def __init__(self, app: ASGIApp, limit: int, uploads: int = 0) -> None:
        self._app = app
        self._limit = limit
        self._uploads = max(limit, uploads)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request and count the bytes of its body."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        takes_file = scope["path"].endswith(UPLOAD_PATH)
        allowed = self._uploads if takes_file else self._limit
        reason = f"the body has more than {allowed:,} bytes"
        length = dict(scope["headers"]).get(b"content-length", b"0")
        if length.isdigit() and int(length) > allowed and not takes_file:
            await too_large(reason)(scope, receive, send)
            return
        left = allowed

        async def receive_and_count() -> Message:
            nonlocal left
            message = await receive()
            left -= len(message.get("body", b""))
            if left < 0:
                # FastAPI passes on only this kind of error while it reads a body.
                raise HTTPException(413, reason)
            return message

        await self._app(scope, receive_and_count, send)


class RateLimit:
    """Counts the requests of each key per calendar minute; 0 means no limit.

    Processes with the same directory count together.
    """

    def __init__(
        self,
        per_minute: int,
        directory: Path | None = None,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._minute = 0
        self._counts = _counts(directory) if per_minute else None

    def count(self, key: str) -> None:
        """Count a request; raise ``TooManyRequests`` over the limit."""
        if self._counts is None:
            return
        now = self._clock()
        if (minute := int(now // 60)) != self._minute:
            self._minute = minute
            self._counts.execute("DELETE FROM counts WHERE minute <> ?", [minute])
        [[count]] = self._counts.execute(_COUNT, [key, minute]).fetchall()
        if count > self._per_minute:
            raise TooManyRequests(
                f"more than {self._per_minute} requests in a minute",
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
