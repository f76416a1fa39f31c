"""Pages about a user's places."""

from fastapi import APIRouter
from starlette.responses import Response

from remembrancer.errors import NotFound, RemembrancerError
from remembrancer.memories.schemas import Memory, Outcome
from remembrancer.places.schemas import PlaceCreate, PlaceUpdate
from remembrancer.validation import validate
from remembrancer.web.dependencies import FORM_CHECK, CheckedForm, Form, PageRequest, UserRequest
from remembrancer.web.memories import SOURCE, agent_and_space_names, agent_in, can_change

router = APIRouter(prefix="/people/{user_id}/places")


@router.get("")
async def list_places(request: UserRequest, cursor: str | None = None) -> Response:
    return request.render(
        "places/list.html",
        page=await request.app.places.list(request.user_actor, limit=50, cursor=cursor),
        can_change=can_change(request),
        **await agent_and_space_names(request),
    )


@router.get("/new")
async def new(request: UserRequest) -> Response:
    return await _render_form(request, Form())


async def _render_form(
    request: PageRequest,
    form: Form,
    error: RemembrancerError | None = None,
    place: Memory | None = None,
) -> Response:
    names = await agent_and_space_names(request)
    return request.render("places/form.html", form=form, error=error, place=place, **names)


@router.post("")
async def add(request: UserRequest, form: CheckedForm) -> Response:
    try:
        values = form.values("place_id", "place_name", "notes")
        values.setdefault("place_id", values.get("place_name", ""))
        actor = request.actor.acting_for(request.user.id, agent_in(form))
        result = await request.app.places.add(actor, validate(PlaceCreate, **values), source=SOURCE)
    except RemembrancerError as error:
        return await _render_form(request, form, error)
    name = result.place.place_name
    request.notify(
        f"{name} is remembered."
        if result.outcome is Outcome.CREATED
        else f"{name} was known already; its notes did not change."
    )
    return request.redirect(f"{request.base}/places")


async def _place(request: PageRequest, memory_id: str) -> Memory:
    memory = await request.app.memories.get(request.user_actor, memory_id)
    if memory.place_id is None:
        raise NotFound("no such place", field="memory_id")
    return memory


@router.get("/{memory_id}/edit")
async def edit(request: UserRequest, memory_id: str) -> Response:
    return await _render_form(request, Form(), place=await _place(request, memory_id))


@router.post("/{memory_id}")
async def update(request: UserRequest, memory_id: str, form: CheckedForm) -> Response:
    place = await _place(request, memory_id)
    try:
        changes = validate(PlaceUpdate, **form.values("place_name", "notes", "expected_version"))
        if (changes.place_name, changes.notes) == (place.subject, place.notes):
            request.notify("Nothing changed.")
        else:
            await request.app.places.update(request.user_actor, memory_id, changes, source=SOURCE)
            request.notify(f"{changes.place_name} is saved as a new version.")
    except RemembrancerError as error:
        return await _render_form(request, form, error, place)
    return request.redirect(f"{request.base}/places")


@router.post("/{memory_id}/forget", dependencies=[FORM_CHECK])
async def forget(request: UserRequest, memory_id: str) -> Response:
    place = await _place(request, memory_id)
    await request.app.memories.forget(request.user_actor, memory_id)
    request.notify(f"{place.subject} is forgotten.", f"{request.base}/places/{memory_id}/restore")
    return request.redirect(f"{request.base}/places")


@router.post("/{memory_id}/restore", dependencies=[FORM_CHECK])
async def restore(request: UserRequest, memory_id: str) -> Response:
    place = await request.app.memories.restore(request.user_actor, memory_id)
    request.notify(f"{place.subject or 'The place'} is restored.")
    return request.redirect(f"{request.base}/places")
