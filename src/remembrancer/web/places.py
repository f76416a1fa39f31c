"""A person's places: what they are called, what is to be known of them, and where they came up."""

from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from remembrancer.errors import NotFound, RemembrancerError
from remembrancer.memories.schemas import Memory, Outcome
from remembrancer.places.schemas import PlaceCreate, PlaceUpdate
from remembrancer.validation import made
from remembrancer.web.dependencies import FORM_CHECK, CheckedForm, Form, PageRequest, UserRequest
from remembrancer.web.memories import SOURCE, agent_and_space_names, agent_of, can_change

router = APIRouter(prefix="/people/{user_id}/places")


@router.get("")
async def list_places(request: UserRequest, cursor: str | None = None) -> Response:
    """List places, the oldest first."""
    page = await request.app.places.list(request.user_actor, limit=50, cursor=cursor)
    return request.render(
        "places/list.html",
        page=page,
        can_change=can_change(request),
        **await agent_and_space_names(request),
    )


@router.get("/new")
async def new(request: UserRequest) -> Response:
    """Show an empty form."""
    return await _form(request, Form([]))


async def _form(
    request: PageRequest,
    form: Form,
    error: RemembrancerError | None = None,
    place: Memory | None = None,
) -> Response:
    status = error.status if error else 200
    known: dict[str, Any] = await agent_and_space_names(request)
    return request.render("places/form.html", status, form=form, error=error, place=place, **known)


@router.post("")
async def add(request: UserRequest, form: CheckedForm) -> Response:
    """Remember a place. Unless an id is given, its name tells it from the others."""
    try:
        given = form.values("place_id", "place_name", "notes")
        given.setdefault("place_id", given.get("place_name", ""))
        actor = request.actor.acting_for(request.user.id, agent_of(form))
        written = await request.app.places.add(actor, made(PlaceCreate, **given), source=SOURCE)
    except RemembrancerError as error:
        return await _form(request, form, error)
    if written.outcome is Outcome.CREATED:
        said = f"{written.place.place_name} is remembered."
    else:
        said = f"{written.place.place_name} was known already; its notes stay as they were."
    request.notify(said)
    return request.redirect(f"{request.base}/places")


async def _place(request: PageRequest, memory_id: str) -> Memory:
    memory = await request.app.memories.get(request.user_actor, memory_id)
    if memory.place_id is None:
        raise NotFound("no such place", field="memory_id")
    return memory


@router.get("/{memory_id}/edit")
async def edit(request: UserRequest, memory_id: str) -> Response:
    """Show a place, to be changed."""
    return await _form(request, Form([]), place=await _place(request, memory_id))


@router.post("/{memory_id}")
async def change(request: UserRequest, memory_id: str, form: CheckedForm) -> Response:
    """Name a place anew, or note something else of it: a new version."""
    place = await _place(request, memory_id)
    try:
        wanted = made(PlaceUpdate, **form.values("place_name", "notes", "expected_version"))
        if (wanted.place_name, wanted.notes) == (place.subject, place.notes):
            request.notify("Nothing was changed.")
        else:
            await request.app.places.update(request.user_actor, memory_id, wanted, source=SOURCE)
            request.notify(f"{wanted.place_name} is saved as a new version.")
    except RemembrancerError as error:
        return await _form(request, form, error, place)
    return request.redirect(f"{request.base}/places")


@router.post("/{memory_id}/forget", dependencies=[FORM_CHECK])
async def forget(request: UserRequest, memory_id: str) -> Response:
    """Forget a place; it can be brought back."""
    place = await _place(request, memory_id)
    await request.app.memories.forget(request.user_actor, memory_id)
    request.notify(f"{place.subject} is forgotten.", f"{request.base}/places/{memory_id}/restore")
    return request.redirect(f"{request.base}/places")


@router.post("/{memory_id}/restore", dependencies=[FORM_CHECK])
async def restore(request: UserRequest, memory_id: str) -> Response:
    """Bring a place back."""
    place = await request.app.memories.restore(request.user_actor, memory_id)
    request.notify(f"{place.subject or 'It'} is back.")
    return request.redirect(f"{request.base}/places")
