"""The documentation under `/docs`: the site, and a page to try the REST API on.

`make site`, and each build of a wheel, write the site beside this module from `docs/`.
"""

import base64
import functools
import hashlib
import re
from importlib.resources import files
from os import PathLike, stat_result
from pathlib import Path
from typing import Final

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from remembrancer.errors import NotFound

router = APIRouter()

SITE: Final = Path(__file__).parent / "site"
_STATIC: Final = files("remembrancer.web") / "static"
_VIEWER: Final = files("fastapi_offline") / "static"
_PARTS: Final = {
    "viewer.js": ("text/javascript", _VIEWER / "swagger-ui-bundle.js"),
    "viewer.css": ("text/css", _VIEWER / "swagger-ui.css"),
    "start.js": ("text/javascript", _STATIC / "api.js"),
}
_POLICY: Final = (
    "default-src 'none'; script-src 'self' {scripts}; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self'; connect-src 'self'; worker-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_INLINE_SCRIPT: Final = re.compile(r"<script>(.*?)</script>", re.DOTALL)
_API_PAGE: Final = """<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <title>REST API · Remembrancer</title>
  <link rel="stylesheet" href="/docs/api/viewer.css">
  <script src="/docs/api/viewer.js" defer></script>
  <script src="/docs/api/start.js" defer></script>
</head>
<body><main id="viewer"><noscript>
  This page needs scripts. The same without: <a href="/docs/rest/">REST API</a>.
</noscript></main></body>
</html>
"""
_TEXT_PAGE: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title} · Remembrancer</title></head>
<body><main><h1>{title}</h1><p>{text}</p>
<p><a href="/docs/api">Try the REST API</a></p></main></body>
</html>
"""
_NOT_BUILT: Final = _TEXT_PAGE.format(
    title="The documentation is not built",
    text="Run <code>make site</code> in the checkout, or read its folder <code>docs</code>.",
)
_MISSING: Final = _TEXT_PAGE.format(
    title="There is no such page", text='All pages are in <a href="/docs/">the documentation</a>.'
)


class _Site(StaticFiles):
    """The files of the site. A page may run its own inline scripts, and no others."""

    async def check_config(self) -> None:
        """Allow that the site is not built."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        if not SITE.is_dir():
            return _page(_NOT_BUILT, status=404)
        try:
            response = await super().get_response(path, scope)
        except HTTPException:
            return _page(_MISSING, status=404)
        return _page(_MISSING, status=404) if response.status_code == 404 else response

    def file_response(
        self,
        full_path: str | PathLike[str],
        stat_result: stat_result,
        scope: Scope,
        status_code: int = 200,
    ) -> Response:
        response = super().file_response(full_path, stat_result, scope, status_code)
        # Also those of a 304: a browser puts them in the place of those it has.
        response.headers["Cache-Control"] = "no-cache"
        response.headers["Content-Security-Policy"] = _policy_of(Path(full_path))
        return response


def _policy_of(page: Path) -> str:
    return _read_policy(page, page.stat().st_mtime_ns) if page.suffix == ".html" else _policy("")


@functools.lru_cache(maxsize=256)
def _read_policy(page: Path, _changed: int) -> str:
    return _policy(page.read_text("utf-8"))


def _policy(text: str) -> str:
    hashes = {hashlib.sha256(script.encode()).digest() for script in _INLINE_SCRIPT.findall(text)}
    sources = sorted(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in hashes)
    return _POLICY.format(scripts=" ".join(sources))


def _page(text: str, status: int = 200) -> HTMLResponse:
    return HTMLResponse(text, status, headers={"Content-Security-Policy": _policy(text)})


@router.get("/docs/api")
async def api() -> HTMLResponse:
    """Show the REST API, to try it from the browser with a key."""
    return _page(_API_PAGE)


@router.get("/docs/api/{name}")
async def part(name: str) -> Response:
    """Return a file of the page that shows the REST API."""
    if name not in _PARTS:
        raise NotFound("no such file", field="name")
    kind, file = _PARTS[name]
    return Response(file.read_bytes(), media_type=kind, headers={"Cache-Control": "no-cache"})


def install(pages: APIRouter) -> None:
    """Add the documentation to the router of all pages."""
    pages.include_router(router)
    pages.mount("/docs", _Site(directory=SITE, html=True, check_dir=False))
