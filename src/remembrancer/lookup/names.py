"""Names for ids, and people by part of a name: for who may see them."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Final
from uuid import UUID

from remembrancer import audit
from remembrancer.access import STAFF, Actor, Role
from remembrancer.backend import Backend
from remembrancer.db.retries import retries_deadlocks
from remembrancer.db.rows import all_rows
from remembrancer.db.sql import statement
from remembrancer.ids import SHARED_OWNER
from remembrancer.lookup.rows import NameRow, PersonRow
from remembrancer.lookup.schemas import IdName, Person
from remembrancer.text import Key
from remembrancer.validation import Input, validate

MOST_CHOICES: Final = 20
_sql = partial(statement, "remembrancer.lookup", "names")


class _Search(Input):
    text: Key


@retries_deadlocks
class Names:
    """Names of people, agents, spaces and keys.

    Admins and services see everybody. Users see the members of their own spaces, as the page of a
    space shows them, and nobody's platform ids.
    """

    def __init__(self, backend: Backend) -> None:
        self._database = backend.database

    async def find(self, actor: Actor, text: str, *, limit: int = MOST_CHOICES) -> Sequence[Person]:
        """Return people with ``text`` in their name, in a platform id, or at the start of their id.

        In upper or lower case; those whose name starts with it come first. Raises ``InvalidInput``
        for an empty text.
        """
        text = validate(_Search, text=text.strip()).text
        return await self._people(actor, text, [], limit)

    async def people(self, actor: Actor, ids: Iterable[UUID]) -> dict[UUID, str]:
        """Return the names of those people among ``ids`` whom the actor sees."""
        ids = list(ids)
        if not ids:
            return {}
        if actor.role in STAFF:
            return {id_: named.name for id_, named in (await self._named(ids)).items()
                    if named.kind == "person"}  # fmt: skip
        # No name has a control character, so that the ids alone decide.
        found = await self._people(actor, "\x01", ids, len(ids))
        return {person.id: person.display_name for person in found}

    async def of(self, actor: Actor, ids: Iterable[object]) -> Mapping[str, IdName]:
        """Return the names of people, agents, spaces and keys by id. For admins.

        Whatever is no id of any of them is left out. No line of the audit log: this names what a
        list of ids, which is noted, has shown.
        """
        actor.require(Role.ADMIN)
        known = {id_ for each in ids if (id_ := _as_uuid(each)) is not None}
        named = await self._named(sorted(known)) if known else {}
        return {str(id_): name for id_, name in named.items()}

    async def _named(self, ids: Sequence[UUID]) -> dict[UUID, IdName]:
        binds = {"ids": ids, "shared_owner": SHARED_OWNER}
        async with self._database.system() as connection:
            rows = await all_rows(connection, NameRow, _sql("named"), binds)
        return {row.id: IdName(kind=row.kind, name=row.name) for row in rows}

    async def _people(
        self, actor: Actor, text: str, ids: Sequence[UUID], limit: int
    ) -> Sequence[Person]:
        """Return the people with a text or one of the ids. The statement has the access rule."""
        async with self._database.system_for(actor) as (connection, actor):
            binds: dict[str, object] = {"text": text, "most": limit}
            if actor.role in STAFF:
                sql, binds["shared_owner"] = _sql("everybody"), SHARED_OWNER
            else:
                sql = _sql("fellows")
                binds |= {"user_id": actor.require_user(), "ids": ids}
            rows = await all_rows(connection, PersonRow, sql, binds)
            looked_at = {row.id: [str(row.id)] for row in rows}
            await audit.note_look(connection, actor, "user.read", looked_at)
        return [Person(id=row.id, display_name=row.display_name, links=row.links) for row in rows]


def _as_uuid(value: object) -> UUID | None:
    try:
        return value if isinstance(value, UUID) else UUID(str(value))
    except ValueError:
        return None
