"""Everybody this server knows, for admins."""

from fastapi import APIRouter
from starlette.responses import Response

from remembrancer.access import Role
from remembrancer.errors import RemembrancerError
from remembrancer.users.schemas import ResolveUser
from remembrancer.validation import made
from remembrancer.web.dependencies import Checked, Form, PageRequest, SignedIn

router = APIRouter(prefix="/admin/people")

_PAGE = 50


@router.get("")
async def list_people(here: SignedIn, name: str = "", offset: int = 0) -> Response:
    """List people in the order they came, or those of one name."""
    return await _list(here, name.strip(), offset)


async def _list(
    here: PageRequest,
    name: str,
    offset: int,
    form: Form | None = None,
    error: RemembrancerError | None = None,
) -> Response:
    here.actor.require(Role.ADMIN)
    users = here.memory.users
    named = await users.named(here.actor, name) if name else None
    known = None if name else await users.known(here.actor, limit=_PAGE, offset=offset)
    return here.page(
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
async def add(here: SignedIn, form: Checked) -> Response:
    """Make somebody known by a platform id, or find who it is."""
    try:
        who = made(
            ResolveUser, **form.given("platform", "platform_user_id", "display_name", "time_zone")
        )
        user = await here.memory.users.resolve(here.actor, who)
    except RemembrancerError as error:
        return await _list(here, "", 0, form, error)
    return here.done(f"/people/{user.id}/profile")
