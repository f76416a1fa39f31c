"""Pages about a user's spaces: the list, members, and the memories in a space."""

from typing import Final
from uuid import UUID

from fastapi import APIRouter
from starlette.responses import Response

from remembrancer.access import SpaceRole, may_manage
from remembrancer.errors import RemembrancerError
from remembrancer.spaces.schemas import MemberAdd, MemberUpdate, SpaceCreate, SpaceUpdate
from remembrancer.validation import validate
from remembrancer.web.dependencies import FORM_CHECK, CheckedForm, Form, PageRequest, UserRequest
from remembrancer.web.memories import agent_and_space_names, can_change

router = APIRouter(prefix="/people/{user_id}/spaces")

MAX_FACTS: Final = 30
"""Memories on the page of a space."""
_LEFT: Final = "You left the space. Your memories in it are still yours."


@router.get("")
async def list_spaces(request: UserRequest, cursor: str | None = None) -> Response:
    return await _render_list(request, cursor)


async def _render_list(
    request: PageRequest,
    cursor: str | None = None,
    form: Form | None = None,
    error: RemembrancerError | None = None,
) -> Response:
    page = await request.app.spaces.list(request.user_actor, limit=50, cursor=cursor)
    return request.render("spaces/list.html", error=error, page=page, form=form or Form())


@router.post("")
async def create(request: UserRequest, form: CheckedForm) -> Response:
    try:
        space = await request.app.spaces.create(
            request.user_actor, validate(SpaceCreate, **form.values("name", "description"))
        )
    except RemembrancerError as error:
        return await _render_list(request, None, form, error)
    request.notify(f"{space.name} is created. Add members to share memories with them.")
    return _to_space(request, space.id)


def _to_space(request: PageRequest, space_id: UUID) -> Response:
    return request.redirect(f"{request.base}/spaces/{space_id}")


@router.get("/{space_id}")
async def show(request: UserRequest, space_id: UUID, cursor: str | None = None) -> Response:
    return await _render(request, space_id, cursor=cursor)


async def _render(
    request: PageRequest,
    space_id: UUID,
    *,
    cursor: str | None = None,
    form: Form | None = None,
    error: RemembrancerError | None = None,
) -> Response:
    app, actor = request.app, request.user_actor
    space = await app.spaces.get(actor, space_id)
    return request.render(
        "spaces/one.html",
        error=error,
        space=space,
        manages=may_manage(space.role),
        roles=list(SpaceRole),
        members=await app.spaces.members(actor, space_id, limit=100, cursor=cursor),
        facts=await app.spaces.memories(actor, space_id, limit=MAX_FACTS),
        can_change=can_change(request),
        form=form or Form(),
        **await agent_and_space_names(request),
    )


async def _render_error(
    request: PageRequest, space_id: UUID, error: RemembrancerError, form: Form | None = None
) -> Response:
    """Show the space with the error, unless the space itself is out of reach."""
    if error.status == 403 or (error.status == 404 and error.field != "user_id"):
        raise error
    return await _render(request, space_id, form=form, error=error)


@router.post("/{space_id}")
async def update(request: UserRequest, space_id: UUID, form: CheckedForm) -> Response:
    try:
        values = {"name": "", "description": ""} | form.values("name", "description")
        space = await request.app.spaces.update(
            request.user_actor, space_id, validate(SpaceUpdate, **values)
        )
    except RemembrancerError as error:
        return await _render_error(request, space_id, error, form)
    request.notify(f"{space.name} is saved.")
    return _to_space(request, space_id)


@router.post("/{space_id}/delete", dependencies=[FORM_CHECK])
async def delete(request: UserRequest, space_id: UUID) -> Response:
    space = await request.app.spaces.get(request.user_actor, space_id)
    try:
        await request.app.spaces.delete(request.user_actor, space_id)
    except RemembrancerError as error:
        if error.status != 409:
            raise
        return await _render(request, space_id, error=error)
    request.notify(f"{space.name} is deleted.", f"{request.base}/spaces/{space_id}/restore")
    return request.redirect(f"{request.base}/spaces")


@router.post("/{space_id}/restore", dependencies=[FORM_CHECK])
async def restore(request: UserRequest, space_id: UUID) -> Response:
    space = await request.app.spaces.restore(request.user_actor, space_id)
    request.notify(f"{space.name} is restored.")
    return _to_space(request, space_id)


@router.post("/{space_id}/leave", dependencies=[FORM_CHECK])
async def leave(request: UserRequest, space_id: UUID) -> Response:
    space = await request.app.spaces.get(request.user_actor, space_id)
    try:
        await request.app.spaces.leave(request.user_actor, space_id)
    except RemembrancerError as error:
        return await _render_error(request, space_id, error)
    if space.member_count == 1:
        text = f"{space.name} is deleted: it has no members left."
        request.notify(text, f"{request.base}/spaces/{space_id}/restore")
    else:
        request.notify(_LEFT)
    return request.redirect(f"{request.base}/spaces")


@router.post("/{space_id}/members")
async def add_member(request: UserRequest, space_id: UUID, form: CheckedForm) -> Response:
    try:
        member = await request.app.spaces.add_member(
            request.user_actor, space_id, validate(MemberAdd, **form.values("user_id", "role"))
        )
    except RemembrancerError as error:
        return await _render_error(request, space_id, error, form)
    request.notify(f"{member.display_name} is a member now and sees what is shared.")
    return _to_space(request, space_id)


@router.post("/{space_id}/members/{member_id}")
async def update_member(
    request: UserRequest, space_id: UUID, member_id: UUID, form: CheckedForm
) -> Response:
    try:
        hands_over = form.get("role") == "hand_over"
        values = {"role": SpaceRole.OWNER, "hand_over": True} if hands_over else form.values("role")
        member = await request.app.spaces.update_member(
            request.user_actor, space_id, member_id, validate(MemberUpdate, **values)
        )
    except RemembrancerError as error:
        return await _render_error(request, space_id, error, form)
    role = "an owner" if may_manage(member.role) else "a member"
    request.notify(f"{member.display_name} is {role} now.")
    return _to_space(request, space_id)


@router.post("/{space_id}/members/{member_id}/remove")
async def remove_member(
    request: UserRequest, space_id: UUID, member_id: UUID, form: CheckedForm
) -> Response:
    try:
        await request.app.spaces.remove_member(request.user_actor, space_id, member_id)
    except RemembrancerError as error:
        return await _render_error(request, space_id, error, form)
    request.notify(
        "The member is removed and no longer sees the space.",
        f"{request.base}/spaces/{space_id}/members",
        fields=(("user_id", str(member_id)), ("role", form.get("role") or SpaceRole.MEMBER)),
    )
    return _to_space(request, space_id)
