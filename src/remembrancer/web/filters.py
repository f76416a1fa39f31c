"""Pages about filters of the memories list that a person saved under a name."""

from uuid import UUID

from fastapi import APIRouter
from starlette.responses import Response

from remembrancer.errors import RemembrancerError
from remembrancer.memories.schemas import MemoryFilter
from remembrancer.web.dependencies import (
    FORM_CHECK,
    CheckedForm,
    Form,
    PageRequest,
    UserRequest,
    shows_errors,
)
from remembrancer.web.languages import gettext
from remembrancer.web.memories import address_of, agent_and_space_names, chips_of, filters_of

router = APIRouter(prefix="/people/{user_id}/filters")


async def _render(
    request: PageRequest,
    form: Form | None = None,
    error: RemembrancerError | None = None,
    **_: object,
) -> Response:
    names = await agent_and_space_names(request)

    def words(filters: MemoryFilter) -> str:
        asked = request.at(address_of(request, filters))
        searched = [f"“{filters.text}”"] if filters.text else []
        chosen = [f"{c.label}: {c.value}" for c in chips_of(asked, names) if c.value]
        return ", ".join([*searched, *chosen]) or gettext("All memories")

    saved = (await request.app.saved_filters.list(request.user_actor)).items
    return request.render(
        "memories/filters.html",
        saved=[(one, address_of(request, one.filters), words(one.filters)) for one in saved],
        form=form or Form(),
        error=error,
    )


@router.get("")
async def list_filters(request: UserRequest) -> Response:
    return await _render(request)


@router.post("")
@shows_errors(_render)
async def save(request: UserRequest, form: CheckedForm) -> Response:
    """Save the filters of a list, given by the query of its address."""
    asked = request.at(f"{request.base}/memories?{form.get('query') or ''}")
    name, filters = form.get("name") or "", filters_of(asked)
    saved = await request.app.saved_filters.save(request.user_actor, name, filters)
    request.notify(gettext("Saved as %(name)s.", name=saved.name))
    return request.redirect(address_of(request, saved.filters))


@router.post("/{filter_id}/rename")
@shows_errors(_render)
async def rename(request: UserRequest, filter_id: UUID, form: CheckedForm) -> Response:
    name = form.get("name") or ""
    renamed = await request.app.saved_filters.rename(request.user_actor, filter_id, name)
    return request.to("filters", gettext("Renamed to %(name)s.", name=renamed.name))


@router.post("/{filter_id}/delete", dependencies=[FORM_CHECK])
async def delete(request: UserRequest, filter_id: UUID) -> Response:
    gone = await request.app.saved_filters.delete(request.user_actor, filter_id)
    query = address_of(request, gone.filters).partition("?")[2]
    return request.to(
        "filters",
        gettext("%(name)s is deleted.", name=gone.name),
        "filters",
        name=gone.name,
        query=query,
    )
