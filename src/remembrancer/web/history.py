"""The third step of the first run: a person brings the history they have elsewhere."""

from collections.abc import AsyncIterator
from pathlib import PurePosixPath
from typing import Final
from uuid import UUID

from fastapi import APIRouter
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.responses import Response

from remembrancer.errors import InvalidInput, RemembrancerError
from remembrancer.uploads.schemas import UploadOptions
from remembrancer.uploads.service import PART_BYTES
from remembrancer.users.schemas import zones
from remembrancer.validation import validate
from remembrancer.web.dependencies import (
    FORM_CHECK,
    CheckedForm,
    PageRequest,
    UserRequest,
    check_site,
    posted_form,
    shows_errors,
)

router = APIRouter(prefix="/people/{user_id}/start/history")

_LONGEST_NAME: Final = 200
"""Bytes of a name; file systems have 255."""


@router.get("")
async def show(request: UserRequest) -> Response:
    return await _render(request)


async def _render(request: PageRequest, error: RemembrancerError | None = None) -> Response:
    only_list = request.partial_target == "uploads"
    return request.render(
        "start/uploads.html" if only_list else "start/history.html",
        error=error,
        uploads=(await request.app.uploads.list(request.user_actor)).items,
        megabytes=request.app.settings.limits.upload_bytes >> 20,
        zones=zones(),
    )


@router.post("")
@shows_errors(_render)
async def upload(request: UserRequest) -> Response:
    """Take a file. The form is not one that ``posted_form`` reads: it may be large."""
    check_site(request.http)
    if not request.http.headers.get("content-type", "").startswith("multipart/form-data"):
        plain = await posted_form(request.http)
        request.session.check(plain.get("token") or "")
        raise InvalidInput("choose a file that is not empty", field="file")
    try:
        async with request.http.form(max_files=1, max_fields=4) as form:
            request.session.check(str(form.get("token") or ""))
            file = form.get("file")
            if not isinstance(file, UploadFile) or not file.filename or not file.size:
                raise InvalidInput("choose a file that is not empty", field="file")
            await request.app.uploads.create(request.user_actor, _name(file.filename), _parts(file))
    except HTTPException as error:
        if error.status_code == 413:
            megabytes = request.app.settings.limits.upload_bytes >> 20
            reason = f"must have at most {megabytes:,} MB; use `remembrancer import` for more"
            raise InvalidInput(reason, field="file") from None
        raise InvalidInput("must be a form with one file", field="file") from None
    return request.to("start/history")


def _name(name: str) -> str:
    """Return the name of a file without its folder, as any system can have it."""
    plain = PurePosixPath(name.replace("\\", "/")).name
    kept = "".join(c for c in plain if c.isprintable() and c not in '<>:"|?*').strip(". ")
    return kept.encode("utf-8", "ignore")[-_LONGEST_NAME:].decode("utf-8", "ignore") or "export"


async def _parts(file: UploadFile) -> AsyncIterator[bytes]:
    while part := await file.read(PART_BYTES):
        yield part


@router.post("/{upload_id}/import", dependencies=[FORM_CHECK])
async def start(request: UserRequest, upload_id: UUID) -> Response:
    await request.app.uploads.start(request.user_actor, upload_id)
    return await _changed(request)


@router.post("/{upload_id}/check")
@shows_errors(lambda request, error, **_: _render(request, error))
async def check(request: UserRequest, upload_id: UUID, form: CheckedForm) -> Response:
    """Look into a file again, with what it does not say itself."""
    options = validate(UploadOptions, **form.values("me", "date_order", "time_zone"))
    await request.app.uploads.start(request.user_actor, upload_id, options)
    return await _changed(request)


@router.post("/{upload_id}/remove", dependencies=[FORM_CHECK])
async def remove(request: UserRequest, upload_id: UUID) -> Response:
    await request.app.uploads.remove(request.user_actor, upload_id)
    return await _changed(request)


async def _changed(request: PageRequest) -> Response:
    if request.partial_target == "uploads":
        return await _render(request)
    return request.to("start/history")
