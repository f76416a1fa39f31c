"""A person's home: a question to their memory, and what is new in it."""

import asyncio
from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from remembrancer.errors import RemembrancerError
from remembrancer.lookup.schemas import Answers
from remembrancer.web.dependencies import PageRequest, UserRequest

router = APIRouter(prefix="/people/{user_id}")


@router.get("")
async def home(request: UserRequest, q: str = "") -> Response:
    answers: Answers | None = None
    error: RemembrancerError | None = None
    if q.strip():
        try:
            answers = await request.app.lookup.ask(request.user_actor, q.strip())
        except RemembrancerError as caught:
            error = caught
    only_answers = request.partial_target == "answer"
    return request.render(
        "home/answers.html" if only_answers else "home/page.html",
        error=error,
        answers=answers,
        question=q,
        headers=request.history("q"),
        **({} if only_answers else await _news(request)),
    )


async def _news(request: PageRequest) -> dict[str, Any]:
    digest, pending = await asyncio.gather(
        request.app.lookup.digest(request.user_actor, request.user.time_zone),
        request.app.review.list(request.user_actor, limit=3),
    )
    return {"digest": digest, "pending": pending}
