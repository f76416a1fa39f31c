"""The admin page about the audit log: by person and day, each visit in one line."""

from datetime import UTC, date, datetime, timedelta
from typing import Any, Final
from uuid import UUID

from fastapi import APIRouter
from starlette.responses import Response

from remembrancer.audit.schemas import AuditFilter, AuditLine
from remembrancer.errors import InvalidInput, NotFound, RemembrancerError
from remembrancer.paging import Page
from remembrancer.users.schemas import User
from remembrancer.validation import validate
from remembrancer.web.dependencies import AdminRequest, PageRequest, non_empty
from remembrancer.web.visits import Visit, visits

router = APIRouter(prefix="/admin/audit")

_FIELDS: Final = ("user_id", "actor_user_id", "action", "target_id", "outcome", "entry_point")
_MOST_NAMED: Final = 20
_AT_ONCE: Final = 200
"""Lines of a page: as visits they are far fewer."""


@router.get("")
async def audit_log(request: AdminRequest, cursor: str | None = None) -> Response:
    page: Page[AuditLine] | None = None
    people: list[User] = []
    error: RemembrancerError | None = None
    names: dict[UUID, str] = {}
    try:
        values = non_empty(request.query, *_FIELDS) | _days(request)
        if person := request.query.get("person", "").strip():
            people = await _named(request, person)
            values["user_id"] = _only(people)
        filters = validate(AuditFilter, **values)
        log = request.app.audit
        page = await log.list(request.actor, filters, limit=_AT_ONCE, cursor=cursor)
        names = await log.names(request.actor, page.items)
    except RemembrancerError as caught:
        error = caught
    by_line = request.query.get("lines") == "each"
    lines = page.items if page else []
    return request.render(
        "admin/audit.html",
        error=error,
        visits=[Visit([line]) for line in lines] if by_line else visits(lines),
        people=people if len(people) > 1 else [],
        names=names,
        by_line=by_line,
        query=request.query,
        more=request.next_page(page.next_cursor) if page else None,
    )


def _days(request: PageRequest) -> dict[str, Any]:
    """Return the times at which the first day begins and the last one ends."""
    times: dict[str, Any] = {}
    for name, after in (("since", 0), ("until", 1)):
        if text := request.query.get(name, "").strip():
            try:
                day = date.fromisoformat(text) + timedelta(days=after)
            except (ValueError, OverflowError):
                raise InvalidInput("must be a day, such as 2026-11-29", field=name) from None
            times[name] = datetime(day.year, day.month, day.day, tzinfo=UTC)
    return times


async def _named(request: PageRequest, person: str) -> list[User]:
    """Return the users with an id, a platform id or a name."""
    users, actor = request.app.users, request.actor
    platform, colon, platform_user_id = person.partition(":")
    try:
        if colon and platform and platform_user_id:
            return [await users.find(actor, platform, platform_user_id)]
        return [await users.get(actor, UUID(person))]
    except (NotFound, ValueError):
        return list(await users.find_by_name(actor, person, limit=_MOST_NAMED))


def _only(people: list[User]) -> UUID:
    if len(people) > 1:
        raise InvalidInput("is the name of several people: choose one", field="person")
    if not people:
        raise InvalidInput("is nobody's name, id or platform id", field="person")
    return people[0].id
