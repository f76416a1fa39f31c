"""Sign-in links of people: an admin makes one, and whoever has it signs in once."""

from functools import partial

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from remembrancer.access import Role
from remembrancer.request_store import check_workspace, take_store
from remembrancer.web.dependencies import FORM_CHECK, PostedForm, UserRequest
from remembrancer.web.pages import render
from remembrancer.web.sessions import ENTRY_POINT, set_cookie

router = APIRouter()


@router.post("/people/{user_id}/sign-in-link", dependencies=[FORM_CHECK])
async def create_link(request: UserRequest) -> Response:
    """Show a link that signs the person in; it is shown only here."""
    request.actor.require(Role.ADMIN)
    secret = await request.app.sign_ins.link(request.actor, request.user.id)
    address = f"{str(request.http.base_url).rstrip('/')}/welcome?token={secret}"
    return request.render("sign_in_link.html", address=address)


@router.get("/welcome")
async def welcome(request: Request, token: str = "") -> Response:
    """Ask before the link is used: a chat that looks at addresses must not use it up.

    The cookie is set by the answer to a form of this site, so that browsers send it at once.
    """
    return render(request, "welcome.html", {"link": token})


@router.post("/welcome")
async def sign_in(request: Request, form: PostedForm) -> Response:
    request.app.state.rate_limit.count(f"sign-in, {request.client and request.client.host}")
    link = form.get("token") or ""
    sign_ins = (await take_store(request.scope, link)).sign_ins
    check = partial(check_workspace, request.scope)
    secret = await sign_ins.redeem(link, entry_point=ENTRY_POINT, check=check)
    response = RedirectResponse("/", status_code=303)
    set_cookie(request, response, secret)
    return response
