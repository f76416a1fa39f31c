"""The months of the audit log, which retention adds ahead and drops as a whole."""

from datetime import datetime
from functools import partial

from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.db.sql import statement

_sql = partial(statement, "remembrancer.audit", "months")


async def count_old(connection: AsyncConnection, before: datetime) -> int:
    """Return the lines of months that ended before a time."""
    return int((await connection.execute(_sql("count"), {"before": before})).scalar_one())


async def drop_old(connection: AsyncConnection, before: datetime) -> int | None:
    """Drop the first month that ended before a time, if nobody uses the log at the moment.

    Returns its lines, null if none was dropped.
    """
    lines: int | None = (await connection.execute(_sql("drop"), {"before": before})).scalar_one()
    return lines


async def add(connection: AsyncConnection) -> None:
    """Add the months to come."""
    await connection.execute(_sql("add"))
