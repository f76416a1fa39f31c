"""What waits for a person: confirmed, edited, rejected or shared, one by one or many at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter
from starlette.responses import Response

from remembrancer.errors import InvalidInput, NotFound
from remembrancer.memories.schemas import Category, Kind, Memory
from remembrancer.review.schemas import Decision, ReviewDecision, ReviewOutcome, ReviewResult
from remembrancer.validation import made
from remembrancer.web import labels
from remembrancer.web.dependencies import CheckedForm, Form, PageRequest, UserRequest
from remembrancer.web.memories import agent_and_space_names
from remembrancer.web.pages import is_partial

router = APIRouter(prefix="/people/{user_id}/review")

PAGE = 50
_EDIT = "edit"


@router.get("")
async def list_waiting(
    request: UserRequest, cursor: str | None = None, chosen: str = ""
) -> Response:
    """List what waits, the newest first; with ``chosen=all`` all of it is ticked."""
    return await _list(request, cursor, chosen)


async def _list(request: PageRequest, cursor: str | None = None, chosen: str = "") -> Response:
    page = await request.app.review.list(request.user_actor, limit=PAGE, cursor=cursor)
    return request.render(
        "review/changed.html" if request.partial_target == "waiting" else "review/list.html",
        page=page,
        all_chosen=chosen == "all",
        **await agent_and_space_names(request),
    )


@router.post("")
async def decide(request: UserRequest, form: CheckedForm) -> Response:
    """Do to what is ticked, or to one, what the button says."""
    what, ids = _asked(form)
    if what == _EDIT:
        return request.redirect(
            f"{request.base}/review/edit?{urlencode([('memory_id', i) for i in ids])}"
        )
    if what not in set(Decision):
        raise InvalidInput("must be confirm, edit, reject, share or reopen", field="decision")
    decisions = [made(ReviewDecision, memory_id=i, decision=what) for i in ids]
    done = await request.app.review.decide(request.user_actor, decisions)
    if all(one.outcome is ReviewOutcome.NOT_FOUND for one in done):
        raise NotFound("no such memory waits", field="memory_id")
    _tell(request, done)
    to = _where(request, form, done)
    if is_partial(request.http) and to == f"{request.base}/review":
        return await _list(request)
    return request.redirect(to)


def _asked(form: Form) -> tuple[str, list[str]]:
    """Return what is to be done to which memories: those ticked, or the one of a row's button."""
    if one := form.get("one"):
        what, _, memory_id = one.partition(":")
        return what, [memory_id]
    ids = list(dict.fromkeys(form.all("memory_id")))
    if not ids:
        raise InvalidInput("tick what it is about first", field="memory_id")
    return form.get("decision") or "", ids


def _where(request: PageRequest, form: Form, done: Sequence[ReviewResult]) -> str:
    """Return where to go: to the memory, if that is where it was decided and it is there."""
    if form.get("back") == "memory" and len(done) == 1 and done[0].now:
        return f"{request.base}/memories/{done[0].now}"
    return f"{request.base}/review"


def _tell(request: PageRequest, done: Sequence[ReviewResult]) -> None:
    by_outcome: dict[ReviewOutcome, list[ReviewResult]] = {}
    for one in done:
        by_outcome.setdefault(one.outcome, []).append(one)
    said = labels.reviewed({what: len(some) for what, some in by_outcome.items()})
    reasons = {one.reason for one in by_outcome.get(ReviewOutcome.REFUSED, []) if one.reason}
    if any(one.guard for one in done):
        reasons.add("something that should not be stored was taken out")
    rejected = [one.memory_id for one in by_outcome.get(ReviewOutcome.REJECTED, [])]
    request.notify(
        " ".join([said, *map(labels.sentence, sorted(reasons))]),
        f"{request.base}/review" if rejected else None,
        fields=(("decision", Decision.REOPEN), *(("memory_id", one) for one in rejected)),
    )


@dataclass(slots=True)
class Row:
    """A memory that waits, with what was typed, and what is wrong with that."""

    memory: Memory
    typed: Mapping[str, str] = field(default_factory=dict)
    problem: str | None = None

    def value(self, name: str) -> str:
        """Return what a field shows."""
        return self.typed.get(name, str(getattr(self.memory, name)))


@router.get("/edit")
async def edit(request: UserRequest) -> Response:
    """Show forms for what waits, to be put in other words and confirmed."""
    ids = request.query.getlist("memory_id")
    waiting = await request.app.review.named(request.user_actor, ids)
    return await _edit(request, [Row(one) for one in waiting])


async def _edit(request: PageRequest, rows: Sequence[Row]) -> Response:
    wrong = any(row.problem for row in rows)
    return request.render(
        "review/edit.html",
        422 if wrong else 200,
        rows=rows,
        wrong=wrong,
        kinds=list(Kind),
        categories=list(Category),
        **await agent_and_space_names(request),
    )


@router.post("/edit")
async def save(request: UserRequest, form: CheckedForm) -> Response:
    """Confirm what was edited, as it reads now; what may not be stored is shown again."""
    rows = [
        Row(one, {name: form.get(f"{name}-{one.id}") or "" for name in _FIELDS})
        for one in await request.app.review.named(request.user_actor, form.all("memory_id"))
    ]
    decisions: list[ReviewDecision] = []
    for row in rows:
        shares = form.get(f"share-{row.memory.id}") is not None
        given: dict[str, Any] = {n: v for n, v in row.typed.items() if v or n == "content"}
        given["decision"] = Decision.SHARE if shares else Decision.CONFIRM
        try:
            decisions.append(made(ReviewDecision, memory_id=row.memory.id, **given))
        except InvalidInput as error:
            row.problem = error.reason
    if any(row.problem for row in rows):
        return await _edit(request, rows)
    done = await request.app.review.decide(request.user_actor, decisions)
    by_id = {one.memory_id: one for one in done}
    left = [row for row in rows if by_id[row.memory.id].outcome is ReviewOutcome.REFUSED]
    _tell(request, done)
    if not left:
        return request.redirect(_where(request, form, done))
    for row in left:
        row.problem = by_id[row.memory.id].reason
    return await _edit(request, left)


_FIELDS = ("content", "kind", "category")
