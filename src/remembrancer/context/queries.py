"""The statements of a context, read from their files, with the access rule filled in."""

from functools import cache
from importlib.resources import files
from typing import Final

from remembrancer.access import visible
from remembrancer.db.engine import Template
from remembrancer.ids import SHARED_OWNER
from remembrancer.memories.decay import decayed_sql

PLANNER: Final = {"plan_cache_mode": "force_generic_plan", "enable_seqscan": "off"}
"""Planned once: what they read is found by key, or all there is of one owner."""

# What is stored of a group is for all of it; else it is for the one who speaks.
_GROUP = "coalesce(cardinality(t.participants) > 1, false)"
_BLANKS = {
    "nobody": str(SHARED_OWNER),
    "talk": "SELECT * FROM app_conversation(CAST(:conversation_id AS uuid))",
    "group": _GROUP,
    "reader": (
        f"CASE WHEN {_GROUP} OR CAST(:user_id AS uuid) IS NULL"
        f" THEN '{SHARED_OWNER}'::uuid ELSE :user_id END"
    ),
    "through": f"coalesce(CAST(:agent_id AS uuid), '{SHARED_OWNER}')",
    "shared": f"(m.owner_id = '{SHARED_OWNER}' OR m.visibility = 'shared')",
    # A memory fades from when it was last written or recalled.
    "weight": decayed_sql(
        "m.importance", "m.kind", "greatest(m.updated_at, m.last_accessed_at)", "now()"
    ),
    "weight_then": decayed_sql(
        "m.importance", "m.kind", "v.recorded_at", "CAST(:as_of AS timestamptz)"
    ),
}


@cache
def statement(name: str) -> Template:
    """Return ``sql/<name>.sql``."""
    text = (files("remembrancer.context") / "sql" / f"{name}.sql").read_text(encoding="utf-8")
    code = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("--"))
    return Template.parse(code.format(**_BLANKS, visible=visible("m")))
