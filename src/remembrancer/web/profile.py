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
from remembrancer.web.dependencies import About, Checked, Form, OurForm, PageRequest

router = APIRouter(prefix="/people/{user_id}")

ERASABLE: Final = {"memories": "memories", "everything": "everything"}


@router.get("")
async def person(here: About) -> Response:
    """Lead to a person's memories."""
    return RedirectResponse(f"{here.base}/memories", status_code=303)


@router.get("/profile")
async def profile(here: About) -> Response:
    """Show who somebody is."""
    return await _profile(here)


async def _profile(
    here: PageRequest, form: Form | None = None, error: RemembrancerError | None = None
) -> Response:
    links = await here.memory.identity.links(here.actor, here.user.id)
    merges = []
    if here.actor.role is Role.ADMIN:
        merges = list(await here.memory.identity.merges(here.actor, here.user.id))
    return here.page(
        "profile.html",
        status=error.status if error else 200,
        links=links,
        merges=merges,
        zones=zones(),
        form=form,
        error=error,
    )


@router.post("/profile")
async def change(here: About, form: Checked) -> Response:
    """Change the name or time zone."""
    try:
        changes = made(UserUpdate, **form.given("display_name", "time_zone"))
        await here.memory.users.update(here.actor, here.user.id, changes)
    except RemembrancerError as error:
        return await _profile(here, form, error)
    here.say("The profile is saved.")
    return here.done(f"{here.base}/profile")


@router.post("/links")
async def link(here: About, form: Checked) -> Response:
    """Link a platform id; one of somebody else leads to a preview of merging the two."""
    try:
        wanted = made(PlatformLink, **form.given("platform", "platform_user_id"))
        try:
            other = await here.memory.users.find(
                here.actor, wanted.platform, wanted.platform_user_id
            )
        except NotFound:
            other = None
        if other is not None and other.id != here.user.id:
            return here.done(f"{here.base}/merge?other={other.id}")
        await here.memory.identity.link(here.actor, here.user.id, wanted)
    except RemembrancerError as error:
        return await _profile(here, form, error)
    here.say(f"Linked on {wanted.platform}.")
    return here.done(f"{here.base}/profile")


@router.post("/links/remove")
async def unlink(here: About, form: Checked) -> Response:
    """Take a platform id from a person."""
    wanted = made(PlatformLink, **form.given("platform", "platform_user_id"))
    await here.memory.identity.unlink(here.actor, here.user.id, wanted)
    here.say(f"The link on {wanted.platform} is removed. What was remembered stays here.")
    return here.done(f"{here.base}/profile")


@router.get("/merge")
async def preview_merge(here: About, other: str = "") -> Response:
    """Show what merging another person into this one would move."""
    wanted = made(MergeRequest, user_id=other.strip())
    counts = await here.memory.identity.preview_merge(here.actor, here.user.id, wanted.user_id)
    somebody = await here.memory.users.get(here.actor, wanted.user_id)
    return here.page("merge.html", other=somebody, counts=counts.model_dump())


@router.post("/merge")
async def merge(here: About, form: Checked) -> Response:
    """Merge another person into this one."""
    wanted = made(MergeRequest, user_id=form.get("other"))
    done = await here.memory.identity.merge(here.actor, here.user.id, wanted.user_id)
    memories = labels.plural(done.counts.memories, "memory", "memories")
    here.say(f"The two are one person now; {memories} moved.", _undo(here, done.undo_id))
    return here.done(f"{here.base}/profile")


def _undo(here: PageRequest, undo_id: object) -> str:
    return f"{here.base}/merges/{undo_id}/undo"


@router.post("/merges/{undo_id}/undo", dependencies=[OurForm])
async def undo_merge(here: About, undo_id: UUID) -> Response:
    """Make two people of one again."""
    done = await here.memory.identity.undo_merge(here.actor, here.user.id, undo_id)
    here.say(f"They are two people again. The other one: {done.merged_id}")
    return here.done(f"{here.base}/profile")


@router.get("/erase")
async def preview_erasure(here: About) -> Response:
    """Show what would be erased, and ask for the words that do it."""
    return await _erasure(here)


async def _erasure(here: PageRequest, error: RemembrancerError | None = None) -> Response:
    erasure, user_id = here.memory.erasure, here.user.id
    receipts = {
        what: await erasure.erase_user(here.actor, user_id, memories_only=what == "memories")
        for what in ERASABLE
    }
    status = error.status if error else 200
    return here.page("erase.html", status, receipts=receipts, words=ERASABLE, error=error)


@router.post("/erase")
async def erase(here: About, form: Checked) -> Response:
    """Erase a person's memories, or everything of them; nothing of it can be undone."""
    what = form.get("what")
    if what not in ERASABLE:
        raise InvalidInput("must be memories or everything", field="what")
    if (form.get("confirmation") or "").strip() != f"erase {ERASABLE[what]}":
        wrong = InvalidInput(f"type: erase {ERASABLE[what]}", field=f"confirm-{what}")
        return await _erasure(here, wrong)
    receipt = await here.memory.erasure.erase_user(
        here.actor, here.user.id, dry_run=False, memories_only=what == "memories"
    )
    return here.page("erased.html", receipt=receipt)
