"""A person's spaces: what they are about, who is in them, and what is shared there."""

from typing import Final
from uuid import UUID

from fastapi import APIRouter
from starlette.responses import Response

from remembrancer.access import SpaceRole, may_manage
from remembrancer.errors import RemembrancerError
from remembrancer.spaces.schemas import MemberAdd, MemberUpdate, SpaceCreate, SpaceUpdate
from remembrancer.validation import made
from remembrancer.web.dependencies import About, Checked, Form, OurForm, PageRequest
from remembrancer.web.memories import can_change, names

router = APIRouter(prefix="/people/{user_id}/spaces")

SHOWN: Final = 30
_LEFT: Final = "The membership has ended. What was told there still belongs to who told it."


@router.get("")
async def list_spaces(here: About, cursor: str | None = None) -> Response:
    """List the spaces that the person is a member of."""
    return await _list(here, cursor)


async def _list(
    here: PageRequest,
    cursor: str | None = None,
    form: Form | None = None,
    error: RemembrancerError | None = None,
) -> Response:
    page = await here.memory.spaces.list(here.acting, limit=50, cursor=cursor)
    status = error.status if error else 200
    return here.page("spaces/list.html", status, page=page, form=form or Form([]), error=error)


@router.post("")
async def create(here: About, form: Checked) -> Response:
    """Make a space; who makes it is its owner."""
    try:
        wanted = made(SpaceCreate, **form.given("name", "description"))
        space = await here.memory.spaces.create(here.acting, wanted)
    except RemembrancerError as error:
        return await _list(here, None, form, error)
    here.say(f"{space.name} is made. Add members, so that they see what is shared in it.")
    return here.done(f"{here.base}/spaces/{space.id}")


@router.get("/{space_id}")
async def show(here: About, space_id: UUID, cursor: str | None = None) -> Response:
    """Show a space: its members, and what is told in it."""
    return await _show(here, space_id, cursor=cursor)


async def _show(
    here: PageRequest,
    space_id: UUID,
    *,
    cursor: str | None = None,
    form: Form | None = None,
    error: RemembrancerError | None = None,
) -> Response:
    services = here.memory
    space = await services.spaces.get(here.acting, space_id)
    return here.page(
        "spaces/one.html",
        error.status if error else 200,
        space=space,
        manages=may_manage(space.role),
        roles=list(SpaceRole),
        members=await services.spaces.members(here.acting, space_id, limit=100, cursor=cursor),
        told=await services.facts.list(here.acting, space_id, limit=SHOWN),
        can_change=can_change(here),
        form=form or Form([]),
        error=error,
        **await names(here),
    )


@router.post("/{space_id}")
async def change(here: About, space_id: UUID, form: Checked) -> Response:
    """Change the name or description of a space."""
    try:
        emptied = {"name": "", "description": ""}
        wanted = made(SpaceUpdate, **emptied | form.given("name", "description"))
        space = await here.memory.spaces.update(here.acting, space_id, wanted)
    except RemembrancerError as error:
        return await _again(here, space_id, form, error)
    here.say(f"{space.name} is saved.")
    return here.done(f"{here.base}/spaces/{space_id}")


async def _again(
    here: PageRequest, space_id: UUID, form: Form, error: RemembrancerError
) -> Response:
    """Show the space with what is wrong, unless there is no space to show."""
    if error.status == 403 or (error.status == 404 and error.field != "user_id"):
        raise error
    return await _show(here, space_id, form=form, error=error)


@router.post("/{space_id}/delete", dependencies=[OurForm])
async def delete(here: About, space_id: UUID) -> Response:
    """Delete an empty space; it can be brought back."""
    space = await here.memory.spaces.get(here.acting, space_id)
    try:
        await here.memory.spaces.delete(here.acting, space_id)
    except RemembrancerError as error:
        if error.status != 409:
            raise
        return await _show(here, space_id, error=error)
    here.say(f"{space.name} is deleted.", f"{here.base}/spaces/{space_id}/restore")
    return here.done(f"{here.base}/spaces")


@router.post("/{space_id}/restore", dependencies=[OurForm])
async def restore(here: About, space_id: UUID) -> Response:
    """Bring a deleted space back, with its members."""
    space = await here.memory.spaces.restore(here.acting, space_id)
    here.say(f"{space.name} is back.")
    return here.done(f"{here.base}/spaces/{space_id}")


@router.post("/{space_id}/leave", dependencies=[OurForm])
async def leave(here: About, space_id: UUID) -> Response:
    """End one's own membership; who was the last one can bring the space back."""
    space = await here.memory.spaces.get(here.acting, space_id)
    try:
        await here.memory.spaces.leave(here.acting, space_id)
    except RemembrancerError as error:
        return await _again(here, space_id, Form([]), error)
    alone = space.member_count == 1
    here.say(
        f"{space.name} is deleted: nobody is left in it." if alone else _LEFT,
        f"{here.base}/spaces/{space_id}/restore" if alone else None,
    )
    return here.done(f"{here.base}/spaces")


@router.post("/{space_id}/members")
async def add_member(here: About, space_id: UUID, form: Checked) -> Response:
    """Let somebody join, by the id on their profile."""
    try:
        wanted = made(MemberAdd, **form.given("user_id", "role"))
        member = await here.memory.spaces.add_member(here.acting, space_id, wanted)
    except RemembrancerError as error:
        return await _again(here, space_id, form, error)
    here.say(f"{member.display_name} is a member now and sees what is shared.")
    return here.done(f"{here.base}/spaces/{space_id}")


@router.post("/{space_id}/members/{member_id}")
async def change_member(here: About, space_id: UUID, member_id: UUID, form: Checked) -> Response:
    """Give a member another role, or hand one's own over."""
    try:
        handing = form.get("role") == "hand_over"
        given = {"role": SpaceRole.OWNER, "hand_over": True} if handing else form.given("role")
        wanted = made(MemberUpdate, **given)
        member = await here.memory.spaces.change_member(here.acting, space_id, member_id, wanted)
    except RemembrancerError as error:
        return await _again(here, space_id, form, error)
    here.say(
        f"{member.display_name} is {'an owner' if may_manage(member.role) else 'a member'} now."
    )
    return here.done(f"{here.base}/spaces/{space_id}")


@router.post("/{space_id}/members/{member_id}/remove")
async def remove_member(here: About, space_id: UUID, member_id: UUID, form: Checked) -> Response:
    """End somebody's membership; who did it can take them in again."""
    try:
        await here.memory.spaces.remove_member(here.acting, space_id, member_id)
    except RemembrancerError as error:
        return await _again(here, space_id, form, error)
    here.say(
        "They are no longer in it, and see nothing of it.",
        f"{here.base}/spaces/{space_id}/members",
        fields=(("user_id", str(member_id)), ("role", form.get("role") or SpaceRole.MEMBER)),
    )
    return here.done(f"{here.base}/spaces/{space_id}")
