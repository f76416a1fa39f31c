"""The playground: recall as a user, through an agent, at a time, with the reasons."""

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from fastapi import APIRouter
from starlette.responses import Response

from remembrancer.context.schemas import Context, ContextQuery
from remembrancer.errors import InvalidInput, RemembrancerError
from remembrancer.memories.schemas import Kind
from remembrancer.recall.schemas import Mode, RecallAnswer, RecallQuery, Sort
from remembrancer.validation import validate
from remembrancer.web.dependencies import PageRequest, UserRequest, non_empty
from remembrancer.web.memories import as_agent_id, list_values, render_named

router = APIRouter(prefix="/people/{user_id}/playground")

SOURCES = ("memory", "message", "chunk")


@router.get("")
async def playground(request: UserRequest) -> Response:
    recall: RecallAnswer | None = None
    context: Context | None = None
    error: RemembrancerError | None = None
    if "query" in request.query:
        try:
            recall, context = await _answer(request)
        except RemembrancerError as caught:
            error = caught
    only_answer = request.partial_target == "answer"
    return await render_named(
        request,
        "playground/answer.html" if only_answer else "playground/page.html",
        error=error,
        answer=recall,
        context=context,
        query=request.query,
        modes=list(Mode),
        kinds=list(Kind),
        sorts=list(Sort),
        sources=SOURCES,
        selected=request.query.getlist("source") or ["memory", "message"],
    )


async def _answer(request: PageRequest) -> tuple[RecallAnswer, Context]:
    query = request.query
    values: dict[str, Any] = {
        **non_empty(query, "query", "mode", "sort", "limit"),
        **list_values(request, {"kinds": "kind", "sources": "source"}),
    }
    as_of: dict[str, Any] = {}
    if query.get("as_of"):
        as_of["as_of"] = _local_time(query["as_of"], request.user.time_zone)
    agent_id = as_agent_id(query.get("agent"), "agent")
    actor = request.actor.acting_for(request.user.id, agent_id)
    recall_query = validate(RecallQuery, **values, **as_of)
    context_query = validate(ContextQuery, message=values.get("query"), **as_of)
    # A look at the playground is no use of the memories in it.
    recall = await request.app.memories.recall(actor, recall_query, counts=False)
    context = await request.app.conversations.context(actor, context_query, counts=False)
    return recall, context


def _local_time(value: str, zone: str) -> datetime:
    try:
        return datetime.fromisoformat(value).replace(tzinfo=ZoneInfo(zone))
    except ValueError:
        raise InvalidInput("must be a date with a time", field="as_of") from None
