"""A person's memory over time: what was known at the end of a day, and what changed since."""

from datetime import date

from fastapi import APIRouter
from starlette.responses import Response

from remembrancer.errors import InvalidInput
from remembrancer.lookup.schemas import Timeline
from remembrancer.web.charts import columns
from remembrancer.web.dependencies import UserRequest

router = APIRouter(prefix="/people/{user_id}/timeline")


@router.get("")
async def show(request: UserRequest, as_of: str = "", limit: int = 50) -> Response:
    error: InvalidInput | None = None
    day: date | None = None
    try:
        day = date.fromisoformat(as_of) if as_of else None
    except ValueError:
        error = InvalidInput("must be a date such as 2026-05-31", field="as_of")
    timeline: Timeline = await request.app.lookup.timeline(
        request.user_actor, request.user.time_zone, day, limit=limit
    )
    only_state = request.partial_target == "state"
    return request.render(
        "timeline/state.html" if only_state else "timeline/page.html",
        error=error,
        timeline=timeline,
        limit=limit,
        chart=columns(timeline.spans, timeline.as_of),
        headers=request.history("as_of"),
    )
