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
from remembrancer.web.dependencies import FORM_CHECK, CheckedForm, Form, PageRequest, UserRequest
from remembrancer.web.memories import SOURCE, agent_and_space_names, can_change

router = APIRouter(prefix="/people/{user_id}/memories/{memory_id}")


class SpaceId(BaseModel):
    """The space that a form names."""

    space_id: UUID


@router.get("")
async def show(request: UserRequest, memory_id: str) -> Response:
    """Show a memory with its history."""
    memory = await request.app.memories.get(request.user_actor, memory_id)
    associations: AssociationPage | None = None
    if memory.status is Status.ACTIVE:
        associations = await request.app.associations.list(request.user_actor, memory_id, limit=20)
    return request.render(
        "memories/one.html",
        memory=memory,
        associations=associations,
        can_change=can_change(request),
        **await agent_and_space_names(request),
    )


@router.post("/forget", dependencies=[FORM_CHECK])
async def forget(request: UserRequest, memory_id: str) -> Response:
    """Forget a memory; it can be restored."""
    memory = await request.app.memories.forget(request.user_actor, memory_id)
    request.notify("Forgotten.", f"{request.base}/memories/{memory_id}/restore")
    return await _changed(request, memory, f"{request.base}/memories")


@router.post("/restore", dependencies=[FORM_CHECK])
async def restore(request: UserRequest, memory_id: str) -> Response:
    """Bring a memory back."""
    memory = await request.app.memories.restore(request.user_actor, memory_id)
    request.notify("Restored.")
    return await _changed(request, memory)


@router.post("/pin")
async def pin(request: UserRequest, memory_id: str, form: CheckedForm) -> Response:
    """Pin a memory, or unpin it."""
    pinned = form.get("pinned") != "false"
    memories = request.app.memories
    memory = await (memories.pin if pinned else memories.unpin)(request.user_actor, memory_id)
    request.notify("Pinned: no budget evicts it." if pinned else "Unpinned.")
    return await _changed(request, memory)


@router.post("/aside", dependencies=[FORM_CHECK])
async def set_aside(request: UserRequest, memory_id: str) -> Response:
    """Set a memory aside; it can be taken into use again."""
    memory = await request.app.memories.deactivate(request.user_actor, memory_id)
    request.notify("Set aside: it is not recalled.", f"{request.base}/memories/{memory_id}/use")
    return await _changed(request, memory)


@router.post("/use", dependencies=[FORM_CHECK])
async def take_into_use(request: UserRequest, memory_id: str) -> Response:
    """Take a memory into use that was set aside."""
    memory = await request.app.memories.activate(request.user_actor, memory_id)
    request.notify("In use again.")
    return await _changed(request, memory)


@router.post("/share")
async def share(request: UserRequest, memory_id: str, form: CheckedForm) -> Response:
    """Share a memory with the members of its space, or of another, or make it private again."""
    if form.get("space_id"):
        return await _put(request, memory_id, form)
    sharing = form.get("visibility") != Visibility.PRIVATE
    visibility = Visibility.SHARED if sharing else Visibility.PRIVATE
    memory = await request.app.facts.set_visibility(request.user_actor, memory_id, visibility)
    request.notify("Shared with the members of its space." if sharing else "Private to you again.")
    in_space = form.get("back") == "space" and memory.space_id is not None
    return await _changed(
        request, memory, f"{request.base}/spaces/{memory.space_id}" if in_space else None
    )


async def _put(request: PageRequest, memory_id: str, form: Form) -> Response:
    space_id = made(SpaceId, **form.values("space_id")).space_id
    written = await request.app.facts.share(request.user_actor, memory_id, space_id, source=SOURCE)
    if written.outcome is Outcome.CREATED:
        undo = f"{request.base}/memories/{written.memory.id}/forget"
        request.notify("Shared with the members of the space. The memory itself stays here.", undo)
    else:
        request.notify("The space knew that already.")
    return request.redirect(f"{request.base}/memories/{memory_id}")


async def _changed(request: PageRequest, memory: Memory, to: str | None = None) -> Response:
    return request.redirect(
        to or f"{request.base}/memories/{memory.id}",
        "memories/changed_row.html" if request.http.headers.get("hx-target") else None,
        memory=memory,
        can_change=can_change(request),
        **await agent_and_space_names(request),
    )


@router.get("/erase")
async def preview_erasure(request: UserRequest, memory_id: str) -> Response:
    """Show what erasing one memory for good would delete."""
    receipt = await request.app.memories.erase(request.user_actor, memory_id)
    return request.render("memories/erase.html", memory_id=memory_id, receipt=receipt, error=None)


@router.post("/erase")
async def erase(request: UserRequest, memory_id: str, form: CheckedForm) -> Response:
    """Erase one memory for good."""
    if (form.get("confirmation") or "").strip() != memory_id:
        receipt = await request.app.memories.erase(request.user_actor, memory_id)
        wrong = InvalidInput("type the id of the memory", field="confirmation")
        return request.render(
            "memories/erase.html", 422, memory_id=memory_id, receipt=receipt, error=wrong
        )
    await request.app.memories.erase(request.user_actor, memory_id, dry_run=False)
    request.notify("Erased for good.")
    return request.redirect(f"{request.base}/memories")
