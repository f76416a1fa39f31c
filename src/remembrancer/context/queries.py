"""The statements of a context, read from their files, with the access rule filled in."""

from functools import cache
from typing import Final

from remembrancer.db.sql import NumberedSql, Part, numbered, statement_text
from remembrancer.memories.decay import decayed_sql

PLANNER: Final = {"plan_cache_mode": "force_generic_plan", "enable_seqscan": "off"}
"""Forces a generic plan: the statements read by key, or all memories of one owner."""

_PARTS: Final[dict[str, Part]] = {
    # A memory fades from the time it was last written or recalled.
    "weight": decayed_sql(
        "m.importance", "m.kind", "greatest(m.updated_at, m.last_accessed_at)", "now()"
    ),
    "weight_then": decayed_sql(
        "m.importance", "m.kind", "v.recorded_at", "CAST(:as_of AS timestamptz)"
    ),
}


@cache
def statement(name: str) -> NumberedSql:
    """Return ``sql/<name>.sql``."""
    return numbered(statement_text("remembrancer.context", name, name, **_PARTS))
