"""The admin pages about shared knowledge: list, search, add, forget for everybody, restore."""

import asyncio
from typing import Final

from fastapi import APIRouter
from starlette.responses import Response

from remembrancer.errors import RemembrancerError, SimilarMemoryExists
from remembrancer.memories.schemas import (
    Kind,
    MemoryCreate,
    MemoryFilter,
    Outcome,
    Status,
)
from remembrancer.validation import validate
from remembrancer.web import dependencies, labels
from remembrancer.web.languages import gettext
from remembrancer.web.marks import Marker
from remembrancer.web.memories import PAGE_SIZE, SOURCE

router = APIRouter(prefix="/admin/shared")

_STATUSES: Final = (Status.ACTIVE, Status.FORGOTTEN)


@router.get("")
async def list_shared(
    request: dependencies.AdminRequest,
    status: str = Status.ACTIVE,
    text: str = "",
    cursor: str | None = None,
) -> Response:
    text = text.strip()
    filters = validate(MemoryFilter, shared=True, statuses=[status], text=text or None)
    load = request.app.lookup.search if text else request.app.memories.list
    only_results = request.partial_target == "results"
    page, agents = await asyncio.gather(
        load(request.actor, filters, limit=PAGE_SIZE, cursor=cursor),
        request.app.agents.list(request.actor, limit=200),
    )
    return request.render(
        "admin/shared_results.html" if only_results else "admin/shared.html",
        page=page,
        agents={agent.id: agent.name for agent in agents.items},
        selected=filters.statuses[0],
        statuses=_STATUSES,
        text=text,
        marker=Marker(text) if text else None,
        more=request.next_page(page.next_cursor),
        headers=request.history("text") if only_results else None,
    )


async def _render_form(
    request: dependencies.PageRequest,
    form: dependencies.Form | None = None,
    error: RemembrancerError | None = None,
) -> Response:
    return request.render(
        "admin/shared_form.html",
        form=form or dependencies.Form(),
        error=error,
        is_similar=isinstance(error, SimilarMemoryExists),
        kinds=[(kind, labels.kind(kind)) for kind in Kind],
        categories=list(labels.CATEGORIES.items()),
    )


@router.get("/new")
async def new(request: dependencies.AdminRequest) -> Response:
    return await _render_form(request)


@router.post("")
@dependencies.shows_errors(_render_form)
async def add(form: dependencies.CheckedForm, request: dependencies.AdminRequest) -> Response:
    statement = validate(
        MemoryCreate,
        **form.values("content", "kind", "category", "subject"),
        shared=True,
        allow_similar=form.get("allow_similar") is not None,
    )
    result = await request.app.memories.remember(request.actor, statement, source=SOURCE)
    if result.outcome is not Outcome.CREATED:
        return request.to("shared", gettext("That was known already."))
    return request.to(
        "shared", gettext("Added for everybody."), f"shared/{result.memory.id}/forget"
    )


@router.post("/{memory_id}/forget", dependencies=[dependencies.FORM_CHECK])
async def forget(request: dependencies.AdminRequest, memory_id: str) -> Response:
    await request.app.memories.forget(request.actor, memory_id)
    return request.to("shared", gettext("Forgotten for everybody."), f"shared/{memory_id}/restore")


@router.post("/{memory_id}/restore", dependencies=[dependencies.FORM_CHECK])
async def restore(request: dependencies.AdminRequest, memory_id: str) -> Response:
    await request.app.memories.restore(request.actor, memory_id)
    return request.to("shared", gettext("Restored for everybody."))
