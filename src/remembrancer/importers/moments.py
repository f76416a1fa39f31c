"""Times of an export: seconds or milliseconds since 1970, or ISO 8601. Pure."""

from datetime import UTC, datetime
from typing import Annotated, Final

from pydantic import AfterValidator

from remembrancer.importers.parse import in_years, invalid

_MILLISECONDS: Final = 1e11
"""Numbers from here on are milliseconds: as seconds they lie after the year 5000."""


def moment(value: object) -> datetime | None:
    """Return a time with its zone, UTC if it names none; null for anything else."""
    try:
        if isinstance(value, str):
            at = datetime.fromisoformat(value.strip())
            return at if at.tzinfo else at.replace(tzinfo=UTC)
        if not isinstance(value, int | float) or not value:
            return None
        return datetime.fromtimestamp(value / 1000 if value >= _MILLISECONDS else value, UTC)
    except (OverflowError, ValueError, OSError):
        return None


def milliseconds(value: int, where: str) -> datetime:
    """Return a time in milliseconds since 1970; raise ``InvalidInput`` if it is none."""
    at = moment(value / 1000)
    if at is None:
        raise invalid(where, "is not a time in milliseconds since 1970")
    return at


def _storable(at: datetime | None) -> datetime | None:
    if at is None or not in_years(at):
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)


StorableTime = Annotated[datetime | None, AfterValidator(_storable)]
"""A time of a memory: UTC if it names no zone, null if no store could have it."""
