"""Signing in and out, and where that leads."""

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
    """Sign in by a one-time link."""
    state = request.app.state
    try:
        session = state.sessions.redeem(token)
    except Unauthenticated:
        await state.memory.sign_ins.refuse(None, entry_point=ENTRY_POINT)
        raise
    await state.memory.sign_ins.start(Actor(Role.ADMIN, entry_point=ENTRY_POINT))
    return _entered(request, session, "/")


@router.get("/signin")
async def sign_in(request: Request) -> Response:
    """Show how to sign in."""
    return signed_out(request, status=200)


@router.post("/signin")
async def sign_in_by_key(request: Request, form: PostedForm) -> Response:
    """Sign in with an API key."""
    memory = request.app.state.memory
    secret = (form.get("key") or "").strip()
    request.app.state.rate_limit.count(f"sign-in, {request.client and request.client.host}")
    try:
        actor = await memory.keys.authenticate(secret, entry_point=ENTRY_POINT)
        if actor.role is Role.SERVICE:
            raise Forbidden("a service key is for programs; sign in as an admin or a user")
    except (Unauthenticated, Forbidden) as error:
        await memory.sign_ins.refuse(secret, entry_point=ENTRY_POINT)
        return signed_out(request, error.reason, status=error.status)
    await memory.sign_ins.start(actor)
    session = request.app.state.sessions.start(actor.key_id)
    return _entered(request, session, _inside(form.get("next")))


def _inside(path: str | None) -> str:
    """Return a path of this server, and of no other."""
    inside = path is not None and path.startswith("/") and path[1:2] not in {"/", "\\"}
    return path if path is not None and inside and path.isprintable() else "/"


def _entered(request: Request, session: Session, to: str) -> Response:
    answer = RedirectResponse(to, status_code=303)
    set_cookie(request, answer, session)
    return answer


@router.post("/signout", dependencies=[FORM_CHECK])
async def sign_out(request: SessionRequest) -> Response:
    """End the session."""
    await request.app.sign_ins.end(request.actor)
    request.http.app.state.sessions.end(request.session)
    answer = RedirectResponse("/signin", status_code=303)
    answer.delete_cookie(COOKIE)
    return answer


@router.post("/theme")
async def set_theme(request: SessionRequest, form: CheckedForm) -> Response:
    """Show the pages light, dark, or as the system is set."""
    theme = form.get("theme") or "auto"
    if theme not in _THEMES:
        raise InvalidInput("must be auto, light or dark", field="theme")
    request.session.theme = theme
    return RedirectResponse(_inside(form.get("back")), status_code=303)


@router.get("/")
async def home(request: SessionRequest) -> Response:
    """Lead a person to their memories, an admin to the overview."""
    if request.actor.role is Role.ADMIN:
        return RedirectResponse("/admin", status_code=303)
    return RedirectResponse(f"/people/{request.actor.require_user()}/memories", status_code=303)
