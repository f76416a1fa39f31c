"""The admin page about the audit log: by person and day, each visit in one line."""

from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta
from typing import Final
from uuid import UUID
from zoneinfo import ZoneInfo

from fastapi import APIRouter
from starlette.responses import Response

from remembrancer.audit.schemas import AuditFilter, AuditLine
from remembrancer.errors import InvalidInput, RemembrancerError
from remembrancer.paging import Page
from remembrancer.validation import validate
from remembrancer.web.dependencies import AdminRequest, PageRequest, non_empty
from remembrancer.web.languages import gettext
from remembrancer.web.pages import zone_of
from remembrancer.web.people import person_in
from remembrancer.web.visits import Visit, visits

router = APIRouter(prefix="/admin/audit")

_FIELDS: Final = ("actor_user_id", "action", "target_id", "outcome", "entry_point")
_MOST_IDS: Final = 20
"""Ids of a line that the page shows; the log itself has all of them."""
_AT_ONCE: Final = 100
"""Lines of a page: as visits they are far fewer."""


@router.get("")
async def audit_log(request: AdminRequest, cursor: str | None = None) -> Response:
    page: Page[AuditLine] | None = None
    person: str | None = None
    error: RemembrancerError | None = None
    try:
        values = non_empty(request.query, *_FIELDS) | _days(request)
        if person := await person_in(request, request.query):
            values["user_id"] = person
        filters = validate(AuditFilter, **values)
        page = await request.app.audit.list(request.actor, filters, limit=_AT_ONCE, cursor=cursor)
    except RemembrancerError as caught:
        error = caught
    lines = page.items if page else []
    by_line = request.query.get("lines") == "each"
    named = await request.app.names.of(request.actor, [person, *_named_ids(lines)])

    def owner_names(ids: Sequence[UUID]) -> list[str]:
        return [named[str(id_)].name if str(id_) in named else gettext("a person") for id_ in ids]

    typed = request.query.get("person", "").strip()
    return request.render(
        "admin/audit.html",
        error=error,
        visits=[Visit([line]) for line in lines] if by_line else visits(lines),
        named=named,
        chosen="" if error else person or "",
        typed=typed or (named[person].name if person and person in named else person or ""),
        by_line=by_line,
        query=request.query,
        most=_MOST_IDS,
        owner_names=owner_names,
        more=request.next_page(page.next_cursor) if page else None,
    )


def _named_ids(lines: Sequence[AuditLine]) -> Iterator[object]:
    for line in lines:
        yield from (line.user_id, line.actor_user_id, line.actor_agent_id, line.actor_key_id)
        yield from line.target_ids[:_MOST_IDS]


def _days(request: PageRequest) -> dict[str, datetime]:
    """Return the times at which the first day begins and the last one ends."""
    times: dict[str, datetime] = {}
    zone = ZoneInfo(zone_of(request.http))
    for name, after in (("since", 0), ("until", 1)):
        if text := request.query.get(name, "").strip():
            try:
                day = date.fromisoformat(text) + timedelta(days=after)
            except (ValueError, OverflowError):
                raise InvalidInput("must be a day, such as 2026-11-29", field=name) from None
            times[name] = datetime(day.year, day.month, day.day, tzinfo=zone)
    return times
