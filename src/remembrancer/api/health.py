"""Whether the server lives, and whether it can answer. Needs no key."""

import asyncio
from typing import Final

from fastapi import Request
from pydantic import BaseModel, Field

from remembrancer.api.dependencies import App
from remembrancer.api.endpoints import Router
from remembrancer.app import Remembrancer
from remembrancer.db.migrate import is_usable
from remembrancer.embeddings import CachedQueries
from remembrancer.errors import DatabaseUnavailable, Unavailable
from remembrancer.version import __version__

DATABASE_SECONDS: Final = 2.0
"""Seconds that the database has to answer."""

router = Router(tags=["system"])


class Health(BaseModel):
    """Status and version of the server."""

    status: str = Field(examples=["ok"])
    version: str


@router.get("/healthz")
async def check_health() -> Health:
    """Check that the process answers; it looks at nothing else. Needs no key."""
    return Health(status="ok", version=__version__)


@router.get("/readyz")
async def check_readiness(request: Request, app: App) -> Health:
    """Check that the server can do its work. Needs no key.

    It cannot while the database does not answer or has another schema, the embedding model is
    loading, or the server stops: then the answer is 503 with the reasons.
    """
    server = getattr(request.app.state, "server", None)
    reasons = ["the server stops"] if server is not None and server.should_exit else []
    if reason := await _database_reason(app):
        reasons.append(reason)
    if isinstance(app.embedder, CachedQueries) and not app.embedder.is_loaded:
        reasons.append("the embedding model is loading")
    if reasons:
        raise Unavailable("; ".join(reasons))
    return Health(status="ready", version=__version__)


async def _database_reason(app: Remembrancer) -> str | None:
    try:
        async with asyncio.timeout(DATABASE_SECONDS):
            schema = await app.database.revision()
    except (TimeoutError, DatabaseUnavailable):
        return "the database does not answer"
    return None if is_usable(*schema) else "the schema of the database is of another version"
