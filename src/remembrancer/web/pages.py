"""Renders templates: the parts of every page, error pages, and static files."""

import hashlib
import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, distribution
from importlib.resources import files
from pathlib import Path
from typing import Final

from fastapi import APIRouter, Request
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import HTMLResponse, Response

from remembrancer import version
from remembrancer.access import Actor, Role
from remembrancer.errors import NotFound
from remembrancer.request_store import store_of
from remembrancer.sanitizer import visible_text
from remembrancer.users.schemas import User, zones
from remembrancer.web import charts, diff, labels, languages
from remembrancer.web.languages import lazy
from remembrancer.web.sessions import Notice, Session, is_partial

log = logging.getLogger(__name__)
router = APIRouter()

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_TABS: Final = {
    "memories": lazy("Memories"),
    "review": lazy("Review"),
    "places": lazy("Places"),
    "spaces": lazy("Spaces"),
    "agents": lazy("Agents"),
    "conversations": lazy("Conversations"),
    "timeline": lazy("Timeline"),
    "graph": lazy("Graph"),
    "playground": lazy("Playground"),
    "profile": lazy("Profile"),
}
"""Tabs of the pages about a user, by their path. Each page has one here."""


def _d3() -> bytes:
    """Return d3 as a script: the package has it as a module of a loader, which stands before it.

    Without the package nothing; the graph is then a table alone.
    """
    path = "gravis/_internal/plotting/third_party/d3/d3.v7.min.def.js"
    try:
        # Not by `files`, which would import the package.
        module = Path(str(distribution("gravis").locate_file(path))).read_bytes()
    except (PackageNotFoundError, OSError):
        log.warning("gravis is missing, so the graph is a table: pip install remembrancer[all]")
        return b""
    loader = b"const require={defined:()=>false},define=(name,needs,make)=>make(window.d3={});"
    return b"{%s\n%s\n}" % (loader, module)


_STATIC = files("remembrancer.web") / "static"
_FILES: Final = {
    "style.css": ("text/css", (_STATIC / "style.css").read_bytes()),
    "app.js": ("text/javascript", (_STATIC / "app.js").read_bytes()),
    "graph.js": ("text/javascript", (_STATIC / "graph.js").read_bytes()),
    "icon.svg": ("image/svg+xml", (_STATIC / "icon.svg").read_bytes()),
    "htmx.js": (
        "text/javascript",
        (files("js_lib_htmx") / "static" / "htmx" / "htmx.min.js").read_bytes(),
    ),
    "d3.js": ("text/javascript", _d3()),
}
_HASHES: Final = {
    name: hashlib.sha256(content).hexdigest()[:12] for name, (_, content) in _FILES.items()
}


def zone_of(request: Request) -> str:
    """Return the time zone of the browser, which a script writes into a cookie."""
    zone = request.cookies.get("zone", "")
    return zone if zone in zones() else "UTC"


def _printable(value: object) -> object:
    # Markup, which is no str alone, is the result of a macro: its parts have been here. Plain text
    # needs no search, and a page has thousands of texts.
    if type(value) is not str or (value.isascii() and value.isprintable()):
        return value
    return visible_text(value)


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("remembrancer.web"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        finalize=_printable,
        auto_reload=False,
        extensions=["jinja2.ext.i18n"],
    )
    environment.policies["ext.i18n.trimmed"] = True
    environment.install_gettext_callables(  # type: ignore[attr-defined]  # of the extension
        languages.gettext, languages.ngettext, newstyle=True
    )
    environment.filters["when"] = languages.when
    environment.filters["ago"] = languages.ago
    environment.filters["number"] = languages.number
    environment.globals |= {
        "asset": lambda name: f"/static/{name}?v={_HASHES[name]}",
        "word_changes": diff.word_changes,
        "bars": charts.bars,
        "say": labels,
        "version": version.__version__,
        "languages": languages.names,
        "counted": languages.counted,
    }
    return environment


_templates = _environment()


def render(
    request: Request,
    template: str,
    values: Mapping[str, object],
    *,
    actor: Actor | None = None,
    session: Session | None = None,
    person: User | None = None,
    notices: list[Notice] | None = None,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> HTMLResponse:
    if notices is None:
        notices = session.take_notices() if session is not None else []
    language = languages.use(request)
    store = store_of(request.scope)
    is_own = person is not None and actor is not None and actor.role is Role.USER
    text = _templates.get_template(template).render(
        {
            "path": request.url.path,
            "actor": actor,
            "workspace": None if actor is None or store.is_default else store.workspace,
            "is_admin": actor is not None and actor.role is Role.ADMIN,
            "session": session,
            "person": person,
            "is_own": is_own,
            "whom": languages.gettext("you")
            if is_own
            else person.display_name
            if person is not None
            else "",
            "base": f"/people/{person.id}" if person is not None else "",
            "zone": person.time_zone if person is not None else zone_of(request),
            "language": language,
            "tabs": _TABS if person is not None else {},
            "notices": notices,
            "partial": is_partial(request),
            "target": request.headers.get("hx-target") if is_partial(request) else None,
            "now": datetime.now(UTC),
            **values,
        }
    )
    return HTMLResponse(
        text,
        status,
        headers={
            "Content-Security-Policy": POLICY,
            "Vary": "HX-Request, Accept-Language, Cookie",
            **(headers or {}),
        },
    )


@router.get("/static/{name}")
async def static(name: str) -> Response:
    """Return a file; its address changes with its content."""
    if name not in _FILES:
        raise NotFound("no such file", field="name")
    kind, content = _FILES[name]
    return Response(
        content, media_type=kind, headers={"Cache-Control": "public, max-age=31536000, immutable"}
    )
