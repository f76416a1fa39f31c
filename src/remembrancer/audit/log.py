"""Read the audit log."""

from typing import Any, Final
from uuid import UUID

from sqlalchemy import Select, func, or_, select

from remembrancer.access import Actor, Role
from remembrancer.audit import note
from remembrancer.audit.schemas import AuditFilter, AuditLine
from remembrancer.db.engine import Database
from remembrancer.db.keyset import Keyset
from remembrancer.db.retries import retries_deadlocks
from remembrancer.db.tables import audit_log
from remembrancer.errors import NotFound
from remembrancer.ids import SHARED_OWNER
from remembrancer.paging import Page, PageMethod
from remembrancer.user_names import UNRESOLVED, AnyUser

# Indexes start with the time, for all lines and for the lines of an owner.
_ORDER: Final = Keyset("audit", audit_log.c.at, audit_log.c.id, descending=True)


@retries_deadlocks
class AuditLog:
    """The audit log: all lines for admins, for others the lines about their own data."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @PageMethod
    async def list(
        self,
        actor: Actor,
        filters: AuditFilter | None = None,
        *,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Page[AuditLine]:
        """Return a page of lines, the latest first. A read by an admin adds a line.

        Actors who are not admins see the lines about one user: the user of the filter, or their
        own. Raises ``InvalidInput`` if a service names no user, ``NotFound`` if a user names
        another.
        """
        filters = filters or AuditFilter()
        user_id = await self._user_id(actor, filters.user_id, "user_id")
        actor_user_id = await self._user_id(actor, filters.actor_user_id, "actor_user_id")
        if actor.role is Role.ADMIN:
            async with self._database.system_for(actor) as (connection, actor):
                query = _matching(filters, user_id, actor_user_id)
                page = await _ORDER.page(connection, AuditLine, query, limit, cursor)
                await note(connection, actor, "audit.read", [], owner_id=user_id)
        else:
            actor = actor.acting_for(user_id)
            actor.require_user()
            # The transaction has the current id, the filter may name a former one.
            async with self._database.transaction(actor) as (connection, actor):
                query = _matching(filters, actor.user_id, actor_user_id)
                page = await _ORDER.page(connection, AuditLine, query, limit, cursor)
        return page

    async def _user_id(self, actor: Actor, user: AnyUser | None, field: str) -> UUID | None:
        if user is None:
            return None
        user_id = await self._database.user_id(user, field=field)
        if user_id == UNRESOLVED and actor.role is not Role.USER:
            raise NotFound("no such user", field=field)
        return user_id


def _matching(
    filters: AuditFilter, user_id: UUID | None, actor_user_id: UUID | None
) -> Select[Any]:
    column = audit_log.c
    # Null in answers for shared knowledge.
    owner = func.nullif(column.owner_id, SHARED_OWNER).label("user_id")
    statement = select(audit_log, owner)
    equal = {
        column.owner_id: user_id,
        column.actor_user_id: actor_user_id,
        column.outcome: filters.outcome,
        column.entry_point: filters.entry_point,
    }
    for name, value in equal.items():
        if value is not None:
            statement = statement.where(name == value)
    if filters.action is not None:
        below = column.action.startswith(f"{filters.action}.", autoescape=True)
        statement = statement.where(or_(column.action == filters.action, below))
    if filters.target_id is not None:
        statement = statement.where(column.target_ids.contains([filters.target_id]))
    if filters.since is not None:
        statement = statement.where(column.at >= filters.since)
    if filters.until is not None:
        statement = statement.where(column.at < filters.until)
    return statement
