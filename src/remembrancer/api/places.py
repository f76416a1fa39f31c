"""Places of a user: /api/users/{user_id}/places."""

from typing import Annotated

from fastapi import Path, Response

from remembrancer.api.dependencies import (
    MENTIONED,
    App,
    IdempotencyKey,
    Paging,
    PathActor,
    set_status,
)
from remembrancer.api.endpoints import Router
from remembrancer.paging import Page
from remembrancer.places.schemas import Place, PlaceCreate, PlaceMention, PlaceResult

router = Router(prefix="/api/users/{user_id}", tags=["places"])

PlaceId = Annotated[str, Path(max_length=255, examples=["home"])]


@router.get("/places")
async def list_places(app: App, actor: PathActor, page: Paging) -> Page[Place]:
    """List a user's places, the oldest first, each with its latest mentions."""
    return await app.places.list(actor, **page)


@router.post("/places", status_code=201, responses=MENTIONED)
async def add_place(
    app: App,
    actor: PathActor,
    place: PlaceCreate,
    response: Response,
    idempotency_key: IdempotencyKey = None,
) -> PlaceResult:
    """Remember a place. A place with a known id gains a mention (200)."""
    result = await app.places.add(actor, place, source="api", idempotency_key=idempotency_key)
    set_status(response, result)
    return result


# A place id may have slashes.
@router.post("/places/{place_id:path}/mentions", status_code=201)
async def mention_place(
    app: App,
    actor: PathActor,
    place_id: PlaceId,
    mention: PlaceMention,
    idempotency_key: IdempotencyKey = None,
) -> Place:
    """Add a mention of a place."""
    return await app.places.mention(
        actor, place_id, mention, source="api", idempotency_key=idempotency_key
    )


@router.get("/places/{place_id:path}")
async def get_place(app: App, actor: PathActor, place_id: PlaceId) -> Place:
    """Return a place with its latest 100 mentions."""
    return await app.places.get(actor, place_id)
