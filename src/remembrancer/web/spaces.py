"""A person's spaces: what they are about, who is in them, and what is shared there."""

from typing import Final
from uuid import UUID

from fastapi import APIRouter
from starlette.responses import Response

from remembrancer.access import SpaceRole, may_manage
from remembrancer.errors import RemembrancerError
from remembrancer.spaces.schemas import MemberAdd, MemberUpdate, SpaceCreate, SpaceUpdate
from remembrancer.validation import made
from remembrancer.web.dependencies import FORM_CHECK, CheckedForm, Form, PageRequest, UserRequest
from remembrancer.web.memories import agent_and_space_names, can_change

router = APIRouter(prefix="/people/{user_id}/spaces")

SHOWN: Final = 30
_LEFT: Final = "The membership has ended. What was told there still belongs to who told it."


@router.get("")
async def list_spaces(request: UserRequest, cursor: str | None = None) -> Response:
    """List the spaces that the person is a member of."""
    return await _list(request, cursor)


async def _list(
    request: PageRequest,
    cursor: str | None = None,
    form: Form | None = None,
    error: RemembrancerError | None = None,
) -> Response:
    page = await request.app.spaces.list(request.user_actor, limit=50, cursor=cursor)
    status = error.status if error else 200
    return request.render("spaces/list.html", status, page=page, form=form or Form([]), error=error)


@router.post("")
async def create(request: UserRequest, form: CheckedForm) -> Response:
    """Make a space; who makes it is its owner."""
    try:
        wanted = made(SpaceCreate, **form.values("name", "description"))
        space = await request.app.spaces.create(request.user_actor, wanted)
    except RemembrancerError as error:
        return await _list(request, None, form, error)
    request.notify(f"{space.name} is made. Add members, so that they see what is shared in it.")
    return request.redirect(f"{request.base}/spaces/{space.id}")


@router.get("/{space_id}")
async def show(request: UserRequest, space_id: UUID, cursor: str | None = None) -> Response:
    """Show a space: its members, and what is told in it."""
    return await _show(request, space_id, cursor=cursor)


async def _show(
    request: PageRequest,
    space_id: UUID,
    *,
    cursor: str | None = None,
    form: Form | None = None,
    error: RemembrancerError | None = None,
) -> Response:
    services = request.app
    space = await services.spaces.get(request.user_actor, space_id)
    return request.render(
        "spaces/one.html",
        error.status if error else 200,
        space=space,
        manages=may_manage(space.role),
        roles=list(SpaceRole),
        members=await services.spaces.members(
            request.user_actor, space_id, limit=100, cursor=cursor
        ),
        told=await services.spaces.memories(request.user_actor, space_id, limit=SHOWN),
        can_change=can_change(request),
        form=form or Form([]),
        error=error,
        **await agent_and_space_names(request),
    )


@router.post("/{space_id}")
async def change(request: UserRequest, space_id: UUID, form: CheckedForm) -> Response:
    """Change the name or description of a space."""
    try:
        emptied = {"name": "", "description": ""}
        wanted = made(SpaceUpdate, **emptied | form.values("name", "description"))
        space = await request.app.spaces.update(request.user_actor, space_id, wanted)
    except RemembrancerError as error:
        return await _again(request, space_id, form, error)
    request.notify(f"{space.name} is saved.")
    return request.redirect(f"{request.base}/spaces/{space_id}")


async def _again(
    request: PageRequest, space_id: UUID, form: Form, error: RemembrancerError
) -> Response:
    """Show the space with what is wrong, unless there is no space to show."""
    if error.status == 403 or (error.status == 404 and error.field != "user_id"):
        raise error
    return await _show(request, space_id, form=form, error=error)


@router.post("/{space_id}/delete", dependencies=[FORM_CHECK])
async def delete(request: UserRequest, space_id: UUID) -> Response:
    """Delete an empty space; it can be brought back."""
    space = await request.app.spaces.get(request.user_actor, space_id)
    try:
        await request.app.spaces.delete(request.user_actor, space_id)
    except RemembrancerError as error:
        if error.status != 409:
            raise
        return await _show(request, space_id, error=error)
    request.notify(f"{space.name} is deleted.", f"{request.base}/spaces/{space_id}/restore")
    return request.redirect(f"{request.base}/spaces")


@router.post("/{space_id}/restore", dependencies=[FORM_CHECK])
async def restore(request: UserRequest, space_id: UUID) -> Response:
    """Bring a deleted space back, with its members."""
    space = await request.app.spaces.restore(request.user_actor, space_id)
    request.notify(f"{space.name} is back.")
    return request.redirect(f"{request.base}/spaces/{space_id}")


@router.post("/{space_id}/leave", dependencies=[FORM_CHECK])
async def leave(request: UserRequest, space_id: UUID) -> Response:
    """End one's own membership; who was the last one can bring the space back."""
    space = await request.app.spaces.get(request.user_actor, space_id)
    try:
        await request.app.spaces.leave(request.user_actor, space_id)
    except RemembrancerError as error:
        return await _again(request, space_id, Form([]), error)
    alone = space.member_count == 1
    request.notify(
        f"{space.name} is deleted: nobody is left in it." if alone else _LEFT,
        f"{request.base}/spaces/{space_id}/restore" if alone else None,
    )
    return request.redirect(f"{request.base}/spaces")


@router.post("/{space_id}/members")
async def add_member(request: UserRequest, space_id: UUID, form: CheckedForm) -> Response:
    """Let somebody join, by the id on their profile."""
    try:
        wanted = made(MemberAdd, **form.values("user_id", "role"))
        member = await request.app.spaces.add_member(request.user_actor, space_id, wanted)
    except RemembrancerError as error:
        return await _again(request, space_id, form, error)
    request.notify(f"{member.display_name} is a member now and sees what is shared.")
    return request.redirect(f"{request.base}/spaces/{space_id}")


@router.post("/{space_id}/members/{member_id}")
async def change_member(
    request: UserRequest, space_id: UUID, member_id: UUID, form: CheckedForm
) -> Response:
    """Give a member another role, or hand one's own over."""
    try:
        handing = form.get("role") == "hand_over"
        given = {"role": SpaceRole.OWNER, "hand_over": True} if handing else form.values("role")
        wanted = made(MemberUpdate, **given)
        member = await request.app.spaces.update_member(
            request.user_actor, space_id, member_id, wanted
        )
    except RemembrancerError as error:
        return await _again(request, space_id, form, error)
    request.notify(
        f"{member.display_name} is {'an owner' if may_manage(member.role) else 'a member'} now."
    )
    return request.redirect(f"{request.base}/spaces/{space_id}")


@router.post("/{space_id}/members/{member_id}/remove")
async def remove_member(
    request: UserRequest, space_id: UUID, member_id: UUID, form: CheckedForm
) -> Response:
    """End somebody's membership; who did it can take them in again."""
    try:
        await request.app.spaces.remove_member(request.user_actor, space_id, member_id)
    except RemembrancerError as error:
        return await _again(request, space_id, form, error)
    request.notify(
        "They are no longer in it, and see nothing of it.",
        f"{request.base}/spaces/{space_id}/members",
        fields=(("user_id", str(member_id)), ("role", form.get("role") or SpaceRole.MEMBER)),
    )
    return request.redirect(f"{request.base}/spaces/{space_id}")
