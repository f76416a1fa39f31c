"""Sign-in, sign-out, theme, and the start page."""

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from remembrancer.access import Actor, Role
from remembrancer.errors import Forbidden, InvalidInput, Unauthenticated
from remembrancer.web.dependencies import FORM_CHECK, CheckedForm, PostedForm, SessionRequest
from remembrancer.web.pages import signed_out
from remembrancer.web.sessions import COOKIE, ENTRY_POINT, Session, set_cookie

router = APIRouter()

_THEMES = {"auto", "light", "dark"}


@router.get("/login")
async def login(request: Request, token: str) -> Response:
    state = request.app.state
    try:
        session = state.sessions.redeem(token)
    except Unauthenticated:
        await state.memory.sign_ins.refuse(None, entry_point=ENTRY_POINT)
        raise
    await state.memory.sign_ins.start(Actor(Role.ADMIN, entry_point=ENTRY_POINT))
    return _start(request, session, "/")


@router.get("/signin")
async def sign_in(request: Request) -> Response:
    return signed_out(request, status=200)


@router.post("/signin")
async def sign_in_by_key(request: Request, form: PostedForm) -> Response:
    app = request.app.state.memory
    secret = (form.get("key") or "").strip()
    request.app.state.rate_limit.count(f"sign-in, {request.client and request.client.host}")
    try:
        actor = await app.keys.authenticate(secret, entry_point=ENTRY_POINT)
        if actor.role is Role.SERVICE:
            raise Forbidden("a service key is for programs; sign in with an admin or user key")
    except (Unauthenticated, Forbidden) as error:
        await app.sign_ins.refuse(secret, entry_point=ENTRY_POINT)
        return signed_out(request, error.reason, status=error.status)
    await app.sign_ins.start(actor)
    session = request.app.state.sessions.start(actor.key_id)
    return _start(request, session, _own_path(form.get("next")))


def _own_path(path: str | None) -> str:
    if path is None or not path.startswith("/") or path[1:2] in {"/", "\\"}:
        return "/"
    return path if path.isprintable() else "/"


def _start(request: Request, session: Session, path: str) -> Response:
    response = RedirectResponse(path, status_code=303)
    set_cookie(request, response, session)
    return response


@router.post("/signout", dependencies=[FORM_CHECK])
async def sign_out(request: SessionRequest) -> Response:
    await request.app.sign_ins.end(request.actor)
    request.http.app.state.sessions.end(request.session)
    response = RedirectResponse("/signin", status_code=303)
    response.delete_cookie(COOKIE)
    return response


@router.post("/theme")
async def set_theme(request: SessionRequest, form: CheckedForm) -> Response:
    theme = form.get("theme") or "auto"
    if theme not in _THEMES:
        raise InvalidInput("must be auto, light or dark", field="theme")
    request.session.set_theme(theme)
    return RedirectResponse(_own_path(form.get("back")), status_code=303)


@router.get("/")
async def start_page(request: SessionRequest) -> Response:
    if request.actor.role is Role.ADMIN:
        return RedirectResponse("/admin", status_code=303)
    return RedirectResponse(f"/people/{request.actor.require_user()}", status_code=303)
