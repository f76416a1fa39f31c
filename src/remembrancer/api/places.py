"""Places of a user: /api/users/{user_id}/places."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Response

from remembrancer.api.dependencies import (
    App,
    Authenticated,
    Cursor,
    IdempotencyKey,
    Limit,
)
from remembrancer.api.memories import AgentId
from remembrancer.memories.schemas import Outcome
from remembrancer.paging import Page
from remembrancer.places.schemas import Place, PlaceCreate, PlaceMention, PlaceResult

router = APIRouter(prefix="/api/users/{user_id}", tags=["places"])

PlaceId = Annotated[str, Path(max_length=255, examples=["home"])]


@router.get("/places")
async def list_places(
    app: App,
    actor: Authenticated,
    user_id: UUID,
    agent_id: AgentId = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[Place]:
    """List a user's places, the oldest first, each with its latest mentions."""
    return await app.places.list(actor.acting_for(user_id, agent_id), limit=limit, cursor=cursor)


@router.post("/places", status_code=201, responses={200: {"description": "Known: a mention."}})
async def add_place(
    app: App,
    actor: Authenticated,
    user_id: UUID,
    place: PlaceCreate,
    response: Response,
    agent_id: AgentId = None,
    idempotency_key: IdempotencyKey = None,
) -> PlaceResult:
    """Remember a place; one that is known by this id gains a mention (200)."""
    written = await app.places.add(
        actor.acting_for(user_id, agent_id), place, source="api", idempotency_key=idempotency_key
    )
    if written.outcome is not Outcome.CREATED:
        response.status_code = 200
    return written


# A place id may have slashes in it.
@router.post("/places/{place_id:path}/mentions", status_code=201)
async def mention_place(
    app: App,
    actor: Authenticated,
    user_id: UUID,
    place_id: PlaceId,
    where: PlaceMention,
    agent_id: AgentId = None,
    idempotency_key: IdempotencyKey = None,
) -> Place:
    """Note that a place came up."""
    return await app.places.mention(
        actor.acting_for(user_id, agent_id),
        place_id,
        where,
        source="api",
        idempotency_key=idempotency_key,
    )


@router.get("/places/{place_id:path}")
async def get_place(
    app: App,
    actor: Authenticated,
    user_id: UUID,
    place_id: PlaceId,
    agent_id: AgentId = None,
) -> Place:
    """Return a place with its latest 100 mentions."""
    return await app.places.get(actor.acting_for(user_id, agent_id), place_id)
