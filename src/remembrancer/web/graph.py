"""The page about the associations around a memory, as a picture and as a table."""

from fastapi import APIRouter
from starlette.responses import Response

from remembrancer.errors import InvalidInput
from remembrancer.web.charts import HEIGHT, WIDTH, picture
from remembrancer.web.dependencies import UserRequest

router = APIRouter(prefix="/people/{user_id}/graph")

_MAX_MEMORIES = 24
"""A picture of more memories is hard to read."""


@router.get("")
async def choose(request: UserRequest) -> Response:
    associated = await request.app.lookup.associated(request.user_actor)
    return request.render("graph/choose.html", associated=associated)


@router.get("/{memory_id}")
async def show(request: UserRequest, memory_id: str, depth: int = 2) -> Response:
    if depth not in {1, 2}:
        raise InvalidInput("must be 1 or 2", field="depth")
    around = await request.app.associations.neighbours(
        request.user_actor, memory_id, depth=depth, limit=_MAX_MEMORIES
    )
    return request.render(
        "graph/one.html",
        around=around,
        picture=picture(around),
        width=WIDTH,
        height=HEIGHT,
        depth=depth,
        middle=around.nodes[0],
        contents={(node.user_id, node.id): node.content for node in around.nodes},
    )
