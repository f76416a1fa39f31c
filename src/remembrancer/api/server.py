"""The ASGI application."""

from asyncio import to_thread
from pathlib import Path
from typing import Any, Final

from fastapi import APIRouter, FastAPI
from starlette.datastructures import MutableHeaders
from starlette.routing import BaseRoute, Match, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from remembrancer import version
from remembrancer.api import (
    admin,
    agents,
    associations,
    chat,
    contexts,
    conversations,
    erasure,
    facts,
    health,
    memories,
    metrics,
    places,
    preferences,
    problems,
    spaces,
    summaries,
    tools,
    users,
    workspaces,
)
from remembrancer.api.endpoints import completed
from remembrancer.api.limits import Front, RateLimit, waiting
from remembrancer.api.request_log import RequestLog
from remembrancer.app import Remembrancer
from remembrancer.fast_imports import uncollected
from remembrancer.mcp.http import McpEndpoint, ResourceMetadata
from remembrancer.request_store import store_of
from remembrancer.web import sessions

_DESCRIPTION = """
Memory for AI agents that keeps people apart.

Send an API key with every request: `Authorization: Bearer …`. A request with a service key
names its user (`user_id`); a user key acts for its own user only.
"""

_SECURITY_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'",
}


class SecurityHeaders:
    """Adds default security headers (no-store, nosniff, CSP) that a response does not set."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request; add the headers to its response."""

        async def send_with_headers(message: Message) -> None:
            # A 304 keeps the headers of the answer that the browser has, but for those it names.
            if message["type"] == "http.response.start" and message["status"] != 304:
                headers = MutableHeaders(scope=message)
                for name, value in _SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, send_with_headers)


class NamedRoute(Route):
    """A route whose path the metrics have, as those of FastAPI."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Match as before, and say which route it is."""
        match, child = super().matches(scope)
        return match, {**child, "route": self}


class Pages(BaseRoute):
    """All pages. Their import and their templates take half a second; programs never need them."""

    def __init__(self) -> None:
        self._router: APIRouter | None = None

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Match all that the routes before this one do not."""
        is_page = scope["type"] == "http" and not scope["path"].startswith("/api/")
        return (Match.FULL if is_page else Match.NONE), {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with a page."""
        if self._router is None:
            self._router = await to_thread(_page_router)

        async def send_after_session(message: Message) -> None:
            if message["type"] == "http.response.start":
                await sessions.store(scope, store_of(scope).sign_ins)
            await send(message)

        await self._router(scope, receive, send_after_session)


def _page_router() -> APIRouter:
    with uncollected():
        from remembrancer.web.routes import router  # noqa: PLC0415
    return router


class _Application(FastAPI):
    def build_middleware_stack(self) -> ASGIApp:
        # Outside of all that FastAPI puts around: of the answers to unexpected errors too.
        return RequestLog(super().build_middleware_stack(), self.state.metrics)

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            self.openapi_schema = completed(super().openapi())
        return self.openapi_schema


def openapi_document() -> dict[str, object]:
    """Return the OpenAPI document of the API."""
    return _rest_api().openapi()


def create_app(memory: Remembrancer, shared: Path | None = None) -> FastAPI:
    """Return the application that serves ``memory`` over HTTP.

    Processes that serve one address share the directory ``shared``.
    """
    limits = memory.settings.limits
    app = _rest_api()
    app.state.memory = memory
    app.state.metrics = metrics.Metrics(memory.settings.database.pool_size)
    app.state.rate_limit = RateLimit(limits.requests_per_minute, shared)
    app.state.sign_in_limit = RateLimit(limits.sign_ins_per_minute, shared, what="sign-ins")
    problems.install(app)
    app.router.routes.append(
        NamedRoute("/mcp", McpEndpoint(memory, waiting), include_in_schema=False)
    )
    metadata = ResourceMetadata(memory)
    for path in ("", "/mcp"):
        route = NamedRoute(ResourceMetadata.PATH + path, metadata, include_in_schema=False)
        app.router.routes.append(route)
    if memory.settings.server.languages:
        from remembrancer.web import languages  # noqa: PLC0415 - a mistake is told at the start

        languages.offer(memory.settings.server.languages)
    app.router.routes.append(Pages())
    app.add_middleware(Front, limits=limits)
    app.add_middleware(SecurityHeaders)
    return app


def _rest_api() -> FastAPI:
    app = _Application(
        title="Remembrancer",
        version=version.__version__,
        description=_DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,  # routes take both, and a redirect would have no body
    )
    for part in (
        health.router,
        metrics.router,
        users.router,
        erasure.router,
        admin.audit,
        preferences.router,
        preferences.policy,
        preferences.guides,
        memories.by_agent,
        memories.by_user,
        memories.router,
        places.router,
        memories.documents,
        tools.router,
        associations.router,
        spaces.router,
        spaces.of_memory,
        facts.router,
        agents.router,
        conversations.router,
        contexts.router,
        contexts.of_conversation,
        contexts.of_agent,
        summaries.router,
        chat.router,
        admin.jobs,
        admin.keys,
        admin.usage,
        admin.retention,
        workspaces.router,
    ):
        # Not as routers, which FastAPI would search twice for each request.
        app.router.routes.extend(part.routes)
    return app
