"""The pages about associations: all of a person's memories that have some, or those around one."""

from fastapi import APIRouter
from starlette.responses import Response

from remembrancer.errors import InvalidInput
from remembrancer.memories.schemas import MemoryFilter
from remembrancer.validation import validate
from remembrancer.web.dependencies import UserRequest

router = APIRouter(prefix="/people/{user_id}/graph")

_MAX_AROUND = 60


@router.get("")
async def whole(request: UserRequest, text: str = "") -> Response:
    filters = validate(MemoryFilter, text=text.strip() or None)
    graph = await request.app.lookup.graph(request.user_actor, filters.text)
    return request.render("graph/whole.html", graph=graph, text=filters.text)


@router.get("/{memory_id}")
async def around(request: UserRequest, memory_id: str, depth: int = 2) -> Response:
    if depth not in {1, 2}:
        raise InvalidInput("must be 1 or 2", field="depth")
    graph = await request.app.associations.neighbours(
        request.user_actor, memory_id, depth=depth, limit=_MAX_AROUND
    )
    return request.render("graph/around.html", graph=graph, depth=depth, middle=graph.nodes[0])
