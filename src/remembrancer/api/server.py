"""The ASGI application."""

from typing import Any

from fastapi import FastAPI, Request
from pydantic import BaseModel, Field
from starlette.routing import Route

from remembrancer import version, web
from remembrancer.api import (
    agent_users,
    agents,
    associations,
    audit,
    contexts,
    conversations,
    document,
    erasure,
    facts,
    identity,
    jobs,
    keys,
    memories,
    metrics,
    places,
    policies,
    preferences,
    problems,
    review,
    spaces,
    summaries,
    tools,
    users,
)
from remembrancer.api.endpoints import Router, document_acting
from remembrancer.api.headers import SecurityHeaders
from remembrancer.api.limits import BodyLimit, RateLimit
from remembrancer.api.problems import Problem
from remembrancer.app import Remembrancer
from remembrancer.mcp.http import McpEndpoint
from remembrancer.web.sessions import Sessions

_DESCRIPTION = """
Memory for AI agents that keeps people apart.

Send an API key with every request: `Authorization: Bearer …`. A request with a service key
names its user (`user_id`); a user key acts for its own user only.
"""

_REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": description}
    for status, description in {
        401: "The API key is missing or not valid.",
        403: "The key's role may not do this.",
        404: "It does not exist, or this actor may not see it.",
        409: "It conflicts with stored data.",
        412: "If-Match is not the current version.",
        413: "The body is too large.",
        422: "A field is wrong; the problem names it.",
        429: "Too many requests.",
        503: "The database or the embedding model does not answer.",
    }.items()
}

system = Router(tags=["system"])


class Health(BaseModel):
    """Status and version of the server."""

    status: str = Field(examples=["ok"])
    version: str


@system.get("/health")
async def health(request: Request) -> Health:
    """Check the server and its database. Needs no key."""
    await request.app.state.memory.database.ping()
    return Health(status="ok", version=version.__version__)


class _Application(FastAPI):
    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            document_acting(super().openapi())
        return super().openapi()


def create_app(memory: Remembrancer) -> FastAPI:
    """Return the application that serves ``memory`` over HTTP."""
    limits = memory.settings.limits
    app = _Application(
        title="Remembrancer",
        version=version.__version__,
        description=_DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        responses=_REFUSALS,
    )
    app.state.memory = memory
    app.state.sessions = Sessions()
    app.state.metrics = metrics.Metrics()
    app.state.rate_limit = RateLimit(limits.requests_per_minute)
    problems.install(app)
    for part in (
        system,
        metrics.router,
        users.router,
        identity.router,
        erasure.router,
        audit.router,
        preferences.router,
        policies.router,
        policies.guides,
        memories.by_agent,
        memories.by_user,
        review.router,
        memories.router,
        places.router,
        document.router,
        tools.router,
        associations.router,
        spaces.router,
        spaces.of_memory,
        facts.router,
        agent_users.router,
        agents.router,
        conversations.router,
        contexts.router,
        contexts.of_conversation,
        contexts.of_agent,
        summaries.router,
        jobs.router,
        keys.router,
        web.router,
    ):
        app.include_router(part)
    app.router.routes.append(Route("/mcp", McpEndpoint(memory), include_in_schema=False))
    app.add_middleware(BodyLimit, limit=limits.body_bytes)
    app.add_middleware(SecurityHeaders)
    app.add_middleware(metrics.MetricsMiddleware, metrics=app.state.metrics)
    return app
