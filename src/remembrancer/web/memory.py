"""One memory: its page with the history, and what is done to it."""

from uuid import UUID

from fastapi import APIRouter
from pydantic import BaseModel
from starlette.responses import Response

from remembrancer.access import Visibility
from remembrancer.associations.schemas import AssociationPage
from remembrancer.errors import InvalidInput
from remembrancer.memories.schemas import Memory, Outcome, Status
from remembrancer.validation import made
from remembrancer.web.dependencies import About, Checked, Form, OurForm, PageRequest
from remembrancer.web.memories import SOURCE, can_change, names

router = APIRouter(prefix="/people/{user_id}/memories/{memory_id}")


class SpaceId(BaseModel):
    """The space that a form names."""

    space_id: UUID


@router.get("")
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


@router.post("/forget", dependencies=[OurForm])
async def forget(here: About, memory_id: str) -> Response:
    """Forget a memory; it can be restored."""
    memory = await here.memory.memories.forget(here.acting, memory_id)
    here.say("Forgotten.", f"{here.base}/memories/{memory_id}/restore")
    return await _changed(here, memory, f"{here.base}/memories")


@router.post("/restore", dependencies=[OurForm])
async def restore(here: About, memory_id: str) -> Response:
    """Bring a memory back."""
    memory = await here.memory.memories.restore(here.acting, memory_id)
    here.say("Restored.")
    return await _changed(here, memory)


@router.post("/pin")
async def pin(here: About, memory_id: str, form: Checked) -> Response:
    """Pin a memory, or unpin it."""
    pinned = form.get("pinned") != "false"
    memory = await here.memory.memories.pin(here.acting, memory_id, pinned=pinned)
    here.say("Pinned: no budget evicts it." if pinned else "Unpinned.")
    return await _changed(here, memory)


@router.post("/aside", dependencies=[OurForm])
async def set_aside(here: About, memory_id: str) -> Response:
    """Set a memory aside; it can be taken into use again."""
    memory = await here.memory.memories.deactivate(here.acting, memory_id)
    here.say("Set aside: it is not recalled.", f"{here.base}/memories/{memory_id}/use")
    return await _changed(here, memory)


@router.post("/use", dependencies=[OurForm])
async def take_into_use(here: About, memory_id: str) -> Response:
    """Take a memory into use that was set aside."""
    memory = await here.memory.memories.activate(here.acting, memory_id)
    here.say("In use again.")
    return await _changed(here, memory)


@router.post("/share")
async def share(here: About, memory_id: str, form: Checked) -> Response:
    """Share a memory with the members of its space, or of another, or make it private again."""
    if form.get("space_id"):
        return await _put(here, memory_id, form)
    sharing = form.get("visibility") != Visibility.PRIVATE
    visibility = Visibility.SHARED if sharing else Visibility.PRIVATE
    memory = await here.memory.facts.set_visibility(here.acting, memory_id, visibility)
    here.say("Shared with the members of its space." if sharing else "Private to you again.")
    in_space = form.get("back") == "space" and memory.space_id is not None
    return await _changed(
        here, memory, f"{here.base}/spaces/{memory.space_id}" if in_space else None
    )


async def _put(here: PageRequest, memory_id: str, form: Form) -> Response:
    space_id = made(SpaceId, **form.given("space_id")).space_id
    written = await here.memory.facts.put(here.acting, memory_id, space_id, source=SOURCE)
    if written.outcome is Outcome.CREATED:
        undo = f"{here.base}/memories/{written.memory.id}/forget"
        here.say("Shared with the members of the space. The memory itself stays here.", undo)
    else:
        here.say("The space knew that already.")
    return here.done(f"{here.base}/memories/{memory_id}")


async def _changed(here: PageRequest, memory: Memory, to: str | None = None) -> Response:
    return here.done(
        to or f"{here.base}/memories/{memory.id}",
        "memories/changed_row.html" if here.request.headers.get("hx-target") else None,
        memory=memory,
        can_change=can_change(here),
        **await names(here),
    )


@router.get("/erase")
async def preview_erasure(here: About, memory_id: str) -> Response:
    """Show what erasing one memory for good would delete."""
    receipt = await here.memory.erasure.erase_memory(here.acting, memory_id)
    return here.page("memories/erase.html", memory_id=memory_id, receipt=receipt, error=None)


@router.post("/erase")
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
