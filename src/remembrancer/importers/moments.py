"""Times of an export: seconds or milliseconds since 1970, or ISO 8601. Pure."""

from datetime import UTC, datetime
from typing import Final

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
