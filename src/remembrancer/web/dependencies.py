"""Who asks for a page, about whom, and what a form of theirs says."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import parse_qsl
from uuid import UUID

from fastapi import Depends, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from remembrancer.access import Actor
from remembrancer.app import Remembrancer
from remembrancer.errors import Forbidden, InvalidInput, Unauthenticated
from remembrancer.users.schemas import User
from remembrancer.web.pages import is_partial, render
from remembrancer.web.sessions import NOT_SIGNED_IN, Notice, Session, Undo

_MOST_FIELDS = 1500


class Form:
    """What was filled in. Empty fields count as left out."""

    def __init__(self, pairs: list[tuple[str, str]]) -> None:
        self._pairs = pairs

    def get(self, name: str) -> str | None:
        """Return the last value of a field, null if it is empty or missing."""
        values = self.all(name)
        return values[-1] if values else None

    def all(self, name: str) -> list[str]:
        """Return the values of a field that are not empty."""
        return [value for key, value in self._pairs if key == name and value.strip()]

    def given(self, *names: str) -> dict[str, Any]:
        """Return those of these fields that are not empty."""
        return {name: value for name in names if (value := self.get(name)) is not None}


@dataclass(frozen=True)
class PageRequest:
    """A request of somebody who is signed in."""

    request: Request
    memory: Remembrancer
    session: Session
    actor: Actor
    person: User | None = None

    @property
    def acting(self) -> Actor:
        """The actor for the person the page is about."""
        assert self.person is not None
        return self.actor.acting_for(self.person.id)

    @property
    def user(self) -> User:
        """The person the page is about."""
        assert self.person is not None
        return self.person

    @property
    def base(self) -> str:
        """The address that the pages about the person begin with."""
        return f"/people/{self.user.id}"

    @property
    def partial(self) -> bool:
        """Whether a script asks for a part of a page."""
        return is_partial(self.request)

    def page(self, template: str, status: int = 200, **values: Any) -> HTMLResponse:
        """Return a page."""
        return render(
            self.request,
            template,
            values,
            actor=self.actor,
            session=self.session,
            person=self.person,
            status=status,
        )

    def say(
        self, text: str, undo: str | None = None, *, fields: tuple[tuple[str, str], ...] = ()
    ) -> None:
        """Say something on the page that comes next; ``undo`` is what takes it back."""
        self.session.say(Notice(text, Undo(undo, fields=fields) if undo else None))

    def done(self, to: str, template: str | None = None, **values: Any) -> Response:
        """Answer a change: with a part of the page where a script asked, else by going there."""
        if self.partial and template is not None:
            return self.page(template, **values)
        if self.partial:
            return Response(status_code=204, headers={"HX-Redirect": to})
        return RedirectResponse(to, status_code=303)


async def visit(request: Request) -> PageRequest:
    """Return the visit of who is signed in, or raise ``Unauthenticated``."""
    state = request.app.state
    session = state.sessions.find(request)
    actor = await state.sessions.actor(request, state.memory)
    if session is None or actor is None:
        raise Unauthenticated(NOT_SIGNED_IN)
    state.rate_limit.count(session.id)
    return PageRequest(request, state.memory, session, actor)


SignedIn = Annotated[PageRequest, Depends(visit)]


async def about(here: SignedIn, user_id: UUID) -> PageRequest:
    """Return the visit to a person's pages; ``NotFound`` if it is not for the visitor."""
    person = await here.memory.users.get(here.actor, user_id)
    return PageRequest(here.request, here.memory, here.session, here.actor, person)


About = Annotated[PageRequest, Depends(about)]


async def sent(request: Request) -> Form:
    """Return what a form sent, from a page of this server."""
    if request.headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
        raise Forbidden("forms of other sites change nothing here")
    try:
        body = (await request.body()).decode()
        pairs = parse_qsl(
            body, keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS
        )
    except ValueError:
        raise InvalidInput("cannot be read as a form", field="body") from None
    return Form([(name, value.replace("\r\n", "\n")) for name, value in pairs])


async def checked(here: SignedIn, form: Annotated[Form, Depends(sent)]) -> Form:
    """Return a form of the visitor's session: it carries the session's token."""
    here.session.check(form.get("token") or "")
    return form


Sent = Annotated[Form, Depends(sent)]
Checked = Annotated[Form, Depends(checked)]
OurForm = Depends(checked)
"""For changes of which the form says nothing more than that it is ours."""


def wanted(query: Mapping[str, str], *names: str) -> dict[str, str]:
    """Return those of these parts of an address that are not empty."""
    return {name: query[name] for name in names if query.get(name, "").strip()}
