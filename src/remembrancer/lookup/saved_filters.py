"""Filters of their memories that a user saves under a name. The only writer of the table."""

from collections import Counter
from collections.abc import Mapping
from typing import Final
from uuid import UUID

from sqlalchemy import Update, delete, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import audit
from remembrancer.access import Actor
from remembrancer.backend import Backend
from remembrancer.checks import find_user
from remembrancer.db.retries import retries_deadlocks
from remembrancer.db.rows import all_rows
from remembrancer.db.tables import saved_filters
from remembrancer.db.transfers import change_owner
from remembrancer.errors import Conflict, InvalidInput, NotFound
from remembrancer.ids import new_uuid
from remembrancer.lookup.schemas import FilterName, SavedFilter
from remembrancer.memories.schemas import MemoryFilter
from remembrancer.paging import Items
from remembrancer.users import repository as users
from remembrancer.validation import validate

MOST_SAVED: Final = 50
"""The most filters that one user saves."""
_LONGEST: Final = 4_000
"""Characters of the filters as JSON."""
_COLUMN: Final = saved_filters.c


@retries_deadlocks
class SavedFilters:
    """Filters of a user's memories, each with a name of its own. All methods need a user."""

    def __init__(self, backend: Backend) -> None:
        self._database = backend.database

    async def list(self, actor: Actor) -> Items[SavedFilter]:
        """Return the saved filters by name."""
        async with self._database.transaction(actor) as (connection, actor):
            user_id = (await find_user(connection, actor)).id
            saved = await _saved(connection, user_id)
            looked_at = {user_id: [str(one.id) for one in saved]} if saved else {}
            await audit.note_look(connection, actor, "filter.read", looked_at)
        return Items(items=saved)

    async def save(self, actor: Actor, name: str, filters: MemoryFilter) -> SavedFilter:
        """Save filters; under the name of saved ones, they take their place.

        Raises ``InvalidInput`` for an invalid name, too long filters, and more than 50 of them.
        """
        name = validate(FilterName, name=name).name
        if len(filters.model_dump_json(exclude_defaults=True)) > _LONGEST:
            raise InvalidInput("are too many; choose fewer", field="filters")
        values = {"name": name, "filters": filters.model_dump(mode="json", exclude_defaults=True)}
        async with self._database.transaction(actor) as (connection, actor):
            user_id, saved = await _locked(connection, actor)
            same = next((one.id for one in saved if _same(one.name, name)), None)
            if same is None and len(saved) >= MOST_SAVED:
                reason = f"is one more than the {MOST_SAVED} that may be saved; delete another"
                raise InvalidInput(reason, field="name")
            new = insert(saved_filters).values(user_id=user_id, id=new_uuid(), **values)
            change = new if same is None else _update(user_id, same).values(**values)
            [stored] = await all_rows(connection, SavedFilter, change.returning(*_SHOWN))
            await _note(connection, actor, "filter.save", stored.id)
        return stored

    async def rename(self, actor: Actor, filter_id: UUID, name: str) -> SavedFilter:
        """Give a saved filter another name. Raises ``Conflict`` if another one has it."""
        name = validate(FilterName, name=name).name
        async with self._database.transaction(actor) as (connection, actor):
            user_id, saved = await _locked(connection, actor)
            if any(_same(one.name, name) for one in saved if one.id != filter_id):
                raise Conflict("another filter has this name; choose another one", field="name")
            change = _update(user_id, filter_id).values(name=name).returning(*_SHOWN)
            renamed = _only(await all_rows(connection, SavedFilter, change))
            await _note(connection, actor, "filter.rename", filter_id)
        return renamed

    async def delete(self, actor: Actor, filter_id: UUID) -> SavedFilter:
        """Delete a saved filter and return it, for an undo."""
        async with self._database.transaction(actor) as (connection, actor):
            user_id, _ = await _locked(connection, actor)
            removal = delete(saved_filters).filter_by(user_id=user_id, id=filter_id)
            gone = _only(await all_rows(connection, SavedFilter, removal.returning(*_SHOWN)))
            await _note(connection, actor, "filter.delete", filter_id)
        return gone


_SHOWN: Final = (_COLUMN.id, _COLUMN.name, _COLUMN.filters)


def _same(one: str, other: str) -> bool:
    return one.casefold() == other.casefold()


def _only(found: list[SavedFilter]) -> SavedFilter:
    if not found:
        raise NotFound("no such filter", field="filter_id")
    return found[0]


def _update(user_id: UUID, filter_id: UUID) -> Update:
    return update(saved_filters).filter_by(user_id=user_id, id=filter_id)


async def _saved(connection: AsyncConnection, user_id: UUID) -> list[SavedFilter]:
    order = func.lower(_COLUMN.name), _COLUMN.id
    query = select(*_SHOWN).where(_COLUMN.user_id == user_id).order_by(*order)
    return await all_rows(connection, SavedFilter, query)


async def _locked(connection: AsyncConnection, actor: Actor) -> tuple[UUID, list[SavedFilter]]:
    """Lock the actor's user, so that no two filters get one name; return what they saved."""
    user_id = actor.require_user()
    current = (await users.lock(connection, [user_id])).get(user_id)
    if current is None:
        raise NotFound("no such user", field="user_id")
    return current, await _saved(connection, current)


async def _note(connection: AsyncConnection, actor: Actor, action: str, filter_id: UUID) -> None:
    await audit.note(connection, actor, action, [str(filter_id)])


async def transfer(connection: AsyncConnection, giver: UUID, taker: UUID) -> dict[str, list[str]]:
    """Move all filters; two may have one name then."""
    ids = select(_COLUMN.id).where(_COLUMN.user_id == giver)
    moved = [str(filter_id) for filter_id in (await connection.execute(ids)).scalars()]
    await connection.execute(change_owner(saved_filters, giver, taker, key="user_id"))
    return {"saved_filters": moved}


async def transfer_back(
    connection: AsyncConnection, giver: UUID, taker: UUID, record: Mapping[str, list[str]]
) -> None:
    """Move back what :func:`transfer` moved and is there still."""
    # Merges of earlier versions moved none.
    these = _COLUMN.id.in_([UUID(filter_id) for filter_id in record.get("saved_filters", ())])
    await connection.execute(change_owner(saved_filters, taker, giver, these, key="user_id"))


async def erase(connection: AsyncConnection, user_id: UUID) -> Counter[str]:
    """Delete all filters of a user; return the rows deleted."""
    removal = delete(saved_filters).where(_COLUMN.user_id == user_id)
    return Counter(saved_filters=(await connection.execute(removal)).rowcount)
