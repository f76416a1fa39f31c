"""The keys of a person, and their sessions."""

from uuid import UUID

from fastapi import APIRouter
from starlette.responses import Response

from remembrancer.access import Role
from remembrancer.errors import RemembrancerError
from remembrancer.keys.schemas import KeyCreate, NewKey
from remembrancer.validation import validate
from remembrancer.web.dependencies import (
    FORM_CHECK,
    CheckedForm,
    Form,
    PageRequest,
    UserRequest,
    shows_errors,
)
from remembrancer.web.languages import counted, gettext

router = APIRouter(prefix="/people/{user_id}/keys")


@router.get("")
async def list_keys(request: UserRequest) -> Response:
    return await _render(request)


async def _render(
    request: PageRequest,
    *,
    form: Form | None = None,
    error: RemembrancerError | None = None,
    new_key: NewKey | None = None,
    key_id: UUID | None = None,
) -> Response:
    keys = (await request.app.keys.list(request.user_actor)).items
    return request.render(
        "keys.html", error=error, keys=keys[::-1], form=form or Form(), new_key=new_key, old=key_id
    )


@router.post("")
@shows_errors(_render)
async def create(request: UserRequest, form: CheckedForm) -> Response:
    key = validate(KeyCreate, role=Role.USER, user_id=request.user.id, **form.values("name"))
    return await _render(request, new_key=await request.app.keys.create(request.actor, key))


@router.post("/{key_id}/rotate", dependencies=[FORM_CHECK])
@shows_errors(_render)
async def rotate(request: UserRequest, key_id: UUID) -> Response:
    new_key = await request.app.keys.rotate(request.user_actor, key_id)
    return await _render(request, new_key=new_key, key_id=key_id)


@router.post("/{key_id}/revoke", dependencies=[FORM_CHECK])
async def revoke(request: UserRequest, key_id: UUID) -> Response:
    key = await request.app.keys.revoke(request.user_actor, key_id)
    return request.to(
        "keys",
        gettext("The key %(name)s is revoked. What used it is signed out.", name=key.name),
    )


@router.post("/sign-out", dependencies=[FORM_CHECK])
async def sign_out(request: UserRequest) -> Response:
    """End all sessions of the person; their own request is answered by the sign-in page."""
    ended = await request.app.sign_ins.end_all(request.user_actor)
    return request.to(
        "keys", counted("%(count)s session ended.", "%(count)s sessions ended.", ended)
    )
