"""The review page: confirm, edit, reject or share pending memories, one or many at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlencode

from fastapi import APIRouter
from starlette.responses import Response

from remembrancer.errors import InvalidInput, NotFound
from remembrancer.memories.schemas import Category, Kind, Memory
from remembrancer.review.schemas import Decision, ReviewDecision, ReviewOutcome, ReviewResult
from remembrancer.validation import validate
from remembrancer.web import labels
from remembrancer.web.dependencies import CheckedForm, Form, PageRequest, UserRequest
from remembrancer.web.languages import gettext
from remembrancer.web.memories import render_named
from remembrancer.web.sessions import is_partial

router = APIRouter(prefix="/people/{user_id}/review")

PAGE_SIZE: Final = 50
_EDIT: Final = "edit"
_FIELDS: Final = ("content", "kind", "category")


@router.get("")
async def list_pending(
    request: UserRequest, cursor: str | None = None, chosen: str = ""
) -> Response:
    return await _render_list(request, cursor, all_chosen=chosen == "all")


async def _render_list(
    request: PageRequest, cursor: str | None = None, *, all_chosen: bool = False
) -> Response:
    return await render_named(
        request,
        "review/changed.html" if request.partial_target == "waiting" else "review/list.html",
        page=await request.app.review.list(request.user_actor, limit=PAGE_SIZE, cursor=cursor),
        all_chosen=all_chosen,
    )


@router.post("")
async def decide(request: UserRequest, form: CheckedForm) -> Response:
    decision, ids = _decision(form)
    if decision == _EDIT:
        query = urlencode([("memory_id", memory_id) for memory_id in ids])
        return request.redirect(f"{request.base}/review/edit?{query}")
    if decision not in set(Decision):
        raise InvalidInput("must be confirm, edit, reject, share or reopen", field="decision")
    decisions = [validate(ReviewDecision, memory_id=id_, decision=decision) for id_ in ids]
    results = (await request.app.review.decide(request.user_actor, decisions)).items
    if all(result.outcome is ReviewOutcome.NOT_FOUND for result in results):
        raise NotFound("no pending memory with this id", field="memory_id")
    _notify(request, results)
    address = _address(request, form, results)
    if is_partial(request.http) and address == f"{request.base}/review":
        return await _render_list(request)
    return request.redirect(address)


def _decision(form: Form) -> tuple[str, list[str]]:
    """Return the decision and the ids that it is about."""
    if button := form.get("one"):
        decision, _, memory_id = button.partition(":")
        return decision, [memory_id]
    ids = list(dict.fromkeys(form.all("memory_id")))
    if not ids:
        raise InvalidInput("tick at least one memory", field="memory_id")
    return form.get("decision") or "", ids


def _address(request: PageRequest, form: Form, results: Sequence[ReviewResult]) -> str:
    if form.get("back") == "memory" and len(results) == 1 and results[0].now:
        return f"{request.base}/memories/{results[0].now}"
    return f"{request.base}/review"


def _notify(request: PageRequest, results: Sequence[ReviewResult]) -> None:
    groups: dict[ReviewOutcome, list[ReviewResult]] = {}
    for result in results:
        groups.setdefault(result.outcome, []).append(result)
    counts = labels.review_counts({outcome: len(group) for outcome, group in groups.items()})
    reasons = {result.reason for result in groups.get(ReviewOutcome.REFUSED, []) if result.reason}
    if any(result.guard for result in results):
        reasons.add(gettext("sensitive content was removed"))
    rejected = [result.memory_id for result in groups.get(ReviewOutcome.REJECTED, [])]
    request.notify(
        " ".join([counts, *map(labels.sentence, sorted(reasons))]),
        "review" if rejected else None,
        fields=(("decision", Decision.REOPEN), *(("memory_id", id_) for id_ in rejected)),
    )


@dataclass(slots=True)
class Row:
    """A pending memory with the edited values, and what is wrong with them."""

    memory: Memory
    edits: Mapping[str, str] = field(default_factory=dict)
    problem: str | None = None

    def value(self, name: str) -> str:
        return self.edits.get(name, str(getattr(self.memory, name)))


@router.get("/edit")
async def edit(request: UserRequest) -> Response:
    ids = request.query.getlist("memory_id")
    pending = await request.app.review.get(request.user_actor, ids)
    return await _render_edit(request, [Row(memory) for memory in pending])


async def _render_edit(request: PageRequest, rows: Sequence[Row]) -> Response:
    wrong = any(row.problem for row in rows)
    return await render_named(
        request,
        "review/edit.html",
        status=422 if wrong else 200,
        rows=rows,
        wrong=wrong,
        kinds=list(Kind),
        categories=list(Category),
    )


@router.post("/edit")
async def save(request: UserRequest, form: CheckedForm) -> Response:
    pending = await request.app.review.get(request.user_actor, form.all("memory_id"))
    rows = [
        Row(memory, {name: form.get(f"{name}-{memory.id}") or "" for name in _FIELDS})
        for memory in pending
    ]
    decisions = _edit_decisions(rows, form)
    if any(row.problem for row in rows):
        return await _render_edit(request, rows)
    results = (await request.app.review.decide(request.user_actor, decisions)).items
    _notify(request, results)
    by_id = {result.memory_id: result for result in results}
    refused = [row for row in rows if by_id[row.memory.id].outcome is ReviewOutcome.REFUSED]
    if not refused:
        return request.redirect(_address(request, form, results))
    for row in refused:
        row.problem = by_id[row.memory.id].reason
    return await _render_edit(request, refused)


def _edit_decisions(rows: Sequence[Row], form: Form) -> list[ReviewDecision]:
    """Return a decision for each row; a row that is not valid gets its problem instead."""
    decisions: list[ReviewDecision] = []
    for row in rows:
        shares = form.get(f"share-{row.memory.id}") is not None
        values: dict[str, Any] = {n: v for n, v in row.edits.items() if v or n == "content"}
        values["decision"] = Decision.SHARE if shares else Decision.CONFIRM
        try:
            decisions.append(validate(ReviewDecision, memory_id=row.memory.id, **values))
        except InvalidInput as error:
            row.problem = error.reason
    return decisions
