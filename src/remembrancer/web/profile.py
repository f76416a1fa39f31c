"""Pages about a user's profile: name, platform links, merges, export, erasure."""

from typing import Final
from uuid import UUID

from fastapi import APIRouter
from starlette.responses import Response

from remembrancer.access import Role
from remembrancer.errors import InvalidInput, NotFound, RemembrancerError
from remembrancer.identity.schemas import MergeRequest
from remembrancer.users.schemas import PlatformLink, UserUpdate, zones
from remembrancer.validation import validate
from remembrancer.web import dependencies, labels
from remembrancer.web.languages import counted, gettext
from remembrancer.web.people import person_in

router = APIRouter(prefix="/people/{user_id}")

ERASABLE: Final = ("memories", "everything")


@router.get("/profile")
async def profile(request: dependencies.UserRequest) -> Response:
    return await _render(request)


async def _render(
    request: dependencies.PageRequest,
    form: dependencies.Form | None = None,
    error: RemembrancerError | None = None,
) -> Response:
    users, actor, user_id = request.app.users, request.actor, request.user.id
    merges = (await users.merges(actor, user_id)).items if actor.role is Role.ADMIN else []
    return request.render(
        "profile.html",
        error=error,
        links=(await users.links(actor, user_id)).items,
        merges=merges,
        people=await request.app.names.people(actor, [merge.merged_id for merge in merges]),
        zones=zones(),
        export_formats=labels.EXPORT_FORMATS,
        form=form,
    )


@router.post("/profile")
@dependencies.shows_errors(_render)
async def update(request: dependencies.UserRequest, form: dependencies.CheckedForm) -> Response:
    changes = validate(UserUpdate, **form.values("display_name", "time_zone"))
    await request.app.users.update(request.actor, request.user.id, changes)
    return request.to("profile", gettext("The profile is saved."))


@router.post("/pause", dependencies=[dependencies.FORM_CHECK])
async def pause(request: dependencies.UserRequest) -> Response:
    await request.app.users.update(request.actor, request.user.id, UserUpdate(paused=True))
    return request.to("profile", gettext("Remembering is paused, with all agents."), "resume")


@router.post("/resume", dependencies=[dependencies.FORM_CHECK])
async def resume(request: dependencies.UserRequest) -> Response:
    await request.app.users.update(request.actor, request.user.id, UserUpdate(paused=False))
    return request.to("profile", gettext("Agents remember again."), "pause")


@router.post("/links")
@dependencies.shows_errors(_render)
async def link(request: dependencies.UserRequest, form: dependencies.CheckedForm) -> Response:
    link = validate(PlatformLink, **form.values("platform", "platform_user_id"))
    owner_id = await _owner_id(request, link)
    if owner_id not in {None, request.user.id}:
        return request.to(f"merge?other={owner_id}")
    await request.app.users.link(request.actor, request.user.id, link)
    return request.to("profile", gettext("Linked on %(platform)s.", platform=link.platform))


async def _owner_id(request: dependencies.PageRequest, link: PlatformLink) -> UUID | None:
    try:
        users = request.app.users
        return (await users.find(request.actor, link.platform, link.platform_user_id)).id
    except NotFound:
        return None


@router.post("/links/remove")
async def unlink(request: dependencies.UserRequest, form: dependencies.CheckedForm) -> Response:
    link = validate(PlatformLink, **form.values("platform", "platform_user_id"))
    await request.app.users.unlink(request.actor, request.user.id, link)
    text = gettext(
        "The link on %(platform)s is removed. All memories stay here.", platform=link.platform
    )
    return request.to("profile", text)


@router.get("/merge")
async def preview_merge(request: dependencies.UserRequest) -> Response:
    try:
        other = await person_in(request, request.query, "other")
    except InvalidInput as error:
        return await _render(request, dependencies.Form(request.query.multi_items()), error)
    other_id = validate(MergeRequest, user_id=other).user_id
    counts = await request.app.users.preview_merge(request.actor, request.user.id, other_id)
    other_user = await request.app.users.get(request.actor, other_id)
    return request.render("merge.html", other=other_user, counts=counts.model_dump())


@router.post("/merge")
async def merge(request: dependencies.UserRequest, form: dependencies.CheckedForm) -> Response:
    other_id = validate(MergeRequest, user_id=form.get("other")).user_id
    result = await request.app.users.merge(request.actor, request.user.id, other_id)
    text = counted(
        "The two are one person now; %(count)s memory moved.",
        "The two are one person now; %(count)s memories moved.",
        result.counts.memories,
    )
    return request.to("profile", text, f"merges/{result.undo_id}/undo")


@router.post("/merges/{undo_id}/undo", dependencies=[dependencies.FORM_CHECK])
async def undo_merge(request: dependencies.UserRequest, undo_id: UUID) -> Response:
    merge = await request.app.users.undo_merge(request.actor, request.user.id, undo_id)
    people = await request.app.names.people(request.actor, [merge.merged_id])
    name = people.get(merge.merged_id, str(merge.merged_id))
    return request.to(
        "profile", gettext("They are two people again. The other one: %(name)s", name=name)
    )


@router.get("/erase")
async def preview_erasure(request: dependencies.UserRequest) -> Response:
    return await _render_erasure(request)


async def _render_erasure(
    request: dependencies.PageRequest, error: InvalidInput | None = None
) -> Response:
    users, user_id = request.app.users, request.user.id
    receipts = {
        what: await users.erase(request.actor, user_id, memories_only=what == "memories")
        for what in ERASABLE
    }
    return request.render("erase.html", error=error, receipts=receipts)


@router.post("/erase")
async def erase(request: dependencies.UserRequest, form: dependencies.CheckedForm) -> Response:
    what = form.get("what")
    if what not in ERASABLE:
        raise InvalidInput("must be memories or everything", field="what")
    if (form.get("confirmation") or "").strip() != f"erase {what}":
        error = InvalidInput(f"type: erase {what}", field=f"confirm-{what}")
        return await _render_erasure(request, error)
    receipt = await request.app.users.erase(
        request.actor, request.user.id, dry_run=False, memories_only=what == "memories"
    )
    return request.render("erased.html", receipt=receipt)
