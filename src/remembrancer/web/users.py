"""The admin page about users: list, search, add."""

from typing import Final

from fastapi import APIRouter
from starlette.responses import Response

from remembrancer.errors import RemembrancerError
from remembrancer.users.schemas import ResolveUser
from remembrancer.validation import validate
from remembrancer.web.dependencies import AdminRequest, CheckedForm, Form, PageRequest, shows_errors

router = APIRouter(prefix="/admin/people")

_PAGE_SIZE: Final = 50


async def _render(
    request: PageRequest,
    name: str = "",
    offset: int = 0,
    form: Form | None = None,
    error: RemembrancerError | None = None,
) -> Response:
    users = request.app.users
    return request.render(
        "admin/people.html",
        error=error,
        name=name,
        matches=await users.find_by_name(request.actor, name) if name else None,
        everybody=None
        if name
        else await users.overview(request.actor, limit=_PAGE_SIZE, offset=offset),
        offset=offset,
        size=_PAGE_SIZE,
        form=form or Form(),
    )


@router.get("")
async def list_users(request: AdminRequest, name: str = "", offset: int = 0) -> Response:
    return await _render(request, name.strip(), offset)


@router.post("")
@shows_errors(_render)
async def add(form: CheckedForm, request: AdminRequest) -> Response:
    values = form.values("platform", "platform_user_id", "display_name", "time_zone")
    user = await request.app.users.resolve(request.actor, validate(ResolveUser, **values))
    return request.redirect(f"/people/{user.id}/profile")
