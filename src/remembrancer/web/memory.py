"""The page about one memory: its history and its actions."""

from typing import Final
from uuid import UUID

from fastapi import APIRouter
from pydantic import BaseModel
from starlette.responses import Response

from remembrancer.access import Visibility
from remembrancer.associations.schemas import Neighbourhood
from remembrancer.errors import InvalidInput, NotFound
from remembrancer.memories.schemas import ForgetResult, Memory, MemoryUpdate, Outcome, Status
from remembrancer.validation import validate
from remembrancer.web import labels
from remembrancer.web.dependencies import (
    FORM_CHECK,
    CheckedForm,
    Form,
    Handler,
    PageRequest,
    UserRequest,
)
from remembrancer.web.languages import gettext, lazy
from remembrancer.web.memories import SOURCE, agent_and_space_names, can_change, render_named

router = APIRouter(prefix="/people/{user_id}/memories/{memory_id}")


_MOST_ASSOCIATED: Final = 20


class SpaceId(BaseModel):
    space_id: UUID


@router.get("")
async def show(request: UserRequest, memory_id: str) -> Response:
    memory = await request.app.memories.get(request.user_actor, memory_id)
    around: Neighbourhood | None = None
    if memory.status is Status.ACTIVE:
        around = await request.app.associations.neighbours(
            request.user_actor, memory_id, depth=1, limit=_MOST_ASSOCIATED
        )
    return await render_named(
        request,
        "memories/one.html",
        memory=memory,
        story=await request.app.lookup.story(request.user_actor, memory),
        around=around,
        contents={(node.user_id, node.id): node.content for node in around.nodes} if around else {},
    )


@router.post("/versions/{number}", dependencies=[FORM_CHECK])
async def bring_back(request: UserRequest, memory_id: str, number: int) -> Response:
    memory = await request.app.memories.get(request.user_actor, memory_id)
    old = next((version for version in memory.versions if version.version == number), None)
    if old is None:
        raise NotFound("no such version", field="number")
    changes = MemoryUpdate(
        content=old.content,
        valid_from=old.valid_from,
        valid_to=old.valid_to,
        expected_version=memory.version,
    )
    await request.app.memories.update(request.user_actor, memory_id, changes, source=SOURCE)
    text = gettext("Version %(number)s is back.", number=number)
    return request.to(
        f"memories/{memory_id}", text, f"memories/{memory_id}/versions/{memory.version}"
    )


_ACTIONS: Final = {
    "forget": ("forget", lazy("Forgotten."), "restore"),
    "restore": ("restore", lazy("Restored."), None),
    "aside": ("deactivate", lazy("Deactivated: it is not recalled."), "use"),
    "use": ("activate", lazy("Activated."), None),
}
"""By path: the method, the notice, and the path of the action that undoes it."""


def _handler(path: str) -> Handler:
    method, notice, undo = _ACTIONS[path]

    async def act(request: UserRequest, memory_id: str, form: CheckedForm) -> Response:
        act_on = getattr(request.app.memories, method)
        memory = await act_on(request.user_actor, memory_id)
        note = labels.forgotten(memory) if isinstance(memory, ForgetResult) else ""
        request.notify(
            f"{notice}{note}",
            undo and f"memories/{memory_id}/{undo}",
            fields=request.way_back(form),
        )
        return await _changed(request, memory, form, "memories" if path == "forget" else None)

    return act


for action in _ACTIONS:
    router.post(f"/{action}")(_handler(action))


@router.post("/pin")
async def pin(request: UserRequest, memory_id: str, form: CheckedForm) -> Response:
    pinned = form.get("pinned") != "false"
    memories = request.app.memories
    memory = await (memories.pin if pinned else memories.unpin)(request.user_actor, memory_id)
    request.notify(
        gettext("Pinned: the budget never evicts it.") if pinned else gettext("Unpinned.")
    )
    return await _changed(request, memory, form)


@router.post("/share")
async def share(request: UserRequest, memory_id: str, form: CheckedForm) -> Response:
    if form.get("space_id"):
        return await _copy_to_space(request, memory_id, form)
    is_private = form.get("visibility") == Visibility.PRIVATE
    visibility = Visibility.PRIVATE if is_private else Visibility.SHARED
    memory = await request.app.facts.set_visibility(request.user_actor, memory_id, visibility)
    request.notify(
        gettext("Private to you again.") if is_private else gettext("Shared with the members.")
    )
    in_space = form.get("back") == "space" and memory.space_id is not None
    path = f"spaces/{memory.space_id}" if in_space else None
    return await _changed(request, memory, form, path)


async def _copy_to_space(request: PageRequest, memory_id: str, form: Form) -> Response:
    space_id = validate(SpaceId, **form.values("space_id")).space_id
    result = await request.app.facts.share(request.user_actor, memory_id, space_id, source=SOURCE)
    undo = None
    text = gettext("The space has this memory already.")
    if result.outcome is Outcome.CREATED:
        undo = f"memories/{result.memory.id}/forget"
        text = gettext("Copied to the space. Its members can see the copy.")
    return request.to(f"memories/{memory_id}", text, undo)


async def _changed(
    request: PageRequest, memory: Memory, form: Form, path: str | None = None
) -> Response:
    back = dict(request.way_back(form)).get("back")
    return request.redirect(
        back or f"{request.base}/{path or f'memories/{memory.id}'}",
        "memories/changed_row.html" if request.partial_target else None,
        memory=memory,
        can_change=can_change(request),
        **await agent_and_space_names(request),
    )


@router.get("/erase")
async def preview_erasure(request: UserRequest, memory_id: str) -> Response:
    return await _render_erasure(request, memory_id)


async def _render_erasure(
    request: PageRequest, memory_id: str, error: InvalidInput | None = None
) -> Response:
    receipt = await request.app.memories.erase(request.user_actor, memory_id)
    return request.render("memories/erase.html", error=error, memory_id=memory_id, receipt=receipt)


@router.post("/erase")
async def erase(request: UserRequest, memory_id: str, form: CheckedForm) -> Response:
    if (form.get("confirmation") or "").strip() != memory_id:
        error = InvalidInput("type the id of the memory", field="confirmation")
        return await _render_erasure(request, memory_id, error)
    await request.app.memories.erase(request.user_actor, memory_id, dry_run=False)
    return request.to("memories", gettext("Erased permanently."))
