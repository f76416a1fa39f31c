"""Static files, each at an address that changes with its content."""

import hashlib
from importlib.resources import files
from typing import Final

from fastapi import APIRouter
from starlette.responses import Response

from remembrancer.errors import NotFound

router = APIRouter()

_STATIC = files("remembrancer.web") / "static"
_FILES: Final = {
    "style.css": ("text/css", (_STATIC / "style.css").read_bytes()),
    "app.js": ("text/javascript", (_STATIC / "app.js").read_bytes()),
    "review.js": ("text/javascript", (_STATIC / "review.js").read_bytes()),
    "icon.svg": ("image/svg+xml", (_STATIC / "icon.svg").read_bytes()),
    "htmx.js": (
        "text/javascript",
        (files("js_lib_htmx") / "static" / "htmx" / "htmx.min.js").read_bytes(),
    ),
}
_HASHES: Final = {
    name: hashlib.sha256(content).hexdigest()[:12] for name, (_, content) in _FILES.items()
}


def address(name: str) -> str:
    return f"/static/{name}?v={_HASHES[name]}"


@router.get("/static/{name}")
async def static(name: str) -> Response:
    if name not in _FILES:
        raise NotFound("no such file", field="name")
    kind, content = _FILES[name]
    return Response(
        content, media_type=kind, headers={"Cache-Control": "public, max-age=31536000, immutable"}
    )
