"""Pages about a user's spaces: the list, invitations, members, and the memories in a space."""

from typing import Final
from uuid import UUID

from fastapi import APIRouter
from starlette.responses import Response

from remembrancer.access import SpaceRole, may_manage
from remembrancer.errors import RemembrancerError
from remembrancer.spaces.schemas import MemberAdd, MemberUpdate, SpaceCreate, SpaceUpdate
from remembrancer.user_names import parse_user
from remembrancer.validation import validate
from remembrancer.web.dependencies import (
    FORM_CHECK,
    CheckedForm,
    Form,
    PageRequest,
    UserRequest,
    shows_errors,
)
from remembrancer.web.languages import gettext, lazy
from remembrancer.web.memories import render_named
from remembrancer.web.people import person_in

router = APIRouter(prefix="/people/{user_id}/spaces")

MAX_FACTS: Final = 30
"""Memories on the page of a space."""
_INVITED: Final = lazy("The invitation is sent. Whoever has this id is a member once they accept.")
_LEFT: Final = lazy("You left the space. Your memories in it are still yours.")


async def _render_list(
    request: PageRequest,
    cursor: str | None = None,
    form: Form | None = None,
    error: RemembrancerError | None = None,
) -> Response:
    page = await request.app.spaces.list(request.user_actor, limit=50, cursor=cursor)
    invitations = await request.app.spaces.invitations(request.user_actor, limit=50)
    return request.render(
        "spaces/list.html",
        error=error,
        page=page,
        invitations=invitations.items,
        form=form or Form(),
    )


@router.get("")
async def list_spaces(request: UserRequest, cursor: str | None = None) -> Response:
    return await _render_list(request, cursor)


@router.post("")
@shows_errors(_render_list)
async def create(request: UserRequest, form: CheckedForm) -> Response:
    space = await request.app.spaces.create(
        request.user_actor, validate(SpaceCreate, **form.values("name", "description"))
    )
    text = gettext(
        "%(name)s is created. Invite others to share memories with them.", name=space.name
    )
    return request.to(f"spaces/{space.id}", text)


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
    manages = may_manage(space.role)
    sent = await app.spaces.sent_invitations(actor, space_id, limit=200) if manages else None
    invited = [i.invitee for i in sent.items] if sent else []
    named = [name for name in map(parse_user, invited) if isinstance(name, UUID)]
    return await render_named(
        request,
        "spaces/one.html",
        people=await app.names.people(request.actor, named),
        error=error,
        space=space,
        manages=manages,
        invitations=sent.items if sent else [],
        roles=list(SpaceRole),
        members=await app.spaces.members(actor, space_id, limit=100, cursor=cursor),
        facts=await app.spaces.memories(actor, space_id, limit=MAX_FACTS),
        form=form or Form(),
    )


async def _render_error(
    request: PageRequest,
    space_id: UUID,
    error: RemembrancerError,
    form: Form | None = None,
    **_path: UUID,
) -> Response:
    """Show the space with the error, unless the space itself is out of reach."""
    if error.status == 403 or (error.status == 404 and error.field != "user_id"):
        raise error
    return await _render(request, space_id, form=form, error=error)


@router.post("/{space_id}")
@shows_errors(_render_error)
async def update(request: UserRequest, space_id: UUID, form: CheckedForm) -> Response:
    values = {"name": "", "description": ""} | form.values("name", "description")
    changes = validate(SpaceUpdate, **values)
    space = await request.app.spaces.update(request.user_actor, space_id, changes)
    return request.to(f"spaces/{space_id}", f"{space.name} is saved.")


@router.post("/{space_id}/delete", dependencies=[FORM_CHECK])
@shows_errors(_render_error)
async def delete(request: UserRequest, space_id: UUID) -> Response:
    space = await request.app.spaces.get(request.user_actor, space_id)
    await request.app.spaces.delete(request.user_actor, space_id)
    return request.to("spaces", f"{space.name} is deleted.", f"spaces/{space_id}/restore")


@router.post("/{space_id}/restore", dependencies=[FORM_CHECK])
async def restore(request: UserRequest, space_id: UUID) -> Response:
    space = await request.app.spaces.restore(request.user_actor, space_id)
    return request.to(f"spaces/{space_id}", f"{space.name} is restored.")


@router.post("/{space_id}/leave", dependencies=[FORM_CHECK])
@shows_errors(_render_error)
async def leave(request: UserRequest, space_id: UUID) -> Response:
    space = await request.app.spaces.get(request.user_actor, space_id)
    await request.app.spaces.leave(request.user_actor, space_id)
    if space.member_count > 1:
        return request.to("spaces", str(_LEFT))
    text = gettext("%(name)s is deleted: it has no members left.", name=space.name)
    return request.to("spaces", text, f"spaces/{space_id}/restore")


@router.post("/{space_id}/members")
@shows_errors(_render_error)
async def add_member(request: UserRequest, space_id: UUID, form: CheckedForm) -> Response:
    added_id = await person_in(request, form)
    addition = validate(MemberAdd, user_id=added_id, **form.values("role"))
    added = await request.app.spaces.add_member(request.user_actor, space_id, addition)
    text = gettext("%(name)s is a member now and sees what is shared.", name=added.display_name)
    return request.to(f"spaces/{space_id}", str(_INVITED) if added.invited else text)


@router.post("/{space_id}/invitations")
@shows_errors(_render_error)
async def invite(request: UserRequest, space_id: UUID, form: CheckedForm) -> Response:
    invited_id = await person_in(request, form)
    addition = validate(MemberAdd, user_id=invited_id, **form.values("role"))
    await request.app.spaces.invite(request.user_actor, space_id, addition)
    return request.to(f"spaces/{space_id}", str(_INVITED))


@router.post("/{space_id}/invitations/withdraw")
async def withdraw(request: UserRequest, space_id: UUID, form: CheckedForm) -> Response:
    invitee = form.get("invitee") or ""
    await request.app.spaces.withdraw(request.user_actor, space_id, invitee)
    return request.to(f"spaces/{space_id}", gettext("The invitation is withdrawn."))


@router.post("/{space_id}/accept", dependencies=[FORM_CHECK])
async def accept(request: UserRequest, space_id: UUID) -> Response:
    space = await request.app.spaces.accept(request.user_actor, space_id)
    return request.to(
        f"spaces/{space_id}", gettext("You are a member of %(name)s now.", name=space.name)
    )


@router.post("/{space_id}/decline", dependencies=[FORM_CHECK])
async def decline(request: UserRequest, space_id: UUID) -> Response:
    await request.app.spaces.decline(request.user_actor, space_id)
    return request.to("spaces", gettext("The invitation is declined. Nobody is told."))


@router.post("/{space_id}/members/{member_id}")
@shows_errors(_render_error)
async def update_member(
    request: UserRequest, space_id: UUID, member_id: UUID, form: CheckedForm
) -> Response:
    hands_over = form.get("role") == "hand_over"
    values = {"role": SpaceRole.OWNER, "hand_over": True} if hands_over else form.values("role")
    member = await request.app.spaces.update_member(
        request.user_actor, space_id, member_id, validate(MemberUpdate, **values)
    )
    text = (
        gettext("%(name)s is an owner now.")
        if may_manage(member.role)
        else gettext("%(name)s is a member now.")
    )
    return request.to(f"spaces/{space_id}", text % {"name": member.display_name})


@router.post("/{space_id}/members/{member_id}/remove")
@shows_errors(_render_error)
async def remove_member(
    request: UserRequest, space_id: UUID, member_id: UUID, form: CheckedForm
) -> Response:
    await request.app.spaces.remove_member(request.user_actor, space_id, member_id)
    return request.to(
        f"spaces/{space_id}",
        gettext("The member is removed and no longer sees the space."),
        f"spaces/{space_id}/members",
        user_id=str(member_id),
        role=form.get("role") or SpaceRole.MEMBER,
    )
