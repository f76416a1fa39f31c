"""A person's home: a question to their memory, and what is new in it."""

import asyncio
from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from remembrancer.errors import RemembrancerError
from remembrancer.lookup.schemas import Answers
from remembrancer.web.dependencies import PageRequest, UserRequest
from remembrancer.web.marks import Marker

router = APIRouter(prefix="/people/{user_id}")


@router.get("")
async def home(request: UserRequest, q: str = "") -> Response:
    only_answers = request.partial_target == "answer"
    (answers, error), news = await asyncio.gather(
        _answers(request, q.strip()), _news(request, needed=not only_answers)
    )
    return request.render(
        "home/answers.html" if only_answers else "home/page.html",
        error=error,
        answers=answers,
        question=q,
        marker=Marker(q),
        headers=request.history("q"),
        **news,
    )


async def _answers(
    request: PageRequest, question: str
) -> tuple[Answers | None, RemembrancerError | None]:
    try:
        answers = await request.app.lookup.ask(request.user_actor, question) if question else None
    except RemembrancerError as error:
        return None, error
    return answers, None


async def _news(request: PageRequest, *, needed: bool) -> dict[str, Any]:
    if not needed:
        return {}
    digest, pending = await asyncio.gather(
        request.app.lookup.digest(request.user_actor, request.user.time_zone),
        request.app.review.list(request.user_actor, limit=3),
    )
    return {"digest": digest, "pending": pending}
