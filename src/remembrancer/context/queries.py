"""The statements of a context, with the access rule filled in."""

from functools import cache
from typing import Any, Final

from remembrancer.context.rows import Candidate, FrozenRow, PromptMemory, ReaderRow, RecentMessage
from remembrancer.db.sql import NumberedSql, Part, Statement, numbered, statement_text
from remembrancer.memories.decay import decayed_sql

PLANNER: Final = {"plan_cache_mode": "force_generic_plan", "enable_seqscan": "off"}
"""Forces a generic plan: the statements read by key, or all memories of one owner."""

_PARTS: Final[dict[str, Part]] = {
    "talk": statement_text("remembrancer.context", "talk", "talk"),
    # Importance decays from the last write or recall of a memory.
    "weight": decayed_sql(
        "m.importance", "m.kind", "greatest(m.updated_at, m.last_accessed_at)", "now()"
    ),
    "weight_then": decayed_sql(
        "m.importance", "m.kind", "v.recorded_at", "CAST(:as_of AS timestamptz)"
    ),
}
_ROWS: Final[dict[str, type[Any]]] = {
    "bulletin": Candidate,
    "candidates": Candidate,
    "candidates_as_of": Candidate,
    "changes": PromptMemory,
    "frozen_block": FrozenRow,
    "reader": ReaderRow,
    "recent_messages": RecentMessage,
    "speaker_memories": PromptMemory,
}


def statement(name: str, **binds: Any) -> Statement:
    return Statement(_numbered(name), binds, PLANNER, _ROWS[name])


@cache
def _numbered(name: str) -> NumberedSql:
    return numbered(statement_text("remembrancer.context", name, name, **_PARTS))
