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
from remembrancer.web.dependencies import About, Checked, Form, PageRequest, wanted

router = APIRouter(prefix="/people/{user_id}/memories")

PAGE: Final = 50
SOURCE: Final = "web"
_SINGLE: Final = ("subject", "scope", "kept_for", "space_id", "text", "sort")


async def names(here: PageRequest) -> dict[str, Any]:
    """Return the names of the agents and of the person's spaces, by id."""
    agents = (await here.memory.agents.list(here.actor, limit=200)).items
    spaces = (await here.memory.spaces.list(here.acting, limit=200)).items
    return {
        "agents": {agent.id: agent.name for agent in agents},
        "spaces": {space.id: space.name for space in spaces},
    }


def _filter(here: PageRequest) -> MemoryFilter:
    query = here.request.query_params
    given: dict[str, Any] = dict(wanted(query, *_SINGLE))
    for field, name in (("kinds", "kind"), ("categories", "category"), ("statuses", "status")):
        if chosen := [value for value in query.getlist(name) if value]:
            given[field] = chosen
    if query.get("pinned"):
        given["pinned"] = query["pinned"] == "true"
    return made(MemoryFilter, **given)


@router.get("")
async def list_memories(here: About, cursor: str | None = None) -> Response:
    """List memories, by what is asked for in the address."""
    asked = _filter(here)
    page = await here.memory.memories.list(here.acting, asked, limit=PAGE, cursor=cursor)
    more = here.request.url.include_query_params(cursor=page.next_cursor)
    target = here.request.headers.get("hx-target") if here.partial else None
    parts = {"results": "memories/results.html", "more": "memories/rows.html"}
    template = parts.get(target or "")
    above = {} if template else await _above(here)
    return here.page(
        template or "memories/list.html",
        page=page,
        asked=asked,
        filtered=asked != MemoryFilter(sort=asked.sort),
        more=f"{more.path}?{more.query}" if page.next_cursor else None,
        can_change=can_change(here),
        **above,
        **await _choices(here),
    )


async def _above(here: PageRequest) -> dict[str, Any]:
    """Return what stands above the list: the budget, and how much waits."""
    waiting, budget = await asyncio.gather(
        here.memory.review.waiting(here.acting, limit=1),
        here.memory.memories.budget(here.acting),
    )
    return {"budget": budget, "waiting": waiting.total}


async def _choices(here: PageRequest) -> dict[str, Any]:
    return {
        "kinds": list(Kind),
        "categories": list(Category),
        "statuses": list(Status),
        "sorts": {
            SortBy.RECENT: "Newest",
            SortBy.IMPORTANCE: "Most important",
            SortBy.MOST_ACCESSED: "Most recalled",
        },
        **await names(here),
    }


def can_change(here: PageRequest) -> Any:
    """Return what says whether the visitor may change something of somebody's."""

    def check(memory: Any) -> bool:
        return may_change(here.acting, memory.user_id or SHARED_OWNER)

    return check


@router.get("/new")
async def new(here: About) -> Response:
    """Show an empty form."""
    return await _form(here, Form([]))


async def _form(
    here: PageRequest,
    form: Form,
    error: RemembrancerError | None = None,
    memory: Memory | None = None,
) -> Response:
    return here.page(
        "memories/form.html",
        status=error.status if error else 200,
        form=form,
        error=error,
        similar=error.extra["memory_id"] if isinstance(error, SimilarMemoryExists) else None,
        memory=memory,
        chosen_space=here.request.query_params.get("space_id", ""),
        **await _choices(here),
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
async def remember(here: About, form: Checked) -> Response:
    """Remember a statement."""
    try:
        space = form.given("space_id")
        shared = {"visibility": Visibility.SHARED} if space and form.get("shared") else {}
        statement = made(
            MemoryCreate,
            **form.given("content", "kind", "category", "subject"),
            **_importance(form),
            **space,
            **shared,
            pinned=form.get("pinned") is not None,
            allow_similar=form.get("allow_similar") is not None,
        )
        agent_id = agent_of(form)
        actor = here.actor.acting_for(here.user.id, agent_id)
        if agent_id is not None and not space:
            statement = statement.model_copy(update={"scope": Scope.AGENT})
        written = await here.memory.memories.remember(actor, statement, source=SOURCE)
    except RemembrancerError as error:
        return await _form(here, form, error)
    said = "Remembered." if written.outcome is Outcome.CREATED else "That was known already."
    if written.scope_changed:
        said += " It is kept for every agent: the scope in effect for this agent is global."
    if written.guard:
        said += " Something that should not be stored was taken out."
    here.say(said)
    return here.done(f"{here.base}/memories/{written.memory.id}")


def agent_of(form: Form) -> UUID | None:
    """Return the agent that a form names, if any."""
    value = form.get("agent_id")
    try:
        return UUID(value) if value else None
    except ValueError:
        raise InvalidInput("is not the id of an agent", field="agent_id") from None


@router.get("/{memory_id}/edit")
async def edit(here: About, memory_id: str) -> Response:
    """Show the form that makes a new version."""
    memory = await here.memory.memories.get(here.acting, memory_id)
    return await _form(here, Form([]), memory=memory)


@router.post("/{memory_id}")
async def update(here: About, memory_id: str, form: Checked) -> Response:
    """Make a new version; what was there before stays in the history."""
    memory = await here.memory.memories.get(here.acting, memory_id)
    try:
        given = form.given("content", "kind", "category")
        given |= _importance(form) | {"subject": form.get("subject")}
        was = memory.model_dump(mode="json")
        # What stays as it was would count as said anew.
        given = {name: value for name, value in given.items() if value != was[name]}
        if form.get("content") is None:
            raise InvalidInput("is empty", field="content")
        if not given:
            here.say("Nothing was changed.")
            return here.done(f"{here.base}/memories/{memory_id}")
        changes = made(MemoryUpdate, **given, **form.given("expected_version"))
        await here.memory.memories.update(here.acting, memory_id, changes, source=SOURCE)
    except RemembrancerError as error:
        return await _form(here, form, error, memory)
    here.say("Saved as a new version.")
    return here.done(f"{here.base}/memories/{memory_id}")
