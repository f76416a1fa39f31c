"""Forget many memories at once: those that are ticked, or all that match the filters of a list."""

from uuid import UUID

from fastapi import APIRouter
from starlette.responses import Response

from remembrancer.errors import NotFound
from remembrancer.web.dependencies import CheckedForm, Form, PageRequest, UserRequest
from remembrancer.web.languages import counted
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
    text = counted(
        "%(count)s memory is forgotten.", "%(count)s memories are forgotten.", result.memories
    )
    if result.messages:
        text += " " + counted(
            "%(count)s message that says it left recall and prompts too.",
            "%(count)s messages that say it left recall and prompts too.",
            result.messages,
        )
    undo = f"memories/forgets/{result.undo_id}/undo" if result.undo_id else None
    request.notify(text, undo, fields=request.way_back(form))
    return await _list(request, form)


@router.post("/forgets/{undo_id}/undo")
async def undo(request: UserRequest, undo_id: UUID, form: CheckedForm) -> Response:
    result = await request.app.memories.undo_forget(request.user_actor, undo_id)
    text = counted("%(count)s memory is back.", "%(count)s memories are back.", result.returned)
    if result.stayed:
        text += " " + counted(
            "%(count)s memory changed since and stayed.",
            "%(count)s memories changed since and stayed.",
            result.stayed,
        )
    request.notify(text)
    return await _list(request, form)


async def _list(request: PageRequest, form: Form) -> Response:
    back = dict(request.way_back(form)).get("back", f"{request.base}/memories")
    if is_partial(request.http) and request.partial_target == "results":
        return await list_memories(request.at(back))
    return request.redirect(back)
