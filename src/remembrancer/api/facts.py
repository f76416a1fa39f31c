"""Facts about a legacy, which is a space: /api/ai."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Response

from remembrancer.api.dependencies import Acting, App, Cursor, IdempotencyKey, Limit
from remembrancer.errors import NotFound
from remembrancer.facts.schemas import Fact, FactCreate, VisibilityUpdate
from remembrancer.memories.schemas import Outcome
from remembrancer.paging import Page

router = APIRouter(prefix="/api/ai", tags=["facts"])

FactId = Annotated[str, Path(examples=["a1B2c3D4"])]


@router.get("/legacies/{legacy_id}/facts")
async def list_facts(
    app: App, actor: Acting, legacy_id: UUID, limit: Limit = 50, cursor: Cursor = None
) -> Page[Fact]:
    """List one's own facts and those the others share, in the order of extraction."""
    try:
        return await app.facts.list(actor, legacy_id, limit=limit, cursor=cursor)
    except NotFound as error:
        raise _named_as_here(error) from error


@router.post(
    "/legacies/{legacy_id}/facts",
    status_code=201,
    responses={200: {"description": "Known: a mention."}},
)
async def add_fact(
    app: App,
    actor: Acting,
    legacy_id: UUID,
    fact: FactCreate,
    response: Response,
    idempotency_key: IdempotencyKey = None,
) -> Fact:
    """Keep a fact about a legacy; private unless it says otherwise."""
    try:
        written = await app.facts.add(
            actor, legacy_id, fact, source="api", idempotency_key=idempotency_key
        )
    except NotFound as error:
        raise _named_as_here(error) from error
    if written.outcome is not Outcome.CREATED:
        response.status_code = 200
    return Fact.of(written.memory, written.memory.user_id)


@router.patch("/facts/{fact_id}/visibility")
async def set_fact_visibility(
    app: App, actor: Acting, fact_id: FactId, change: VisibilityUpdate
) -> Fact:
    """Share one's own fact with the members of its legacy, or make it private again."""
    try:
        changed = await app.facts.set_visibility(actor, fact_id, change.visibility, in_space=True)
    except NotFound as error:
        raise _named_as_here(error) from error
    return Fact.of(changed, changed.user_id)


@router.delete("/facts/{fact_id}", status_code=204)
async def delete_fact(app: App, actor: Acting, fact_id: FactId) -> None:
    """Forget one's own fact: nobody sees it any more."""
    try:
        await app.facts.delete(actor, fact_id)
    except NotFound as error:
        raise _named_as_here(error) from error


_NAMES = {"space_id": ("no such legacy", "legacy_id"), "memory_id": ("no such fact", "fact_id")}


def _named_as_here(error: NotFound) -> NotFound:
    """Return a refusal in the words of these paths."""
    reason, field = _NAMES.get(error.field or "", (error.reason, error.field))
    return NotFound(reason, field=field, **error.extra)
