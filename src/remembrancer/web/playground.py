"""Ask as a person, through an agent, at a time: what would be recalled, and why."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from fastapi import APIRouter
from starlette.responses import Response

from remembrancer.context.schemas import Context, ContextQuery
from remembrancer.errors import InvalidInput, RemembrancerError
from remembrancer.memories.schemas import Kind
from remembrancer.recall.schemas import Mode, RecallAnswer, RecallQuery, Sort
from remembrancer.validation import made
from remembrancer.web.dependencies import PageRequest, UserRequest, non_empty
from remembrancer.web.memories import agent_and_space_names

router = APIRouter(prefix="/people/{user_id}/playground")

SOURCES = ("memory", "message", "chunk")


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a question: what is recalled, and what the model would be handed."""

    recall: RecallAnswer
    context: Context


@router.get("")
async def playground(request: UserRequest) -> Response:
    """Show the form, and the answer if something was asked."""
    query = request.query
    answer: Answer | None = None
    error: RemembrancerError | None = None
    if "query" in query:
        try:
            answer = await _asked(request)
        except RemembrancerError as failed:
            error = failed
    known = await agent_and_space_names(request)
    return request.render(
        "playground/answer.html" if request.partial_target == "answer" else "playground/page.html",
        status=error.status if error else 200,
        answer=answer.recall if answer else None,
        context=answer.context if answer else None,
        error=error,
        query=query,
        modes=list(Mode),
        kinds=list(Kind),
        sorts=list(Sort),
        sources=SOURCES,
        chosen=query.getlist("source") or ["memory", "message"],
        **known,
    )


async def _asked(request: PageRequest) -> Answer:
    query = request.query
    given: dict[str, Any] = dict(non_empty(query, "query", "mode", "sort", "limit"))
    for field, name in (("kinds", "kind"), ("sources", "source")):
        if chosen := [value for value in query.getlist(name) if value]:
            given[field] = chosen
    then: dict[str, Any] = {}
    if query.get("as_of"):
        then["as_of"] = _instant(query["as_of"], request.user.time_zone)
    agent_id = query.get("agent") or None
    try:
        agent = UUID(agent_id) if agent_id else None
    except ValueError:
        raise InvalidInput("is not the id of an agent", field="agent") from None
    actor = request.actor.acting_for(request.user.id, agent)
    recall = await request.app.memories.recall(actor, made(RecallQuery, **given, **then))
    asked = made(ContextQuery, message=given.get("query"), **then)
    return Answer(recall, await request.app.conversations.context(actor, asked))


def _instant(value: str, zone: str) -> datetime:
    """Return the time that a field for local times holds."""
    try:
        return datetime.fromisoformat(value).replace(tzinfo=ZoneInfo(zone))
    except ValueError:
        raise InvalidInput("is not a date with a time", field="as_of") from None
