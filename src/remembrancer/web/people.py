"""Find a person on a page: by part of a name or platform id, as far as the signed-in one may."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Final, Protocol

from fastapi import APIRouter
from starlette.responses import Response

from remembrancer.access import Role
from remembrancer.errors import InvalidInput
from remembrancer.lookup.schemas import Person
from remembrancer.user_names import parse_user
from remembrancer.web.dependencies import PageRequest, SessionRequest

router = APIRouter()

_FIELD: Final = "person"
_NOBODY: Final = {
    True: "is nobody's name or id; people are listed on the page People",
    False: "is nobody that you share a space with; use the id on their profile, or platform:id",
}


class Fields(Protocol):
    """A posted form, or the query of an address."""

    def get(self, name: str, /) -> str | None:
        """Return the value of a field."""


class SeveralPeople(InvalidInput):
    """A text that people have in common; the page offers them as ``choices``."""

    def __init__(self, choices: Sequence[Person]) -> None:
        super().__init__("choose one of the people below", field=_FIELD)
        self.choices = choices


@router.get("/choices")
async def choices(request: SessionRequest, person: str = "") -> Response:
    """Return the options of a picker: the people whom the signed-in person may see."""
    found = await request.app.names.find(request.actor, person) if person.strip() else []
    return request.render("choices.html", people=found)


async def person_in(request: PageRequest, fields: Fields, name: str = "user_id") -> str | None:
    """Return the person that a form names: an id or ``platform:id``; null without one.

    The id that was chosen counts, unless the text beside it has changed since, as it does without
    scripts. Then the text counts: an id, ``platform:id``, or a name; only one that is the whole
    name of one person is taken without a question. Raises ``SeveralPeople`` or ``InvalidInput``
    for the field ``person``.
    """
    text = (fields.get(_FIELD) or "").strip()
    chosen = (fields.get(name) or "").strip()
    if chosen and text == (fields.get("person_for") or "").strip():
        return chosen
    return await _find(request, text) if text else None


async def _find(request: PageRequest, text: str) -> str:
    # Before any name: who calls themselves by the id of somebody else is not taken for them.
    with suppress(ValueError):
        return str(parse_user(text))
    people = await request.app.names.find(request.actor, text)
    same = [one for one in people if one.display_name.casefold() == text.casefold()]
    if len(same) == 1:
        return str(same[0].id)
    if people:
        raise SeveralPeople(same or people)
    raise InvalidInput(_NOBODY[request.actor.role is Role.ADMIN], field=_FIELD)
