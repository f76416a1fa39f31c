"""Pages about a user's memories: the list, and the forms that add and edit."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol
from urllib.parse import urlencode
from uuid import UUID

from fastapi import APIRouter
from pydantic import TypeAdapter, ValidationError
from starlette.responses import Response

from remembrancer.access import Scope, Visibility, may_change
from remembrancer.errors import InvalidInput, RemembrancerError, SimilarMemoryExists
from remembrancer.ids import SHARED_OWNER
from remembrancer.memories import schemas
from remembrancer.validation import validate
from remembrancer.web import dependencies, labels
from remembrancer.web.chips import Chip, chip
from remembrancer.web.languages import gettext
from remembrancer.web.marks import Marker

router = APIRouter(prefix="/people/{user_id}/memories")

PAGE_SIZE: Final = 50
SOURCE: Final = "web"
_FILTERS: Final = ("subject", "scope", "kept_for", "space_id", "text", "sort")
_LIST_FILTERS: Final = {"kinds": "kind", "categories": "category", "statuses": "status"}
_PARTS: Final = {"results": "memories/changed.html", "more": "memories/rows.html"}
_CHOICES: Final[dict[str, Any]] = {
    "kinds": list(schemas.Kind),
    "categories": list(schemas.Category),
}


class HasOwner(Protocol):
    @property
    def user_id(self) -> UUID | None: ...


async def agent_and_space_names(request: dependencies.PageRequest) -> dict[str, Any]:
    agents, spaces = await asyncio.gather(
        request.app.agents.list(request.actor, limit=200),
        request.app.spaces.list(request.user_actor, limit=200),
    )
    return {
        "agents": {agent.id: agent.name for agent in agents.items},
        "spaces": {space.id: space.name for space in spaces.items},
    }


async def render_named(request: dependencies.PageRequest, template: str, **values: Any) -> Response:
    """Return a page with the names of agents and spaces, and a check for its buttons."""
    names = await agent_and_space_names(request)
    return request.render(template, can_change=can_change(request), **values, **names)


def can_change(request: dependencies.PageRequest) -> Callable[[HasOwner], bool]:
    actor = request.user_actor
    return lambda item: may_change(actor, item.user_id or SHARED_OWNER)


def list_values(request: dependencies.PageRequest, fields: dict[str, str]) -> dict[str, Any]:
    lists = {
        field: [value for value in request.query.getlist(name) if value]
        for field, name in fields.items()
    }
    return {field: values for field, values in lists.items() if values}


def filters_of(request: dependencies.PageRequest) -> schemas.MemoryFilter:
    values = dependencies.non_empty(request.query, *_FILTERS) | list_values(request, _LIST_FILTERS)
    if pinned := request.query.get("pinned"):
        values["pinned"] = pinned == "true"
    return validate(schemas.MemoryFilter, **values)


def address_of(request: dependencies.PageRequest, filters: schemas.MemoryFilter) -> str:
    """Return the address of the list with filters: what :func:`filters_of` reads."""
    fields = filters.model_dump(mode="json", exclude_defaults=True)
    if filters.pinned is not None:
        fields["pinned"] = "true" if filters.pinned else "false"
    named = {_LIST_FILTERS.get(field, field): value for field, value in fields.items()}
    return f"{request.base}/memories?{urlencode(named, doseq=True)}".rstrip("?")


@router.get("")
async def list_memories(request: dependencies.UserRequest, cursor: str | None = None) -> Response:
    filters = filters_of(request)
    load = request.app.lookup.search if filters.text else request.app.memories.list
    part = _PARTS.get(request.partial_target or "")
    page, names, saved, header = await asyncio.gather(
        load(request.user_actor, filters, limit=PAGE_SIZE, cursor=cursor),
        agent_and_space_names(request),
        request.app.saved_filters.list(request.user_actor),
        _header(request, needed=part is None),
    )
    return request.render(
        part or "memories/list.html",
        headers=request.history("text") if request.partial_target == "results" else None,
        page=page,
        filters=filters,
        marker=Marker(filters.text) if filters.text else None,
        filtered=filters != schemas.MemoryFilter(sort=filters.sort),
        more=request.next_page(page.next_cursor),
        here=f"{request.http.url.path}?{request.http.url.query}".rstrip("?"),
        chips=chips_of(request, names),
        saved=[(one.name, address_of(request, one.filters)) for one in saved.items],
        current=address_of(request, filters),
        hidden=[
            (k, v) for k, v in request.query.multi_items() if k not in {"text", "cursor"} and v
        ],
        can_change=can_change(request),
        **names,
        **header,
    )


def chips_of(request: dependencies.PageRequest, names: Mapping[str, Any]) -> list[Chip]:
    anything = ("", gettext("Any"))
    fields: list[tuple[str, str, list[tuple[str, str]]]] = [
        ("kind", gettext("Kind"), [anything, *((k, labels.kind(k)) for k in schemas.Kind)]),
        ("category", gettext("Category"), [anything, *labels.CATEGORIES.items()]),
        ("scope", gettext("Readers"), [anything, *labels.READERS.items()]),
        ("kept_for", gettext("Private to"), [anything, *names["agents"].items()]),
        ("space_id", gettext("Space"), [anything, *names["spaces"].items()]),
        (
            "pinned",
            gettext("Pinned"),
            [anything, ("true", gettext("Yes")), ("false", gettext("No"))],
        ),
        ("status", gettext("Status"), list(labels.STATUSES.items())),
        ("sort", gettext("Order"), list(labels.SORTS.items())),
    ]
    if subject := request.query.get("subject"):
        fields.append(("subject", gettext("About"), [anything, (subject, subject)]))
    url, query = request.http.url, request.query
    return [chip(url, query, *field) for field in fields if len(field[2]) > 1]


async def _header(request: dependencies.PageRequest, *, needed: bool) -> dict[str, Any]:
    if not needed:
        return {}
    pending, budget = await asyncio.gather(
        request.app.review.list(request.user_actor, limit=1),
        request.app.memories.budget(request.user_actor),
    )
    return {"budget": budget, "pending": pending.total}


async def _render_form(
    request: dependencies.PageRequest,
    memory_id: str | None = None,
    form: dependencies.Form | None = None,
    error: RemembrancerError | None = None,
) -> Response:
    memory = memory_id and await request.app.memories.get(request.user_actor, memory_id)
    return await render_named(
        request,
        "memories/form.html",
        form=form or dependencies.Form(),
        error=error,
        similar=error.extra["memory_id"] if isinstance(error, SimilarMemoryExists) else None,
        memory=memory,
        selected_space=request.query.get("space_id", ""),
        **_CHOICES,
    )


dependencies.add_forms(router, _render_form)


def _importance(form: dependencies.Form) -> dict[str, float]:
    value = form.get("importance")
    if value is None:
        return {}
    try:
        return {"importance": TypeAdapter(float).validate_python(value.strip()) / 100}
    except ValidationError:
        raise InvalidInput("must be a number from 0 to 100", field="importance") from None


@router.post("")
@dependencies.shows_errors(_render_form)
async def remember(request: dependencies.UserRequest, form: dependencies.CheckedForm) -> Response:
    agent_id = agent_in(form)
    space = form.values("space_id")
    shared = {"visibility": Visibility.SHARED} if space and form.get("shared") else {}
    scope = {"scope": Scope.AGENT} if agent_id is not None and not space else {}
    statement = validate(
        schemas.MemoryCreate,
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
    text = (
        gettext("Remembered.")
        if result.outcome is schemas.Outcome.CREATED
        else gettext("That was known already.")
    )
    if result.scope_changed:
        text += " " + gettext("Every agent can use it, because this agent's scope is global.")
    if result.guard:
        text += " Sensitive content was removed."
    return request.to(f"memories/{result.memory.id}", text)


def agent_in(form: dependencies.Form) -> UUID | None:
    return as_agent_id(form.get("agent_id"), "agent_id")


def as_agent_id(value: str | None, field: str) -> UUID | None:
    try:
        return UUID(value) if value else None
    except ValueError:
        raise InvalidInput("is not the id of an agent", field=field) from None


@router.post("/{memory_id}")
@dependencies.shows_errors(_render_form)
async def update(
    request: dependencies.UserRequest, memory_id: str, form: dependencies.CheckedForm
) -> Response:
    memory = await request.app.memories.get(request.user_actor, memory_id)
    changes = _changes(form, memory)
    if changes:
        update = validate(schemas.MemoryUpdate, **changes, **form.values("expected_version"))
        await request.app.memories.update(request.user_actor, memory_id, update, source=SOURCE)
    return request.to(
        f"memories/{memory_id}",
        gettext("Saved as a new version.") if changes else gettext("Nothing changed."),
    )


def _changes(form: dependencies.Form, memory: schemas.Memory) -> dict[str, Any]:
    """Return the fields that differ: an unchanged field would count as stated again."""
    if form.get("content") is None:
        raise InvalidInput("must not be empty", field="content")
    values = form.values("content", "kind", "category")
    values |= _importance(form) | {"subject": form.get("subject")}
    current = memory.model_dump(mode="json")
    return {name: value for name, value in values.items() if value != current[name]}
