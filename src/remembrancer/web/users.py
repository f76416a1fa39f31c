"""Everybody this server knows, for admins."""

from fastapi import APIRouter
from starlette.responses import Response

from remembrancer.access import Role
from remembrancer.errors import RemembrancerError
from remembrancer.users.schemas import ResolveUser
from remembrancer.validation import made
from remembrancer.web.dependencies import CheckedForm, Form, PageRequest, SessionRequest

router = APIRouter(prefix="/admin/people")

_PAGE = 50


@router.get("")
async def list_people(request: SessionRequest, name: str = "", offset: int = 0) -> Response:
    """List people in the order they came, or those of one name."""
    return await _list(request, name.strip(), offset)


async def _list(
    request: PageRequest,
    name: str,
    offset: int,
    form: Form | None = None,
    error: RemembrancerError | None = None,
) -> Response:
    request.actor.require(Role.ADMIN)
    users = request.app.users
    named = await users.find_by_name(request.actor, name) if name else None
    known = None if name else await users.known(request.actor, limit=_PAGE, offset=offset)
    return request.render(
        "admin/people.html",
        error.status if error else 200,
        name=name,
        named=named,
        known=known,
        offset=offset,
        size=_PAGE,
        form=form or Form([]),
        error=error,
    )


@router.post("")
async def add(request: SessionRequest, form: CheckedForm) -> Response:
    """Make somebody known by a platform id, or find who it is."""
    try:
        who = made(
            ResolveUser, **form.values("platform", "platform_user_id", "display_name", "time_zone")
        )
        user = await request.app.users.resolve(request.actor, who)
    except RemembrancerError as error:
        return await _list(request, "", 0, form, error)
    return request.redirect(f"/people/{user.id}/profile")
