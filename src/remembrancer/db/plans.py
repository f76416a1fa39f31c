"""How Postgres plans our statements."""

from typing import Final

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

SETTINGS: Final = {
    "timezone": "UTC",
    "jit": "off",
    # The best plan depends on the user's number of rows. Planning for the actual values costs
    # two milliseconds; a generic plan costs two hundred.
    "plan_cache_mode": "force_custom_plan",
}
"""Settings of each transaction, never of a session: a pooler may change what is behind it."""

PLANNED_ONCE: Final = {"plan_cache_mode": "force_generic_plan"}
"""Settings of statements that find few rows by key: planning would be most of their time."""

_PLAN_ANEW: Final = text(f"SET LOCAL plan_cache_mode = {SETTINGS['plan_cache_mode']}")


async def plan_anew(connection: AsyncConnection) -> None:
    """Plan the statements that follow for their values, after a trip with BEGIN."""
    await connection.execute(_PLAN_ANEW)
