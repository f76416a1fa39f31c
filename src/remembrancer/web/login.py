"""Sign-in, sign-out, theme, and the start page."""

from functools import partial
from typing import Final

from fastapi import APIRouter, Depends, Request
from starlette.responses import RedirectResponse, Response

from remembrancer.access import Role
from remembrancer.errors import Forbidden, InvalidInput, TooManyRequests, Unauthenticated
from remembrancer.request_store import check_workspace, store_of, take_store, take_store_of_bearer
from remembrancer.statistics import has_users
from remembrancer.web import languages
from remembrancer.web.dependencies import FORM_CHECK, CheckedForm, PostedForm, SessionRequest
from remembrancer.web.error_pages import kept_form, own_path, signed_out
from remembrancer.web.pages import render
from remembrancer.web.sessions import (
    COOKIE,
    ENTRY_POINT,
    find,
    is_local,
    network,
    opened,
    set_cookie,
)

router = APIRouter()

_THEMES = {"auto", "light", "dark"}
_YEAR = 365 * 86_400


async def limit_sign_ins(request: Request) -> None:
    """Count a sign-in from the address of a request, before its form is read."""
    request.app.state.sign_in_limit.count(f"sign-in {network(request)}")


LIMITED: Final = [Depends(limit_sign_ins)]


@router.get("/login", dependencies=LIMITED)
async def login(request: Request, token: str) -> Response:
    sign_ins = (await take_store(request.scope, token)).sign_ins
    check = partial(check_workspace, request.scope)
    secret = await sign_ins.redeem(token, entry_point=ENTRY_POINT, check=check)
    response = RedirectResponse("/", status_code=303)
    set_cookie(request, response, secret)
    return response


@router.get("/signin")
async def sign_in(request: Request) -> Response:
    return signed_out(request, status=200)


@router.post("/signin", dependencies=LIMITED)
async def sign_in_by_key(request: Request, form: PostedForm) -> Response:
    app = store_of(request.scope)
    secret = (form.get("key") or "").strip()
    kept = kept_form(form.get("kept"))
    try:
        app = await take_store_of_bearer(request.scope, secret)
        actor = await app.keys.authenticate(secret, entry_point=ENTRY_POINT)
        if actor.role is Role.SERVICE:
            raise Forbidden("a service key is for programs; sign in with an admin or user key")
        if actor.key_id is None:
            # A session would outlive the token by weeks.
            raise Forbidden("a token is for programs; sign in with a key or a sign-in link")
    except (Unauthenticated, Forbidden) as error:
        await app.sign_ins.refuse(secret, entry_point=ENTRY_POINT)
        return signed_out(request, error.reason, status=error.status, kept=kept)
    try:
        check_workspace(request.scope)
    except (Forbidden, TooManyRequests) as error:
        return signed_out(request, error.reason, status=error.status, kept=kept)
    secret = await app.sign_ins.start(actor)
    response: Response = RedirectResponse(own_path(form.get("next")), status_code=303)
    if kept is not None and (session := await opened(request, secret)):
        values = {"kept": kept}
        response = render(request, "kept.html", values, actor=actor, session=session)
    set_cookie(request, response, secret)
    return response


@router.post("/signout", dependencies=[FORM_CHECK])
async def sign_out(request: SessionRequest) -> Response:
    await request.app.sign_ins.end(request.session.sign_in)
    return _signed_out()


@router.post("/signout/everywhere", dependencies=[FORM_CHECK])
async def sign_out_everywhere(request: SessionRequest) -> Response:
    await request.app.sign_ins.end_all(request.actor)
    return _signed_out()


def _signed_out() -> Response:
    response = RedirectResponse("/signin", status_code=303)
    response.delete_cookie(COOKIE)
    return response


@router.post("/theme")
async def set_theme(request: SessionRequest, form: CheckedForm) -> Response:
    theme = form.get("theme") or "auto"
    if theme not in _THEMES:
        raise InvalidInput("must be auto, light or dark", field="theme")
    request.session.theme = theme
    return RedirectResponse(own_path(form.get("back")), status_code=303)


@router.post("/language")
async def set_language(request: Request, form: PostedForm) -> Response:
    """Remember the language in the browser: it is asked for before a sign-in too."""
    if (session := await find(request)) is not None:
        session.check(form.get("token") or "")
    code = form.get("language") or languages.SOURCE
    if code not in dict(languages.names()):
        raise InvalidInput("must be one of the languages of these pages", field="language")
    response = RedirectResponse(own_path(form.get("back")), status_code=303)
    response.set_cookie(
        languages.COOKIE, code, max_age=_YEAR, httponly=True, samesite="lax",
        secure=not is_local(request),
    )  # fmt: skip
    return response


@router.get("/")
async def start_page(request: SessionRequest) -> Response:
    if request.actor.role is Role.ADMIN:
        is_new = not await has_users(request.app.database)
        return RedirectResponse("/start" if is_new else "/admin", status_code=303)
    return RedirectResponse(f"/people/{request.actor.require_user()}", status_code=303)
