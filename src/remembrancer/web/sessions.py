"""Browser sessions: one-time links, sessions in this process, and the session cookie."""

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from hmac import compare_digest
from typing import Final
from uuid import UUID

from fastapi import Request
from starlette.responses import Response

from remembrancer.access import Actor, Role
from remembrancer.app import Remembrancer
from remembrancer.errors import Forbidden, Unauthenticated

COOKIE: Final = "remembrancer_session"
ENTRY_POINT: Final = "web"
LINK_SECONDS: Final = 15 * 60
SESSION_SECONDS: Final = 12 * 3600
_MAX_NOTICES: Final = 5
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


@dataclass(slots=True)
class Session:
    """A signed-in browser. ``key_id`` is null after a sign-in by one-time link."""

    id: str
    key_id: UUID | None
    ends: float
    token: str
    """A secret that every form carries, against forged requests from other sites."""
    theme: str = "auto"
    notices: list[Notice] = field(default_factory=list)

    def check(self, token: str) -> None:
        if not compare_digest(token.encode(), self.token.encode()):
            raise Forbidden("this form is not from your session; reload the page and try again")

    def add_notice(self, notice: Notice) -> None:
        self.notices = [*self.notices[1 - _MAX_NOTICES :], notice]

    def take_notices(self) -> list[Notice]:
        notices, self.notices = self.notices, []
        return notices


class Sessions:
    """Unused sign-in links, and sessions; a restart signs everybody out."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._links: dict[str, float] = {}
        self._sessions: dict[str, Session] = {}

    def new_link(self) -> str:
        token = secrets.token_urlsafe(24)
        self._links[token] = self._clock() + LINK_SECONDS
        return f"/login?token={token}"

    def redeem(self, token: str) -> Session:
        """Use up a link; return a new session or raise ``Unauthenticated``."""
        if self._links.pop(token, 0.0) < self._clock():
            raise Unauthenticated("this sign-in link was used or is too old; restart the server")
        return self.start(None)

    def start(self, key_id: UUID | None) -> Session:
        now = self._clock()
        self._sessions = {
            id_: session for id_, session in self._sessions.items() if session.ends > now
        }
        session = Session(
            secrets.token_urlsafe(32), key_id, now + SESSION_SECONDS, secrets.token_urlsafe(32)
        )
        self._sessions[session.id] = session
        return session

    def end(self, session: Session) -> None:
        self._sessions.pop(session.id, None)

    def find(self, request: Request) -> Session | None:
        session = self._sessions.get(request.cookies.get(COOKIE, ""))
        return session if session is not None and session.ends > self._clock() else None

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
