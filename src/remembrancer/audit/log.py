"""Read the audit log."""

from typing import Any, Final

from sqlalchemy import Select, func, or_, select

from remembrancer.access import Actor, Role
from remembrancer.audit.notes import note
from remembrancer.audit.schemas import AuditFilter, AuditLine
from remembrancer.db.engine import Database
from remembrancer.db.keyset import Keyset
from remembrancer.db.tables import audit_log
from remembrancer.ids import SHARED_OWNER
from remembrancer.paging import Page

# Indexes start with the time, for all lines and for the lines of an owner.
_ORDER: Final = Keyset("audit", audit_log.c.at, audit_log.c.id, descending=True)


class AuditLog:
    """The audit log: all lines for admins, for others the lines about their own data."""

    def __init__(self, database: Database) -> None:
        self._database = database

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
        if actor.role is Role.ADMIN:
            async with self._database.system_for(actor) as (connection, actor):
                query = _matching(filters)
                page = await _ORDER.page(connection, AuditLine, query, limit, cursor)
                await note(connection, actor, "audit.read", [], owner_id=filters.user_id)
        else:
            actor = actor.acting_for(filters.user_id)
            actor.require_user()
            # The filter may name a former id of a merged user; the lines have the current one.
            filters = filters.model_copy(update={"user_id": None})
            async with self._database.transaction(actor) as (connection, actor):
                query = _matching(filters).where(audit_log.c.owner_id == actor.user_id)
                page = await _ORDER.page(connection, AuditLine, query, limit, cursor)
        return page


def _matching(filters: AuditFilter) -> Select[Any]:
    column = audit_log.c
    # Null in answers for shared knowledge.
    user_id = func.nullif(column.owner_id, SHARED_OWNER).label("user_id")
    statement = select(audit_log, user_id)
    equal = {
        column.owner_id: filters.user_id,
        column.actor_user_id: filters.actor_user_id,
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
