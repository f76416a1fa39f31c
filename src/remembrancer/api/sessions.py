"""Signing in from a browser: a one-time link, then a cookie."""

import secrets
import time
from collections.abc import Callable
from typing import Final

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from remembrancer.access import Actor, Role
from remembrancer.errors import Unauthenticated

COOKIE: Final = "remembrancer_session"
LINK_SECONDS: Final = 15 * 60
SESSION_SECONDS: Final = 12 * 3600

router = APIRouter(include_in_schema=False)


class Sessions:
    """Sign-in links that wait to be used, and sessions that came of them.

    They live in this process alone: a restart signs everybody out.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._links: dict[str, float] = {}
        self._sessions: dict[str, float] = {}

    def new_link(self) -> str:
        """Return the path of a link that signs one admin in, once, within 15 minutes."""
        token = secrets.token_urlsafe(24)
        self._links[token] = self._clock() + LINK_SECONDS
        return f"/login?token={token}"

    def redeem(self, token: str) -> str:
        """Use up a link; return the new session's id or raise ``Unauthenticated``."""
        if self._links.pop(token, 0.0) < self._clock():
            raise Unauthenticated("this sign-in link was used already or is too old")
        session = secrets.token_urlsafe(32)
        now = self._clock()
        self._sessions = {s: end for s, end in self._sessions.items() if end > now}
        self._sessions[session] = now + SESSION_SECONDS
        return session

    def actor(self, request: Request) -> Actor | None:
        """Return the admin whose session cookie came with a request."""
        session = request.cookies.get(COOKIE, "")
        if self._sessions.get(session, 0.0) < self._clock():
            return None
        return Actor(Role.ADMIN, entry_point="web")


@router.get("/login")
async def login(request: Request, token: str) -> Response:
    """Sign in by a one-time link."""
    session = request.app.state.sessions.redeem(token)
    answer = RedirectResponse("/", status_code=303)
    answer.set_cookie(
        COOKIE,
        session,
        max_age=SESSION_SECONDS,
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return answer
