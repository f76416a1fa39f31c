"""Read the audit log."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Select, or_, select, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.access import Actor, Role
from remembrancer.audit.notes import note
from remembrancer.audit.schemas import AuditFilter, AuditLine
from remembrancer.db.engine import Database
from remembrancer.db.tables import audit_log
from remembrancer.errors import InvalidInput
from remembrancer.ids import public_owner
from remembrancer.paging import LARGEST_PAGE, Page
from remembrancer.text import check_range, from_cursor, to_cursor

Position = tuple[datetime, UUID]
"""Of a line in the log: when, and which of that moment."""


class AuditLog:
    """The audit log: all of it for admins, what concerns their own data for everybody else."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list(
        self,
        actor: Actor,
        wanted: AuditFilter | None = None,
        *,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Page[AuditLine]:
        """Return a page of lines, the latest first. An admin's look is a line itself.

        Who is no admin sees the lines about one user: the one they ask about or act for. Raises
        ``InvalidInput`` where a service names none, ``NotFound`` where a user names another.
        """
        check_range(limit, 1, LARGEST_PAGE, field="limit")
        before = _position(cursor)
        wanted = wanted or AuditFilter()
        if actor.role is Role.ADMIN:
            async with self._database.system_for(actor) as (connection, actor):
                rows = await _rows(connection, _page(wanted, limit, before))
                await note(connection, actor, "audit.read", [], owner_id=wanted.user_id)
        else:
            actor = actor.acting_for(wanted.user_id)
            actor.require_user()
            # Whoever they were before a merge, the lines are those of who they are now.
            wanted = wanted.model_copy(update={"user_id": None})
            async with self._database.transaction(actor) as (connection, actor):
                own = audit_log.c.owner_id == actor.user_id
                rows = await _rows(connection, _page(wanted, limit, before).where(own))
        items = [_line(row) for row in rows[:limit]]
        more = len(rows) > limit
        return Page(items=items, next_cursor=_cursor(items[-1]) if more else None)


def _cursor(line: AuditLine) -> str:
    return to_cursor(line.at.isoformat(), str(line.id))


def _position(cursor: str | None) -> Position | None:
    if cursor is None:
        return None
    at, line_id = from_cursor(cursor, 2)
    try:
        position = datetime.fromisoformat(at), UUID(line_id)
    except ValueError:
        position = None
    if position is None or position[0].tzinfo is None:
        raise InvalidInput("is not a cursor from an earlier answer", field="cursor")
    return position


def _matching(wanted: AuditFilter) -> Select[Any]:
    column = audit_log.c
    statement = select(audit_log)
    same = {
        column.owner_id: wanted.user_id,
        column.actor_user_id: wanted.actor_user_id,
        column.outcome: wanted.outcome,
        column.entry_point: wanted.entry_point,
    }
    for which, value in same.items():
        if value is not None:
            statement = statement.where(which == value)
    if wanted.action is not None:
        below = column.action.startswith(f"{wanted.action}.", autoescape=True)
        statement = statement.where(or_(column.action == wanted.action, below))
    if wanted.target_id is not None:
        statement = statement.where(column.target_ids.contains([wanted.target_id]))
    if wanted.since is not None:
        statement = statement.where(column.at >= wanted.since)
    if wanted.until is not None:
        statement = statement.where(column.at < wanted.until)
    return statement


def _page(wanted: AuditFilter, limit: int, before: Position | None) -> Select[Any]:
    # By time first, which has an index of all lines and one of each owner's.
    order = audit_log.c.at, audit_log.c.id
    statement = _matching(wanted).order_by(*(column.desc() for column in order)).limit(limit + 1)
    return statement if before is None else statement.where(tuple_(*order) < tuple_(*before))


async def _rows(connection: AsyncConnection, statement: Select[Any]) -> list[Any]:
    return list((await connection.execute(statement)).all())


def _line(row: Any) -> AuditLine:
    values = {**row._mapping, "user_id": public_owner(row.owner_id)}
    values.pop("owner_id")
    return AuditLine.model_validate(values)
