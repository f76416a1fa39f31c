"""A person's memories: the list, one memory with its history, and what is done to one."""

from typing import Any, Final
from uuid import UUID

from fastapi import APIRouter
from pydantic import BaseModel, TypeAdapter, ValidationError
from starlette.responses import Response

from remembrancer.access import Scope, Visibility, may_change
from remembrancer.errors import InvalidInput, RemembrancerError, SimilarMemoryExists
from remembrancer.graph.schemas import AssociationPage
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
from remembrancer.web.visits import About, Checked, Form, OurForm, Visit, wanted

router = APIRouter(prefix="/people/{user_id}/memories")

PAGE: Final = 50
_SOURCE: Final = "web"
_SINGLE: Final = ("subject", "scope", "kept_for", "space_id", "text", "sort")


async def names(here: Visit) -> dict[str, Any]:
    """Return the names of the agents and of the person's spaces, by id."""
    agents = (await here.memory.agents.list(here.actor, limit=200)).items
    spaces = (await here.memory.spaces.list(here.acting, limit=200)).items
    return {
        "agents": {agent.id: agent.name for agent in agents},
        "spaces": {space.id: space.name for space in spaces},
    }


def _filter(here: Visit) -> MemoryFilter:
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


async def _above(here: Visit) -> dict[str, Any]:
    """Return what stands above the list: the budget, and how much waits."""
    waiting = await here.memory.reviewing.waiting(here.acting, limit=1)
    return {
        "budget": await here.memory.memories.budget(here.acting),
        "waiting": waiting.total,
    }


async def _choices(here: Visit) -> dict[str, Any]:
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


def can_change(here: Visit) -> Any:
    """Return what says whether the visitor may change something of somebody's."""

    def check(memory: Any) -> bool:
        return may_change(here.acting, memory.user_id or SHARED_OWNER)

    return check


class SpaceId(BaseModel):
    """The space that a form names."""

    space_id: UUID


@router.get("/new")
async def new(here: About) -> Response:
    """Show an empty form."""
    return await _form(here, Form([]))


async def _form(
    here: Visit,
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
        agent_id = _agent(form)
        actor = here.actor.acting_for(here.user.id, agent_id)
        if agent_id is not None and not space:
            statement = statement.model_copy(update={"scope": Scope.AGENT})
        written = await here.memory.memories.remember(actor, statement, source=_SOURCE)
    except RemembrancerError as error:
        return await _form(here, form, error)
    said = "Remembered." if written.outcome is Outcome.CREATED else "That was known already."
    if written.scope_changed:
        said += " It is kept for every agent: the scope in effect for this agent is global."
    if written.guard:
        said += " Something that should not be stored was taken out."
    here.say(said)
    return here.done(f"{here.base}/memories/{written.memory.id}")


def _agent(form: Form) -> UUID | None:
    value = form.get("agent_id")
    try:
        return UUID(value) if value else None
    except ValueError:
        raise InvalidInput("is not the id of an agent", field="agent_id") from None


@router.get("/{memory_id}")
async def show(here: About, memory_id: str) -> Response:
    """Show a memory with its history."""
    memory = await here.memory.memories.get(here.acting, memory_id)
    links: AssociationPage | None = None
    if memory.status is Status.ACTIVE:
        links = await here.memory.graph.associations(here.acting, memory_id, limit=20)
    return here.page(
        "memories/one.html",
        memory=memory,
        links=links,
        can_change=can_change(here),
        **await names(here),
    )


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
        await here.memory.memories.update(here.acting, memory_id, changes, source=_SOURCE)
    except RemembrancerError as error:
        return await _form(here, form, error, memory)
    here.say("Saved as a new version.")
    return here.done(f"{here.base}/memories/{memory_id}")


@router.post("/{memory_id}/forget", dependencies=[OurForm])
async def forget(here: About, memory_id: str) -> Response:
    """Forget a memory; it can be restored."""
    memory = await here.memory.memories.forget(here.acting, memory_id)
    here.say("Forgotten.", f"{here.base}/memories/{memory_id}/restore")
    return await _changed(here, memory, f"{here.base}/memories")


@router.post("/{memory_id}/restore", dependencies=[OurForm])
async def restore(here: About, memory_id: str) -> Response:
    """Bring a memory back."""
    memory = await here.memory.memories.restore(here.acting, memory_id)
    here.say("Restored.")
    return await _changed(here, memory)


@router.post("/{memory_id}/pin")
async def pin(here: About, memory_id: str, form: Checked) -> Response:
    """Pin a memory, or unpin it."""
    pinned = form.get("pinned") != "false"
    memory = await here.memory.memories.pin(here.acting, memory_id, pinned=pinned)
    here.say("Pinned: no budget evicts it." if pinned else "Unpinned.")
    return await _changed(here, memory)


@router.post("/{memory_id}/aside", dependencies=[OurForm])
async def set_aside(here: About, memory_id: str) -> Response:
    """Set a memory aside; it can be taken into use again."""
    memory = await here.memory.memories.deactivate(here.acting, memory_id)
    here.say("Set aside: it is not recalled.", f"{here.base}/memories/{memory_id}/use")
    return await _changed(here, memory)


@router.post("/{memory_id}/use", dependencies=[OurForm])
async def take_into_use(here: About, memory_id: str) -> Response:
    """Take a memory into use that was set aside."""
    memory = await here.memory.memories.activate(here.acting, memory_id)
    here.say("In use again.")
    return await _changed(here, memory)


@router.post("/{memory_id}/share")
async def share(here: About, memory_id: str, form: Checked) -> Response:
    """Share a memory with the members of its space, or of another, or make it private again."""
    if form.get("space_id"):
        return await _put(here, memory_id, form)
    sharing = form.get("visibility") != Visibility.PRIVATE
    visibility = Visibility.SHARED if sharing else Visibility.PRIVATE
    memory = await here.memory.sharing.set_visibility(here.acting, memory_id, visibility)
    here.say("Shared with the members of its space." if sharing else "Private to you again.")
    in_space = form.get("back") == "space" and memory.space_id is not None
    return await _changed(
        here, memory, f"{here.base}/spaces/{memory.space_id}" if in_space else None
    )


async def _put(here: Visit, memory_id: str, form: Form) -> Response:
    space_id = made(SpaceId, **form.given("space_id")).space_id
    written = await here.memory.sharing.put(here.acting, memory_id, space_id, source=_SOURCE)
    if written.outcome is Outcome.CREATED:
        undo = f"{here.base}/memories/{written.memory.id}/forget"
        here.say("Shared with the members of the space. The memory itself stays here.", undo)
    else:
        here.say("The space knew that already.")
    return here.done(f"{here.base}/memories/{memory_id}")


async def _changed(here: Visit, memory: Memory, to: str | None = None) -> Response:
    return here.done(
        to or f"{here.base}/memories/{memory.id}",
        "memories/changed_row.html" if here.request.headers.get("hx-target") else None,
        memory=memory,
        can_change=can_change(here),
        **await names(here),
    )


@router.get("/{memory_id}/erase")
async def preview_erasure(here: About, memory_id: str) -> Response:
    """Show what erasing one memory for good would delete."""
    receipt = await here.memory.erasure.erase_memory(here.acting, memory_id)
    return here.page("memories/erase.html", memory_id=memory_id, receipt=receipt, error=None)


@router.post("/{memory_id}/erase")
async def erase(here: About, memory_id: str, form: Checked) -> Response:
    """Erase one memory for good."""
    if (form.get("confirmation") or "").strip() != memory_id:
        receipt = await here.memory.erasure.erase_memory(here.acting, memory_id)
        wrong = InvalidInput("type the id of the memory", field="confirmation")
        return here.page(
            "memories/erase.html", 422, memory_id=memory_id, receipt=receipt, error=wrong
        )
    await here.memory.erasure.erase_memory(here.acting, memory_id, dry_run=False)
    here.say("Erased for good.")
    return here.done(f"{here.base}/memories")
