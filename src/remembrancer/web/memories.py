"""Pages about a user's memories: the list, and the forms that add and edit."""

import asyncio
from collections.abc import Callable
from typing import Any, Final, Protocol
from uuid import UUID

from fastapi import APIRouter
from pydantic import TypeAdapter, ValidationError
from starlette.responses import Response

from remembrancer.access import Scope, Visibility, may_change
from remembrancer.errors import InvalidInput, RemembrancerError, SimilarMemoryExists
from remembrancer.ids import SHARED_OWNER
from remembrancer.memories.schemas import (
    Category,
    Kind,
    Memory,
    MemoryCreate,
    MemoryFilter,
    MemoryUpdate,
    Outcome,
    SortBy,
    Status,
)
from remembrancer.validation import validate
from remembrancer.web.dependencies import CheckedForm, Form, PageRequest, UserRequest, non_empty

router = APIRouter(prefix="/people/{user_id}/memories")

PAGE_SIZE: Final = 50
SOURCE: Final = "web"
_FILTERS: Final = ("subject", "scope", "kept_for", "space_id", "text", "sort")
_LIST_FILTERS: Final = {"kinds": "kind", "categories": "category", "statuses": "status"}
_PARTS: Final = {"results": "memories/results.html", "more": "memories/rows.html"}
_CHOICES: Final[dict[str, Any]] = {
    "kinds": list(Kind),
    "categories": list(Category),
    "statuses": list(Status),
    "sorts": {
        SortBy.RECENT: "Newest",
        SortBy.IMPORTANCE: "Most important",
        SortBy.MOST_ACCESSED: "Most recalled",
    },
}


class HasOwner(Protocol):
    @property
    def user_id(self) -> UUID | None: ...


async def agent_and_space_names(request: PageRequest) -> dict[str, Any]:
    agents = (await request.app.agents.list(request.actor, limit=200)).items
    spaces = (await request.app.spaces.list(request.user_actor, limit=200)).items
    return {
        "agents": {agent.id: agent.name for agent in agents},
        "spaces": {space.id: space.name for space in spaces},
    }


def can_change(request: PageRequest) -> Callable[[HasOwner], bool]:
    return lambda item: may_change(request.user_actor, item.user_id or SHARED_OWNER)


def list_values(request: PageRequest, fields: dict[str, str]) -> dict[str, Any]:
    lists = {
        field: [value for value in request.query.getlist(name) if value]
        for field, name in fields.items()
    }
    return {field: values for field, values in lists.items() if values}


def _filters(request: PageRequest) -> MemoryFilter:
    values = non_empty(request.query, *_FILTERS) | list_values(request, _LIST_FILTERS)
    if pinned := request.query.get("pinned"):
        values["pinned"] = pinned == "true"
    return validate(MemoryFilter, **values)


@router.get("")
async def list_memories(request: UserRequest, cursor: str | None = None) -> Response:
    filters = _filters(request)
    page = await request.app.memories.list(
        request.user_actor, filters, limit=PAGE_SIZE, cursor=cursor
    )
    part = _PARTS.get(request.partial_target or "")
    return request.render(
        part or "memories/list.html",
        page=page,
        filters=filters,
        filtered=filters != MemoryFilter(sort=filters.sort),
        more=request.next_page(page.next_cursor),
        can_change=can_change(request),
        **({} if part else await _header(request)),
        **_CHOICES,
        **await agent_and_space_names(request),
    )


async def _header(request: PageRequest) -> dict[str, Any]:
    pending, budget = await asyncio.gather(
        request.app.review.list(request.user_actor, limit=1),
        request.app.memories.budget(request.user_actor),
    )
    return {"budget": budget, "pending": pending.total}


@router.get("/new")
async def new(request: UserRequest) -> Response:
    return await _render_form(request, Form())


async def _render_form(
    request: PageRequest,
    form: Form,
    error: RemembrancerError | None = None,
    memory: Memory | None = None,
) -> Response:
    return request.render(
        "memories/form.html",
        form=form,
        error=error,
        similar=error.extra["memory_id"] if isinstance(error, SimilarMemoryExists) else None,
        memory=memory,
        selected_space=request.query.get("space_id", ""),
        **_CHOICES,
        **await agent_and_space_names(request),
    )


def _importance(form: Form) -> dict[str, float]:
    value = form.get("importance")
    if value is None:
        return {}
    try:
        return {"importance": TypeAdapter(float).validate_python(value.strip()) / 100}
    except ValidationError:
        raise InvalidInput("must be a number from 0 to 100", field="importance") from None


@router.post("")
async def remember(request: UserRequest, form: CheckedForm) -> Response:
    try:
        agent_id = agent_in(form)
        space = form.values("space_id")
        shared = {"visibility": Visibility.SHARED} if space and form.get("shared") else {}
        scope = {"scope": Scope.AGENT} if agent_id is not None and not space else {}
        statement = validate(
            MemoryCreate,
            **form.values("content", "kind", "category", "subject"),
            **_importance(form),
            **space,
            **shared,
            **scope,
            pinned=form.get("pinned") is not None,
            allow_similar=form.get("allow_similar") is not None,
        )
        actor = request.actor.acting_for(request.user.id, agent_id)
        result = await request.app.memories.remember(actor, statement, source=SOURCE)
    except RemembrancerError as error:
        return await _render_form(request, form, error)
    text = "Remembered." if result.outcome is Outcome.CREATED else "That was known already."
    if result.scope_changed:
        text += " Every agent can use it, because this agent's scope is global."
    if result.guard:
        text += " Sensitive content was removed."
    request.notify(text)
    return request.redirect(f"{request.base}/memories/{result.memory.id}")


def agent_in(form: Form) -> UUID | None:
    return as_agent_id(form.get("agent_id"), "agent_id")


def as_agent_id(value: str | None, field: str) -> UUID | None:
    try:
        return UUID(value) if value else None
    except ValueError:
        raise InvalidInput("is not the id of an agent", field=field) from None


@router.get("/{memory_id}/edit")
async def edit(request: UserRequest, memory_id: str) -> Response:
    memory = await request.app.memories.get(request.user_actor, memory_id)
    return await _render_form(request, Form(), memory=memory)


@router.post("/{memory_id}")
async def update(request: UserRequest, memory_id: str, form: CheckedForm) -> Response:
    memory = await request.app.memories.get(request.user_actor, memory_id)
    try:
        changes = _changes(form, memory)
        if changes:
            update = validate(MemoryUpdate, **changes, **form.values("expected_version"))
            await request.app.memories.update(request.user_actor, memory_id, update, source=SOURCE)
    except RemembrancerError as error:
        return await _render_form(request, form, error, memory)
    request.notify("Saved as a new version." if changes else "Nothing changed.")
    return request.redirect(f"{request.base}/memories/{memory_id}")


def _changes(form: Form, memory: Memory) -> dict[str, Any]:
    """Return the fields that differ: an unchanged field would count as stated again."""
    if form.get("content") is None:
        raise InvalidInput("must not be empty", field="content")
    values = form.values("content", "kind", "category")
    values |= _importance(form) | {"subject": form.get("subject")}
    current = memory.model_dump(mode="json")
    return {name: value for name, value in values.items() if value != current[name]}
