"""Dependencies of page handlers: signed-in requests, users, posted forms."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from typing import Annotated, Any
from urllib.parse import parse_qsl, urlencode, urlsplit
from uuid import UUID

from fastapi import APIRouter, Depends, Request
from starlette.datastructures import QueryParams
from starlette.responses import HTMLResponse, RedirectResponse, Response

from remembrancer.access import Actor, Role
from remembrancer.app import Remembrancer
from remembrancer.errors import Forbidden, InvalidInput, RemembrancerError, Unauthenticated
from remembrancer.request_store import store_of
from remembrancer.users.schemas import User
from remembrancer.web import sessions
from remembrancer.web.pages import render
from remembrancer.web.sessions import NOT_SIGNED_IN, Notice, Session, Undo, is_partial

Handler = Callable[..., Awaitable[Response]]

_MAX_FIELDS = 1500


class Form:
    """The fields of a posted form. An empty field counts as absent."""

    def __init__(self, pairs: list[tuple[str, str]] | None = None) -> None:
        self.pairs = pairs or []

    def get(self, name: str) -> str | None:
        values = self.all(name)
        return values[-1] if values else None

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.pairs if key == name and value.strip()]

    def values(self, *names: str) -> dict[str, Any]:
        return {name: value for name in names if (value := self.get(name)) is not None}


@dataclass(frozen=True)
class PageRequest:
    """A request of a signed-in browser, with the answers that handlers give."""

    http: Request
    app: Remembrancer
    session: Session
    actor: Actor
    person: User | None = None

    @property
    def user(self) -> User:
        assert self.person is not None
        return self.person

    @property
    def user_actor(self) -> Actor:
        return self.actor.acting_for(self.user.id)

    @property
    def base(self) -> str:
        return "/admin" if self.person is None else f"/people/{self.person.id}"

    @property
    def query(self) -> QueryParams:
        return self.http.query_params

    @property
    def partial_target(self) -> str | None:
        """The id of the element that a script replaces; null for a whole page."""
        return self.http.headers.get("hx-target") if is_partial(self.http) else None

    def history(self, search: str) -> dict[str, str]:
        """Return the header for the address of a part: one entry of the history for a search.

        ``search`` is the field that is typed in. A letter more takes the place of the last
        address, a changed filter and a new search are entries of their own.
        """
        if not is_partial(self.http):
            return {}
        current = self.http.headers.get("hx-current-url", "")
        shown = QueryParams(current.partition("?")[2].partition("#")[0])
        before, fields = (
            [(name, value) for name, value in query.multi_items() if value.strip()]
            for query in (shown, self.query)
        )
        if before == fields:
            return {}
        typed = shown.get(search) and shown[search] != self.query.get(search)
        address = f"{self.http.url.path}?{urlencode(fields)}".rstrip("?")
        return {"HX-Replace-Url" if typed else "HX-Push-Url": address}

    def next_page(self, cursor: str | None) -> str | None:
        if cursor is None:
            return None
        url = self.http.url.include_query_params(cursor=cursor)
        return f"{url.path}?{url.query}"

    def render(
        self,
        template: str,
        status: int | None = None,
        *,
        error: RemembrancerError | None = None,
        headers: Mapping[str, str] | None = None,
        **values: Any,
    ) -> HTMLResponse:
        return render(
            self.http,
            template,
            {**values, "error": error},
            actor=self.actor,
            session=self.session,
            person=self.person,
            status=status or (error.status if error else 200),
            headers=headers,
        )

    def notify(
        self, text: str, undo: str | None = None, *, fields: Sequence[tuple[str, str]] = ()
    ) -> None:
        """Show a notice on the next page; ``undo`` is the path that reverts the change."""
        reversal = Undo(f"{self.base}/{undo}", fields=tuple(fields)) if undo else None
        self.session.add_notice(Notice(text, reversal))

    def to(
        self, path: str, notice: str | None = None, undo: str | None = None, **fields: str
    ) -> Response:
        """Redirect to a page of the same user, or of the admin, and show a notice there."""
        if notice is not None:
            self.notify(notice, undo, fields=tuple(fields.items()))
        return self.redirect(f"{self.base}/{path}".rstrip("/"))

    def at(self, address: str) -> "PageRequest":
        """Return this request as one for another page of the same user."""
        parts = urlsplit(address)
        scope = {**self.http.scope, "path": parts.path, "query_string": parts.query.encode()}
        return replace(self, http=Request(scope))

    def way_back(self, form: Form) -> list[tuple[str, str]]:
        """Return the field with the list that a form was sent from, for the undo to lead there."""
        back = form.get("back") or ""
        is_own = back.startswith(f"{self.base}/") and back.isprintable()
        return [("back", back)] if is_own else []

    def redirect(self, address: str, template: str | None = None, **values: Any) -> Response:
        """Redirect; a script gets part of a page instead."""
        if not is_partial(self.http):
            return RedirectResponse(address, status_code=303)
        if template is not None:
            return self.render(template, **values)
        return Response(status_code=204, headers={"HX-Redirect": address})


def shows_errors(render: Handler) -> Callable[[Handler], Handler]:
    """Answer an error of a service with the page that ``render`` makes of the same request."""

    def convert(handler: Handler) -> Handler:
        @wraps(handler)
        async def answer(**values: Any) -> Response:
            try:
                return await handler(**values)
            except RemembrancerError as error:
                return await render(**values, error=error)

        return answer

    return convert


async def session_request(request: Request) -> PageRequest:
    state = request.app.state
    session = await sessions.find(request)
    if session is None:
        raise Unauthenticated(NOT_SIGNED_IN)
    state.rate_limit.count(session.sign_in.row.hash.hex())
    return PageRequest(request, store_of(request.scope), session, session.actor)


SessionRequest = Annotated[PageRequest, Depends(session_request)]


async def admin_request(request: SessionRequest) -> PageRequest:
    request.actor.require(Role.ADMIN)
    return request


AdminRequest = Annotated[PageRequest, Depends(admin_request)]


async def user_request(request: SessionRequest, user_id: UUID) -> PageRequest:
    return replace(request, person=await request.app.users.get(request.actor, user_id))


UserRequest = Annotated[PageRequest, Depends(user_request)]


def check_site(request: Request) -> None:
    """Raise ``Forbidden`` if another site posted a form."""
    if request.headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
        raise Forbidden("forms of other sites are not accepted; use the pages of this server")


async def posted_form(request: Request) -> Form:
    """Return the form; raise ``Forbidden`` if another site posted it."""
    check_site(request)
    try:
        body = (await request.body()).decode()
        pairs = parse_qsl(body, keep_blank_values=True, errors="strict", max_num_fields=_MAX_FIELDS)
    except ValueError:
        raise InvalidInput("must be an HTML form in UTF-8", field="body") from None
    return Form([(name, value.replace("\r\n", "\n")) for name, value in pairs])


PostedForm = Annotated[Form, Depends(posted_form)]


async def checked_form(request: SessionRequest, form: PostedForm) -> Form:
    """Return a form that carries the token of its session."""
    request.session.check(form.get("token") or "")
    return form


CheckedForm = Annotated[Form, Depends(checked_form)]
FORM_CHECK = Depends(checked_form)
"""For handlers that need no field of the form."""


def add_forms(router: APIRouter, render: Handler) -> None:
    """Add the page with an empty form, and the page with the form of a memory."""

    @router.get("/new")
    async def new(request: UserRequest) -> Response:
        return await render(request)

    @router.get("/{memory_id}/edit")
    async def edit(request: UserRequest, memory_id: str) -> Response:
        return await render(request, memory_id)


def non_empty(query: Mapping[str, str], *names: str) -> dict[str, str]:
    return {name: query[name] for name in names if query.get(name, "").strip()}
