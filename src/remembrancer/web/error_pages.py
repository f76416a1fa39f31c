"""Pages of errors, and the sign-in page. What was typed into a form is not lost."""

import json
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from fastapi import HTTPException, Request
from pydantic import TypeAdapter, ValidationError
from starlette.responses import HTMLResponse

from remembrancer.errors import RemembrancerError
from remembrancer.web import labels, sessions
from remembrancer.web.dependencies import posted_form
from remembrancer.web.pages import render
from remembrancer.web.sessions import NOT_SIGNED_IN, STALE_FORM, Notice, is_local, is_partial

_LONGEST: Final = 300_000
"""Maximum characters of a form that is kept for after the sign-in."""
_FORM: Final = "application/x-www-form-urlencoded"
_NOT_KEPT: Final = ("/signin", "/signout", "/theme", "/language", "/welcome")


@dataclass(frozen=True)
class KeptForm:
    """A form that was sent without a session of its own: where to, and its fields."""

    path: str
    fields: list[tuple[str, str]]

    @property
    def json(self) -> str:
        return json.dumps({"path": self.path, "fields": self.fields})

    @property
    def typed(self) -> list[str]:
        """The texts in it that somebody has written."""
        return [value for _, value in self.fields if " " in value.strip() or len(value) > 40]


_KEPT: Final = TypeAdapter(KeptForm)


def kept_form(text: str | None) -> KeptForm | None:
    """Return the form in a field of the sign-in page; null without one, or if it is none."""
    try:
        kept = _KEPT.validate_json(text or "")
    except ValidationError:
        return None
    return kept if own_path(kept.path) == kept.path else None


def own_path(path: str | None) -> str:
    if path is None or not path.startswith("/") or path[1:2] in {"/", "\\"}:
        return "/"
    return path if path.isprintable() else "/"


async def _sent_form(request: Request) -> KeptForm | None:
    path = own_path(f"{request.url.path}?{request.url.query}".rstrip("?"))
    kind = request.headers.get("content-type", "")
    if request.method != "POST" or path.startswith(_NOT_KEPT) or not kind.startswith(_FORM):
        return None
    try:
        form = await posted_form(request)
    except (RemembrancerError, HTTPException):
        return None  # of another site, too large, or with a file
    kept = KeptForm(path, [(name, value) for name, value in form.pairs if name != "token"])
    return kept if kept.fields and len(kept.json) <= _LONGEST else None


async def error_page(request: Request, status: int, title: str, detail: str) -> HTMLResponse:
    """Return the page of an error."""
    if status == 401:
        kept = await _sent_form(request)
        response = signed_out(request, "" if detail == NOT_SIGNED_IN else detail, kept=kept)
        return _whole(request, response, keeps=kept is not None)
    session = None
    with suppress(RemembrancerError):
        session = await sessions.find(request)
    if session and detail == STALE_FORM and (kept := await _sent_form(request)):
        # Not sent by itself: another site could have filled it in.
        page = render(
            request, "kept.html", {"kept": kept}, actor=session.actor, session=session,
            notices=[], status=status,
        )  # fmt: skip
        return _whole(request, page, keeps=True)
    if is_partial(request):
        notice = Notice(labels.sentence(detail) or title, bad=True)
        return render(
            request,
            "part_notices.html",
            {"list_only": True},
            session=session,
            notices=[notice],
            status=status,
            headers={"HX-Retarget": "#notices", "HX-Reswap": "innerHTML"},
        )
    values: dict[str, object] = {
        "status": status,
        "title": title.capitalize(),
        "detail": labels.sentence(detail),
    }
    actor = session.actor if session else None
    return render(
        request, "error.html", values, actor=actor, session=session, notices=[], status=status
    )


def _whole(request: Request, response: HTMLResponse, *, keeps: bool) -> HTMLResponse:
    """Let a script replace the whole page, not part of it."""
    if is_partial(request) and keeps:
        response.headers["HX-Retarget"] = "body"
        response.headers["HX-Reswap"] = "innerHTML"
    elif is_partial(request):
        response.headers["HX-Refresh"] = "true"
    return response


def signed_out(
    request: Request, detail: str = "", *, status: int = 401, kept: KeptForm | None = None
) -> HTMLResponse:
    values = {
        "detail": labels.sentence(detail) if detail else "",
        "lost": not is_local(request) and request.url.scheme != "https",
        "next": request.url.path if request.method == "GET" and status == 401 else "/",
        "kept": kept,
    }
    return render(request, "sign_in.html", values, status=status)
