"""Forget many memories at once: those that are ticked, or all that match the filters of a list."""

from uuid import UUID

from fastapi import APIRouter
from starlette.responses import Response

from remembrancer.errors import NotFound
from remembrancer.text import plural
from remembrancer.web.dependencies import CheckedForm, Form, PageRequest, UserRequest
from remembrancer.web.memories import filters_of, list_memories
from remembrancer.web.sessions import is_partial

router = APIRouter(prefix="/people/{user_id}/memories")


@router.get("/forget")
async def preview(request: UserRequest) -> Response:
    filters = filters_of(request)
    counts = await request.app.memories.forget_many(
        request.user_actor, filters=filters, dry_run=True
    )
    back = f"{request.base}/memories?{request.query}"
    return request.render("memories/forget.html", counts=counts, back=back)


@router.post("/forget")
async def forget(request: UserRequest, form: CheckedForm) -> Response:
    memories, actor = request.app.memories, request.user_actor
    if form.get("all"):
        filters = filters_of(request.at(dict(request.way_back(form)).get("back", "")))
        result = await memories.forget_many(actor, filters=filters)
    else:
        result = await memories.forget_many(actor, form.all("memory_id"))
    if result.not_found and not result.memories:
        raise NotFound("no such memory", field="memory_id")
    text = f"{plural(result.memories, 'memory is', 'memories are')} forgotten."
    if result.messages:
        said = plural(result.messages, "message", "messages")
        text += f" {said} that say it left recall and prompts too."
    undo = f"memories/forgets/{result.undo_id}/undo" if result.undo_id else None
    request.notify(text, undo, fields=request.way_back(form))
    return await _list(request, form)


@router.post("/forgets/{undo_id}/undo")
async def undo(request: UserRequest, undo_id: UUID, form: CheckedForm) -> Response:
    result = await request.app.memories.undo_forget(request.user_actor, undo_id)
    text = f"{plural(result.returned, 'memory is', 'memories are')} back."
    if result.stayed:
        text += f" {plural(result.stayed, 'memory', 'memories')} changed since and stayed."
    request.notify(text)
    return await _list(request, form)


async def _list(request: PageRequest, form: Form) -> Response:
    back = dict(request.way_back(form)).get("back", f"{request.base}/memories")
    if is_partial(request.http) and request.partial_target == "results":
        return await list_memories(request.at(back))
    return request.redirect(back)
