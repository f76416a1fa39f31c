"""Facts in a legacy, which is a space: /api/ai."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated
from uuid import UUID

from fastapi import Path, Response

from remembrancer.api.dependencies import (
    MENTIONED,
    App,
    IdempotencyKey,
    Paging,
    RequestActor,
    set_status,
)
from remembrancer.api.endpoints import Router
from remembrancer.errors import NotFound
from remembrancer.facts.schemas import Fact, FactCreate, VisibilityUpdate
from remembrancer.paging import Page

router = Router(prefix="/api/ai", tags=["facts"])

FactId = Annotated[str, Path(examples=["a1B2c3D4"])]


@router.get("/legacies/{legacy_id}/facts")
async def list_facts(app: App, actor: RequestActor, legacy_id: UUID, page: Paging) -> Page[Fact]:
    """List the user's own facts and shared facts of others, in the order of extraction."""
    with _legacy_words():
        return await app.facts.list(actor, legacy_id, **page)


@router.post("/legacies/{legacy_id}/facts", status_code=201, responses=MENTIONED)
async def add_fact(
    app: App,
    actor: RequestActor,
    legacy_id: UUID,
    fact: FactCreate,
    response: Response,
    idempotency_key: IdempotencyKey = None,
) -> Fact:
    """Add a fact to a legacy. It is private unless `visibility` is `shared`."""
    with _legacy_words():
        result = await app.facts.add(
            actor, legacy_id, fact, source="api", idempotency_key=idempotency_key
        )
    set_status(response, result)
    return Fact.of(result.memory, result.memory.user_id)


@router.patch("/facts/{fact_id}/visibility")
async def set_fact_visibility(
    app: App, actor: RequestActor, fact_id: FactId, change: VisibilityUpdate
) -> Fact:
    """Share the user's own fact with the members of its legacy, or make it private."""
    with _legacy_words():
        memory = await app.facts.set_visibility(actor, fact_id, change.visibility, in_space=True)
    return Fact.of(memory, memory.user_id)


@router.delete("/facts/{fact_id}", status_code=204)
async def delete_fact(app: App, actor: RequestActor, fact_id: FactId) -> None:
    """Forget the user's own fact: nobody sees it any more."""
    with _legacy_words():
        await app.facts.delete(actor, fact_id)


_NAMES = {"space_id": ("no such legacy", "legacy_id"), "memory_id": ("no such fact", "fact_id")}


@contextmanager
def _legacy_words() -> Iterator[None]:
    """Raise ``NotFound`` with the nouns of these paths: legacy and fact."""
    try:
        yield
    except NotFound as error:
        reason, field = _NAMES.get(error.field or "", (error.reason, error.field))
        raise NotFound(reason, field=field, **error.extra) from error
