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
from remembrancer.web.dependencies import About, Checked, Form, PageRequest
from remembrancer.web.memories import names

router = APIRouter(prefix="/people/{user_id}/review")

PAGE = 50
_EDIT = "edit"


@router.get("")
async def list_waiting(here: About, cursor: str | None = None, chosen: str = "") -> Response:
    """List what waits, the newest first; with ``chosen=all`` all of it is ticked."""
    return await _list(here, cursor, chosen)


async def _list(here: PageRequest, cursor: str | None = None, chosen: str = "") -> Response:
    page = await here.memory.review.waiting(here.acting, limit=PAGE, cursor=cursor)
    alone = here.partial and here.request.headers.get("hx-target") == "waiting"
    return here.page(
        "review/changed.html" if alone else "review/list.html",
        page=page,
        all_chosen=chosen == "all",
        **await names(here),
    )


@router.post("")
async def decide(here: About, form: Checked) -> Response:
    """Do to what is ticked, or to one, what the button says."""
    what, ids = _asked(form)
    if what == _EDIT:
        return here.done(f"{here.base}/review/edit?{urlencode([('memory_id', i) for i in ids])}")
    if what not in set(Decision):
        raise InvalidInput("must be confirm, edit, reject, share or reopen", field="decision")
    decisions = [made(ReviewDecision, memory_id=i, decision=what) for i in ids]
    done = await here.memory.review.decide(here.acting, decisions)
    if all(one.outcome is ReviewOutcome.NOT_FOUND for one in done):
        raise NotFound("no such memory waits", field="memory_id")
    _tell(here, done)
    to = _where(here, form, done)
    if here.partial and to == f"{here.base}/review":
        return await _list(here)
    return here.done(to)


def _asked(form: Form) -> tuple[str, list[str]]:
    """Return what is to be done to which memories: those ticked, or the one of a row's button."""
    if one := form.get("one"):
        what, _, memory_id = one.partition(":")
        return what, [memory_id]
    ids = list(dict.fromkeys(form.all("memory_id")))
    if not ids:
        raise InvalidInput("tick what it is about first", field="memory_id")
    return form.get("decision") or "", ids


def _where(here: PageRequest, form: Form, done: Sequence[ReviewResult]) -> str:
    """Return where to go: to the memory, if that is where it was decided and it is there."""
    if form.get("back") == "memory" and len(done) == 1 and done[0].now:
        return f"{here.base}/memories/{done[0].now}"
    return f"{here.base}/review"


def _tell(here: PageRequest, done: Sequence[ReviewResult]) -> None:
    by_outcome: dict[ReviewOutcome, list[ReviewResult]] = {}
    for one in done:
        by_outcome.setdefault(one.outcome, []).append(one)
    said = labels.reviewed({what: len(some) for what, some in by_outcome.items()})
    reasons = {one.reason for one in by_outcome.get(ReviewOutcome.REFUSED, []) if one.reason}
    if any(one.guard for one in done):
        reasons.add("something that should not be stored was taken out")
    rejected = [one.memory_id for one in by_outcome.get(ReviewOutcome.REJECTED, [])]
    here.say(
        " ".join([said, *map(labels.sentence, sorted(reasons))]),
        f"{here.base}/review" if rejected else None,
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
async def edit(here: About) -> Response:
    """Show forms for what waits, to be put in other words and confirmed."""
    ids = here.request.query_params.getlist("memory_id")
    waiting = await here.memory.review.named(here.acting, ids)
    return await _edit(here, [Row(one) for one in waiting])


async def _edit(here: PageRequest, rows: Sequence[Row]) -> Response:
    wrong = any(row.problem for row in rows)
    return here.page(
        "review/edit.html",
        422 if wrong else 200,
        rows=rows,
        wrong=wrong,
        kinds=list(Kind),
        categories=list(Category),
        **await names(here),
    )


@router.post("/edit")
async def save(here: About, form: Checked) -> Response:
    """Confirm what was edited, as it reads now; what may not be stored is shown again."""
    rows = [
        Row(one, {name: form.get(f"{name}-{one.id}") or "" for name in _FIELDS})
        for one in await here.memory.review.named(here.acting, form.all("memory_id"))
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
        return await _edit(here, rows)
    done = await here.memory.review.decide(here.acting, decisions)
    by_id = {one.memory_id: one for one in done}
    left = [row for row in rows if by_id[row.memory.id].outcome is ReviewOutcome.REFUSED]
    _tell(here, done)
    if not left:
        return here.done(_where(here, form, done))
    for row in left:
        row.problem = by_id[row.memory.id].reason
    return await _edit(here, left)


_FIELDS = ("content", "kind", "category")
