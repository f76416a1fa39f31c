"""The admin page about shared knowledge: list, forget, restore."""

from fastapi import APIRouter
from starlette.responses import Response

from remembrancer.memories.schemas import MemoryFilter, Status
from remembrancer.validation import validate
from remembrancer.web import dependencies

router = APIRouter(prefix="/admin/shared")


@router.get("")
async def list_shared(
    request: dependencies.AdminRequest, status: str = Status.ACTIVE, cursor: str | None = None
) -> Response:
    filters = validate(MemoryFilter, shared=True, statuses=[status])
    page = await request.app.memories.list(request.actor, filters, limit=50, cursor=cursor)
    return request.render(
        "admin/shared.html",
        page=page,
        selected=filters.statuses[0],
        more=request.next_page(page.next_cursor),
    )


@router.post("/{memory_id}/forget", dependencies=[dependencies.FORM_CHECK])
async def forget(request: dependencies.AdminRequest, memory_id: str) -> Response:
    await request.app.memories.forget(request.actor, memory_id)
    return request.to("shared", "Forgotten for everybody.", f"shared/{memory_id}/restore")


@router.post("/{memory_id}/restore", dependencies=[dependencies.FORM_CHECK])
async def restore(request: dependencies.AdminRequest, memory_id: str) -> Response:
    await request.app.memories.restore(request.actor, memory_id)
    return request.to("shared", "Restored for everybody.")
