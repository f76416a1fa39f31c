"""Browser sessions: one-time links, sessions in this process, and the session cookie."""

import secrets
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from hmac import compare_digest
from pathlib import Path
from typing import Final
from uuid import UUID

from fastapi import Request
from pydantic import TypeAdapter
from starlette.responses import Response

from remembrancer.access import Actor, Role
from remembrancer.app import Remembrancer
from remembrancer.errors import Forbidden, Unauthenticated
from remembrancer.shared_file import shared_file

COOKIE: Final = "remembrancer_session"
ENTRY_POINT: Final = "web"
LINK_SECONDS: Final = 15 * 60
SESSION_SECONDS: Final = 12 * 3600
_MAX_NOTICES: Final = 5
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS links (token TEXT PRIMARY KEY, ends REAL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS sessions (
    id TEXT PRIMARY KEY, key_id TEXT, token TEXT, theme TEXT, ends REAL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS notices (
    number INTEGER PRIMARY KEY, session TEXT REFERENCES sessions ON DELETE CASCADE, notice BLOB);
"""
NOT_SIGNED_IN: Final = "sign in first"
NOT_PAGES: Final = ("/api", "/docs", "/openapi.json", "/health", "/guides", "/static")
LOCAL: Final = {"localhost", "127.0.0.1", "::1"}


@dataclass(frozen=True, slots=True)
class Undo:
    action: str
    label: str = "Undo"
    fields: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Notice:
    text: str
    undo: Undo | None = None
    bad: bool = False


@cache
def _notice() -> TypeAdapter[Notice]:
    return TypeAdapter(Notice)


@dataclass(slots=True)
class Session:
    """A signed-in browser. ``key_id`` is null after a sign-in by one-time link."""

    file: sqlite3.Connection
    id: str
    key_id: UUID | None
    token: str
    """A secret that every form carries, against forged requests from other sites."""
    theme: str = "auto"

    def check(self, token: str) -> None:
        if not compare_digest(token.encode(), self.token.encode()):
            raise Forbidden("this form is not from your session; reload the page and try again")

    def set_theme(self, theme: str) -> None:
        self.theme = theme
        self.file.execute("UPDATE sessions SET theme = ? WHERE id = ?", [theme, self.id])

    def add_notice(self, notice: Notice) -> None:
        self.file.execute(
            "INSERT INTO notices (session, notice) VALUES (?, ?)",
            [self.id, _notice().dump_json(notice)],
        )

    def take_notices(self) -> list[Notice]:
        """Return the last notices, and none of them again."""
        taken = self.file.execute(
            "DELETE FROM notices WHERE session = ? RETURNING number, notice", [self.id]
        ).fetchall()
        return [_notice().validate_json(text) for _, text in sorted(taken)[-_MAX_NOTICES:]]


class Sessions:
    """Unused sign-in links, and sessions; a restart signs everybody out.

    Processes with the same directory share them.
    """

    def __init__(
        self, directory: Path | None = None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._clock = clock
        self._file = shared_file(directory, "sessions", _SCHEMA)

    def new_link(self) -> str:
        token = secrets.token_urlsafe(24)
        ends = self._clock() + LINK_SECONDS
        self._file.execute("INSERT INTO links VALUES (?, ?)", [token, ends])
        return f"/login?token={token}"

    def redeem(self, token: str) -> Session:
        """Use up a link; return a new session or raise ``Unauthenticated``."""
        used = "DELETE FROM links WHERE token = ? RETURNING ends"
        if all(ends < self._clock() for (ends,) in self._file.execute(used, [token]).fetchall()):
            raise Unauthenticated("this sign-in link was used or is too old; restart the server")
        return self.start(None)

    def start(self, key_id: UUID | None) -> Session:
        now = self._clock()
        self._file.execute("DELETE FROM sessions WHERE ends <= ?", [now])
        session = Session(self._file, secrets.token_urlsafe(32), key_id, secrets.token_urlsafe(32))
        self._file.execute(
            "INSERT INTO sessions VALUES (?, ?, ?, ?, ?)",
            [
                session.id, key_id and str(key_id), session.token, session.theme,
                now + SESSION_SECONDS,
            ],
        )  # fmt: skip
        return session

    def end(self, session: Session) -> None:
        self._file.execute("DELETE FROM sessions WHERE id = ?", [session.id])

    def find(self, request: Request) -> Session | None:
        found = self._file.execute(
            "SELECT id, key_id, token, theme FROM sessions WHERE id = ? AND ends > ?",
            [request.cookies.get(COOKIE, ""), self._clock()],
        ).fetchone()
        if found is None:
            return None
        id_, key_id, token, theme = found
        return Session(self._file, id_, UUID(key_id) if key_id else None, token, theme)

    async def actor(self, request: Request, app: Remembrancer) -> Actor | None:
        """Return the actor of a session, null without one. A revoked key ends the session."""
        session = self.find(request)
        if session is None:
            return None
        if session.key_id is None:
            return Actor(Role.ADMIN, entry_point=ENTRY_POINT)
        try:
            return await app.keys.authenticate_id(session.key_id, entry_point=ENTRY_POINT)
        except Unauthenticated:
            self.end(session)
            return None


def is_partial(request: Request) -> bool:
    return request.headers.get("hx-request") == "true"


def wants_page(request: Request) -> bool:
    """Say whether a request expects HTML, for errors too."""
    if request.url.path.startswith(NOT_PAGES):
        return False
    return is_partial(request) or "text/html" in request.headers.get("accept", "")


def is_local(request: Request) -> bool:
    host = request.url.hostname or ""
    return host in LOCAL or host.endswith(".localhost")


def set_cookie(request: Request, response: Response, session: Session) -> None:
    response.set_cookie(
        COOKIE,
        session.id,
        max_age=SESSION_SECONDS,
        httponly=True,
        samesite="strict",
        secure=not is_local(request),
    )
