"""The session of a browser: its cookie, its notices, and the token of its forms."""

import hmac
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from hmac import compare_digest
from ipaddress import IPv4Address, ip_address, ip_network
from typing import Final

from fastapi import Request
from pydantic import TypeAdapter
from starlette.responses import Response
from starlette.types import Scope

from remembrancer.access import Actor
from remembrancer.errors import Forbidden, Unauthenticated, Unavailable
from remembrancer.keys.sign_ins import SignIn, SignIns
from remembrancer.request_store import check_workspace, store_of, take_store

COOKIE: Final = "remembrancer_session"
ENTRY_POINT: Final = "web"
NOT_SIGNED_IN: Final = "sign in first"
STALE_FORM: Final = "this form is not from your session; reload the page and try again"
NOT_PAGES: Final = ("/api", "/docs", "/openapi.json", "/healthz", "/readyz", "/guides", "/static")
LOCAL: Final = {"localhost", "127.0.0.1", "::1"}
_SCOPE: Final = "remembrancer.session"
_MAX_NOTICES: Final = 5


@dataclass(frozen=True, slots=True)
class Undo:
    action: str
    label: str = ""
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
    """The session of a browser during one request. :func:`store` writes what has changed."""

    sign_in: SignIn
    token: str
    """A secret that every form carries, against forged requests from other sites."""
    theme: str
    shown: int = 0
    """How many of the stored notices this request has shown."""
    added: list[Notice] = field(default_factory=list)

    @property
    def actor(self) -> Actor:
        return self.sign_in.actor

    def check(self, token: str) -> None:
        if not compare_digest(token.encode(), self.token.encode()):
            raise Forbidden(STALE_FORM)

    def add_notice(self, notice: Notice) -> None:
        self.added.append(notice)

    def take_notices(self) -> list[Notice]:
        """Return the last notices, and none of them again."""
        stored = self.sign_in.row.notices[self.shown :]
        taken = [*map(_notice().validate_json, stored), *self.added]
        self.shown += len(stored)
        self.added.clear()
        return taken[-_MAX_NOTICES:]

    async def store(self, sign_ins: SignIns) -> None:
        """Write the theme and the notices, if they have changed."""
        row = self.sign_in.row
        if self.shown or self.added or self.theme != row.theme:
            added = [_notice().dump_json(notice).decode() for notice in self.added]
            await sign_ins.store(row, theme=self.theme, shown=self.shown, added=added)


async def find(request: Request) -> Session | None:
    """Return the session of a browser, null without one. It is read once a request.

    One that is refused, as of a suspended workspace, is none for the page that says so.
    """
    if _SCOPE not in request.scope:
        request.scope[_SCOPE] = None
        secret = request.cookies.get(COOKIE)
        if secret and (found := await opened(request, secret)) is not None:
            check_workspace(request.scope)
            request.scope[_SCOPE] = found
    session: Session | None = request.scope[_SCOPE]
    return session


async def opened(request: Request, secret: str) -> Session | None:
    try:
        store = await take_store(request.scope, secret)
    except Unauthenticated:
        return None
    sign_in = await store.sign_ins.find(secret, entry_point=ENTRY_POINT)
    if sign_in is None:
        return None
    # Made from the cookie, so that the database has nothing that sends a form.
    token = hmac.digest(secret.encode(), b"forms", "sha256").hex()
    return Session(sign_in, token, sign_in.row.theme)


async def store(scope: Scope, sign_ins: SignIns) -> None:
    """Write what a request has changed of its session, before its answer is sent."""
    session: Session | None = scope.get(_SCOPE)
    if session is not None:
        # A notice is not worth an error.
        with suppress(Unavailable):
            await session.store(sign_ins)


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


def network(request: Request) -> str:
    """Return the address of a client; of IPv6 its network, which is one person's."""
    host = request.client.host if request.client else ""
    try:
        address = ip_address(host)
    except ValueError:
        return host
    if isinstance(address, IPv4Address):
        return host
    return str(address.ipv4_mapped or ip_network((address, 64), strict=False))


def set_cookie(request: Request, response: Response, secret: str) -> None:
    response.set_cookie(
        COOKIE,
        secret,
        max_age=store_of(request.scope).sign_ins.session_seconds,
        httponly=True,
        samesite="strict",
        secure=not is_local(request),
    )
