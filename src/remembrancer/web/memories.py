"""A person's memories: the list, and the forms that add to it and change what it says."""

import asyncio
from typing import Any, Final
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
from remembrancer.validation import made
from remembrancer.web.dependencies import CheckedForm, Form, PageRequest, UserRequest, non_empty

router = APIRouter(prefix="/people/{user_id}/memories")

PAGE: Final = 50
SOURCE: Final = "web"
_SINGLE: Final = ("subject", "scope", "kept_for", "space_id", "text", "sort")


async def agent_and_space_names(request: PageRequest) -> dict[str, Any]:
    """Return the names of the agents and of the person's spaces, by id."""
    agents = (await request.app.agents.list(request.actor, limit=200)).items
    spaces = (await request.app.spaces.list(request.user_actor, limit=200)).items
    return {
        "agents": {agent.id: agent.name for agent in agents},
        "spaces": {space.id: space.name for space in spaces},
    }


def _filter(request: PageRequest) -> MemoryFilter:
    query = request.query
    given: dict[str, Any] = dict(non_empty(query, *_SINGLE))
    for field, name in (("kinds", "kind"), ("categories", "category"), ("statuses", "status")):
        if chosen := [value for value in query.getlist(name) if value]:
            given[field] = chosen
    if query.get("pinned"):
        given["pinned"] = query["pinned"] == "true"
    return made(MemoryFilter, **given)


@router.get("")
async def list_memories(request: UserRequest, cursor: str | None = None) -> Response:
    """List memories, by what is asked for in the address."""
    asked = _filter(request)
    page = await request.app.memories.list(request.user_actor, asked, limit=PAGE, cursor=cursor)
    parts = {"results": "memories/results.html", "more": "memories/rows.html"}
    template = parts.get(request.partial_target or "")
    above = {} if template else await _above(request)
    return request.render(
        template or "memories/list.html",
        page=page,
        asked=asked,
        filtered=asked != MemoryFilter(sort=asked.sort),
        more=request.next_page(page.next_cursor),
        can_change=can_change(request),
        **above,
        **await _choices(request),
    )


async def _above(request: PageRequest) -> dict[str, Any]:
    """Return what stands above the list: the budget, and how much waits."""
    waiting, budget = await asyncio.gather(
        request.app.review.list(request.user_actor, limit=1),
        request.app.memories.budget(request.user_actor),
    )
    return {"budget": budget, "waiting": waiting.total}


async def _choices(request: PageRequest) -> dict[str, Any]:
    return {
        "kinds": list(Kind),
        "categories": list(Category),
        "statuses": list(Status),
        "sorts": {
            SortBy.RECENT: "Newest",
            SortBy.IMPORTANCE: "Most important",
            SortBy.MOST_ACCESSED: "Most recalled",
        },
        **await agent_and_space_names(request),
    }


def can_change(request: PageRequest) -> Any:
    """Return what says whether the visitor may change something of somebody's."""

    def check(memory: Any) -> bool:
        return may_change(request.user_actor, memory.user_id or SHARED_OWNER)

    return check


@router.get("/new")
async def new(request: UserRequest) -> Response:
    """Show an empty form."""
    return await _form(request, Form([]))


async def _form(
    request: PageRequest,
    form: Form,
    error: RemembrancerError | None = None,
    memory: Memory | None = None,
) -> Response:
    return request.render(
        "memories/form.html",
        status=error.status if error else 200,
        form=form,
        error=error,
        similar=error.extra["memory_id"] if isinstance(error, SimilarMemoryExists) else None,
        memory=memory,
        chosen_space=request.query.get("space_id", ""),
        **await _choices(request),
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
    """Remember a statement."""
    try:
        space = form.values("space_id")
        shared = {"visibility": Visibility.SHARED} if space and form.get("shared") else {}
        statement = made(
            MemoryCreate,
            **form.values("content", "kind", "category", "subject"),
            **_importance(form),
            **space,
            **shared,
            pinned=form.get("pinned") is not None,
            allow_similar=form.get("allow_similar") is not None,
        )
        agent_id = agent_of(form)
        actor = request.actor.acting_for(request.user.id, agent_id)
        if agent_id is not None and not space:
            statement = statement.model_copy(update={"scope": Scope.AGENT})
        written = await request.app.memories.remember(actor, statement, source=SOURCE)
    except RemembrancerError as error:
        return await _form(request, form, error)
    said = "Remembered." if written.outcome is Outcome.CREATED else "That was known already."
    if written.scope_changed:
        said += " It is kept for every agent: the scope in effect for this agent is global."
    if written.guard:
        said += " Something that should not be stored was taken out."
    request.notify(said)
    return request.redirect(f"{request.base}/memories/{written.memory.id}")


def agent_of(form: Form) -> UUID | None:
    """Return the agent that a form names, if any."""
    value = form.get("agent_id")
    try:
        return UUID(value) if value else None
    except ValueError:
        raise InvalidInput("is not the id of an agent", field="agent_id") from None


@router.get("/{memory_id}/edit")
async def edit(request: UserRequest, memory_id: str) -> Response:
    """Show the form that makes a new version."""
    memory = await request.app.memories.get(request.user_actor, memory_id)
    return await _form(request, Form([]), memory=memory)


@router.post("/{memory_id}")
async def update(request: UserRequest, memory_id: str, form: CheckedForm) -> Response:
    """Make a new version; what was there before stays in the history."""
    memory = await request.app.memories.get(request.user_actor, memory_id)
    try:
        given = form.values("content", "kind", "category")
        given |= _importance(form) | {"subject": form.get("subject")}
        was = memory.model_dump(mode="json")
        # What stays as it was would count as said anew.
        given = {name: value for name, value in given.items() if value != was[name]}
        if form.get("content") is None:
            raise InvalidInput("is empty", field="content")
        if not given:
            request.notify("Nothing was changed.")
            return request.redirect(f"{request.base}/memories/{memory_id}")
        changes = made(MemoryUpdate, **given, **form.values("expected_version"))
        await request.app.memories.update(request.user_actor, memory_id, changes, source=SOURCE)
    except RemembrancerError as error:
        return await _form(request, form, error, memory)
    request.notify("Saved as a new version.")
    return request.redirect(f"{request.base}/memories/{memory_id}")
