"""The home page: what runs here, how much it holds, and what to try."""

from importlib.resources import files
from typing import Any, Final

from fastapi import APIRouter, Request
from jinja2 import Environment, PackageLoader
from starlette.responses import HTMLResponse, Response

from remembrancer import version
from remembrancer.counts import counts

POLICY: Final = (
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)

router = APIRouter(include_in_schema=False)

_pages = Environment(loader=PackageLoader("remembrancer.web"), autoescape=True)
_STYLE = (files("remembrancer.web") / "static" / "style.css").read_bytes()


@router.get("/")
async def home(request: Request) -> Response:
    """Show the signed-in admin what runs here; tell everybody else how to sign in."""
    if request.app.state.sessions.actor(request) is None:
        return _page("signed_out.html", status=401)
    memory = request.app.state.memory
    return _page(
        "home.html",
        version=version.__version__,
        counts=await counts(memory.database),
        address=str(request.base_url).rstrip("/"),
        key_file=str(memory.settings.data_dir.expanduser() / "admin.key"),
    )


@router.get("/static/style.css")
async def style() -> Response:
    """Return the one stylesheet."""
    return Response(_STYLE, media_type="text/css", headers={"Cache-Control": "max-age=300"})


def _page(template: str, status: int = 200, **values: Any) -> HTMLResponse:
    text = _pages.get_template(template).render(values)
    return HTMLResponse(text, status, headers={"Content-Security-Policy": POLICY})
