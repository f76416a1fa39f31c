"""A person's places: what they are called, what is to be known of them, and where they came up."""

from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from remembrancer.errors import NotFound, RemembrancerError
from remembrancer.memories.schemas import Memory, Outcome
from remembrancer.places.schemas import PlaceCreate, PlaceUpdate
from remembrancer.validation import made
from remembrancer.web.dependencies import About, Checked, Form, OurForm, PageRequest
from remembrancer.web.memories import SOURCE, agent_of, can_change, names

router = APIRouter(prefix="/people/{user_id}/places")


@router.get("")
async def list_places(here: About, cursor: str | None = None) -> Response:
    """List places, the oldest first."""
    page = await here.memory.places.list(here.acting, limit=50, cursor=cursor)
    return here.page(
        "places/list.html", page=page, can_change=can_change(here), **await names(here)
    )


@router.get("/new")
async def new(here: About) -> Response:
    """Show an empty form."""
    return await _form(here, Form([]))


async def _form(
    here: PageRequest,
    form: Form,
    error: RemembrancerError | None = None,
    place: Memory | None = None,
) -> Response:
    status = error.status if error else 200
    known: dict[str, Any] = await names(here)
    return here.page("places/form.html", status, form=form, error=error, place=place, **known)


@router.post("")
async def add(here: About, form: Checked) -> Response:
    """Remember a place. Unless an id is given, its name tells it from the others."""
    try:
        given = form.given("place_id", "place_name", "notes")
        given.setdefault("place_id", given.get("place_name", ""))
        actor = here.actor.acting_for(here.user.id, agent_of(form))
        written = await here.memory.places.add(actor, made(PlaceCreate, **given), source=SOURCE)
    except RemembrancerError as error:
        return await _form(here, form, error)
    if written.outcome is Outcome.CREATED:
        said = f"{written.place.place_name} is remembered."
    else:
        said = f"{written.place.place_name} was known already; its notes stay as they were."
    here.say(said)
    return here.done(f"{here.base}/places")


async def _place(here: PageRequest, memory_id: str) -> Memory:
    memory = await here.memory.memories.get(here.acting, memory_id)
    if memory.place_id is None:
        raise NotFound("no such place", field="memory_id")
    return memory


@router.get("/{memory_id}/edit")
async def edit(here: About, memory_id: str) -> Response:
    """Show a place, to be changed."""
    return await _form(here, Form([]), place=await _place(here, memory_id))


@router.post("/{memory_id}")
async def change(here: About, memory_id: str, form: Checked) -> Response:
    """Name a place anew, or note something else of it: a new version."""
    place = await _place(here, memory_id)
    try:
        wanted = made(PlaceUpdate, **form.given("place_name", "notes", "expected_version"))
        if (wanted.place_name, wanted.notes) == (place.subject, place.notes):
            here.say("Nothing was changed.")
        else:
            await here.memory.places.change(here.acting, memory_id, wanted, source=SOURCE)
            here.say(f"{wanted.place_name} is saved as a new version.")
    except RemembrancerError as error:
        return await _form(here, form, error, place)
    return here.done(f"{here.base}/places")


@router.post("/{memory_id}/forget", dependencies=[OurForm])
async def forget(here: About, memory_id: str) -> Response:
    """Forget a place; it can be brought back."""
    place = await _place(here, memory_id)
    await here.memory.memories.forget(here.acting, memory_id)
    here.say(f"{place.subject} is forgotten.", f"{here.base}/places/{memory_id}/restore")
    return here.done(f"{here.base}/places")


@router.post("/{memory_id}/restore", dependencies=[OurForm])
async def restore(here: About, memory_id: str) -> Response:
    """Bring a place back."""
    place = await here.memory.memories.restore(here.acting, memory_id)
    here.say(f"{place.subject or 'It'} is back.")
    return here.done(f"{here.base}/places")
