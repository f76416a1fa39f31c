"""A person: name and time zone, platforms, merges, taking everything along, and erasing it."""

from typing import Final
from uuid import UUID

from fastapi import APIRouter
from starlette.responses import RedirectResponse, Response

from remembrancer.access import Role
from remembrancer.errors import InvalidInput, NotFound, RemembrancerError
from remembrancer.identity.schemas import MergeRequest
from remembrancer.users.schemas import PlatformLink, UserUpdate, zones
from remembrancer.validation import made
from remembrancer.web import labels
from remembrancer.web.dependencies import FORM_CHECK, CheckedForm, Form, PageRequest, UserRequest

router = APIRouter(prefix="/people/{user_id}")

ERASABLE: Final = {"memories": "memories", "everything": "everything"}


@router.get("")
async def person(request: UserRequest) -> Response:
    """Lead to a person's memories."""
    return RedirectResponse(f"{request.base}/memories", status_code=303)


@router.get("/profile")
async def profile(request: UserRequest) -> Response:
    """Show who somebody is."""
    return await _profile(request)


async def _profile(
    request: PageRequest, form: Form | None = None, error: RemembrancerError | None = None
) -> Response:
    links = await request.app.users.links(request.actor, request.user.id)
    merges = []
    if request.actor.role is Role.ADMIN:
        merges = list(await request.app.users.merges(request.actor, request.user.id))
    return request.render(
        "profile.html",
        status=error.status if error else 200,
        links=links,
        merges=merges,
        zones=zones(),
        form=form,
        error=error,
    )


@router.post("/profile")
async def change(request: UserRequest, form: CheckedForm) -> Response:
    """Change the name or time zone."""
    try:
        changes = made(UserUpdate, **form.values("display_name", "time_zone"))
        await request.app.users.update(request.actor, request.user.id, changes)
    except RemembrancerError as error:
        return await _profile(request, form, error)
    request.notify("The profile is saved.")
    return request.redirect(f"{request.base}/profile")


@router.post("/links")
async def link(request: UserRequest, form: CheckedForm) -> Response:
    """Link a platform id; one of somebody else leads to a preview of merging the two."""
    try:
        wanted = made(PlatformLink, **form.values("platform", "platform_user_id"))
        try:
            other = await request.app.users.find(
                request.actor, wanted.platform, wanted.platform_user_id
            )
        except NotFound:
            other = None
        if other is not None and other.id != request.user.id:
            return request.redirect(f"{request.base}/merge?other={other.id}")
        await request.app.users.link(request.actor, request.user.id, wanted)
    except RemembrancerError as error:
        return await _profile(request, form, error)
    request.notify(f"Linked on {wanted.platform}.")
    return request.redirect(f"{request.base}/profile")


@router.post("/links/remove")
async def unlink(request: UserRequest, form: CheckedForm) -> Response:
    """Take a platform id from a person."""
    wanted = made(PlatformLink, **form.values("platform", "platform_user_id"))
    await request.app.users.unlink(request.actor, request.user.id, wanted)
    request.notify(f"The link on {wanted.platform} is removed. What was remembered stays request.")
    return request.redirect(f"{request.base}/profile")


@router.get("/merge")
async def preview_merge(request: UserRequest, other: str = "") -> Response:
    """Show what merging another person into this one would move."""
    wanted = made(MergeRequest, user_id=other.strip())
    counts = await request.app.users.preview_merge(request.actor, request.user.id, wanted.user_id)
    somebody = await request.app.users.get(request.actor, wanted.user_id)
    return request.render("merge.html", other=somebody, counts=counts.model_dump())


@router.post("/merge")
async def merge(request: UserRequest, form: CheckedForm) -> Response:
    """Merge another person into this one."""
    wanted = made(MergeRequest, user_id=form.get("other"))
    done = await request.app.users.merge(request.actor, request.user.id, wanted.user_id)
    memories = labels.plural(done.counts.memories, "memory", "memories")
    request.notify(f"The two are one person now; {memories} moved.", _undo(request, done.undo_id))
    return request.redirect(f"{request.base}/profile")


def _undo(request: PageRequest, undo_id: object) -> str:
    return f"{request.base}/merges/{undo_id}/undo"


@router.post("/merges/{undo_id}/undo", dependencies=[FORM_CHECK])
async def undo_merge(request: UserRequest, undo_id: UUID) -> Response:
    """Make two people of one again."""
    done = await request.app.users.undo_merge(request.actor, request.user.id, undo_id)
    request.notify(f"They are two people again. The other one: {done.merged_id}")
    return request.redirect(f"{request.base}/profile")


@router.get("/erase")
async def preview_erasure(request: UserRequest) -> Response:
    """Show what would be erased, and ask for the words that do it."""
    return await _erasure(request)


async def _erasure(request: PageRequest, error: RemembrancerError | None = None) -> Response:
    users, user_id = request.app.users, request.user.id
    receipts = {
        what: await users.erase(request.actor, user_id, memories_only=what == "memories")
        for what in ERASABLE
    }
    status = error.status if error else 200
    return request.render("erase.html", status, receipts=receipts, words=ERASABLE, error=error)


@router.post("/erase")
async def erase(request: UserRequest, form: CheckedForm) -> Response:
    """Erase a person's memories, or everything of them; nothing of it can be undone."""
    what = form.get("what")
    if what not in ERASABLE:
        raise InvalidInput("must be memories or everything", field="what")
    if (form.get("confirmation") or "").strip() != f"erase {ERASABLE[what]}":
        wrong = InvalidInput(f"type: erase {ERASABLE[what]}", field=f"confirm-{what}")
        return await _erasure(request, wrong)
    receipt = await request.app.users.erase(
        request.actor, request.user.id, dry_run=False, memories_only=what == "memories"
    )
    return request.render("erased.html", receipt=receipt)
