"""Pages about a user's places."""

from fastapi import APIRouter
from starlette.responses import Response

from remembrancer.errors import NotFound, RemembrancerError
from remembrancer.memories.schemas import Memory, Outcome
from remembrancer.places.schemas import PlaceCreate, PlaceUpdate
from remembrancer.validation import validate
from remembrancer.web import dependencies, labels
from remembrancer.web.languages import gettext
from remembrancer.web.memories import SOURCE, agent_in, render_named

router = APIRouter(prefix="/people/{user_id}/places")


@router.get("")
async def list_places(request: dependencies.UserRequest, cursor: str | None = None) -> Response:
    page = await request.app.places.list(request.user_actor, limit=50, cursor=cursor)
    return await render_named(request, "places/list.html", page=page)


async def _render_form(
    request: dependencies.PageRequest,
    memory_id: str | None = None,
    form: dependencies.Form | None = None,
    error: RemembrancerError | None = None,
) -> Response:
    place = await _place(request, memory_id) if memory_id else None
    values = {"form": form or dependencies.Form(), "error": error, "place": place}
    return await render_named(request, "places/form.html", **values)


dependencies.add_forms(router, _render_form)


@router.post("")
@dependencies.shows_errors(_render_form)
async def add(request: dependencies.UserRequest, form: dependencies.CheckedForm) -> Response:
    values = form.values("place_id", "place_name", "notes")
    # Without an id, its name identifies a place.
    values.setdefault("place_id", values.get("place_name", ""))
    actor = request.actor.acting_for(request.user.id, agent_in(form))
    result = await request.app.places.add(actor, validate(PlaceCreate, **values), source=SOURCE)
    is_new = result.outcome is Outcome.CREATED
    text = (
        gettext("%(place)s is remembered.")
        if is_new
        else gettext("%(place)s was known already; its notes did not change.")
    )
    return request.to("places", text % {"place": result.place.place_name})


async def _place(request: dependencies.PageRequest, memory_id: str) -> Memory:
    memory = await request.app.memories.get(request.user_actor, memory_id)
    if memory.place_id is None:
        raise NotFound("no such place", field="memory_id")
    return memory


@router.post("/{memory_id}")
@dependencies.shows_errors(_render_form)
async def update(
    request: dependencies.UserRequest, memory_id: str, form: dependencies.CheckedForm
) -> Response:
    place = await _place(request, memory_id)
    changes = validate(PlaceUpdate, **form.values("place_name", "notes", "expected_version"))
    if (changes.place_name, changes.notes) == (place.subject, place.notes):
        return request.to("places", gettext("Nothing changed."))
    await request.app.places.update(request.user_actor, memory_id, changes, source=SOURCE)
    return request.to(
        "places", gettext("%(place)s is saved as a new version.", place=changes.place_name)
    )


@router.post("/{memory_id}/forget", dependencies=[dependencies.FORM_CHECK])
async def forget(request: dependencies.UserRequest, memory_id: str) -> Response:
    place = await _place(request, memory_id)
    result = await request.app.memories.forget(request.user_actor, memory_id)
    notice = gettext("%(place)s is forgotten.", place=place.subject) + labels.forgotten(result)
    return request.to("places", notice, f"places/{memory_id}/restore")


@router.post("/{memory_id}/restore", dependencies=[dependencies.FORM_CHECK])
async def restore(request: dependencies.UserRequest, memory_id: str) -> Response:
    place = await request.app.memories.restore(request.user_actor, memory_id)
    return request.to(
        "places",
        gettext("%(place)s is restored.", place=place.subject or gettext("The place")),
    )
