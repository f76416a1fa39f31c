"""The recall statements, read from their files once."""

from importlib.resources import files

from remembrancer.access import SCOPE_FACTS, visible
from remembrancer.db.engine import Template

# The words of a memory: those of its current version, or of the version asked about.
_NOW = {
    "version_column": "m.content",
    "version_number": "m.version",
    "version_interval": "m.valid_from, m.valid_to",
    "version_join": "",
    "known": "i.superseded_at IS NULL",
}
_THEN = {
    "version_column": "v.content",
    "version_number": "v.version",
    "version_interval": "v.valid_from, v.valid_to",
    "version_join": (
        "JOIN memory_versions AS v ON v.owner_id = m.owner_id AND v.memory_id = m.id "
        "AND v.version = i.memory_version"
    ),
    "known": (
        "i.recorded_at <= :as_of "
        "AND (i.superseded_at IS NULL OR i.superseded_at > :as_of) "
        "AND (i.valid_from IS NULL OR i.valid_from <= :as_of) "
        "AND (i.valid_to IS NULL OR i.valid_to > :as_of)"
    ),
}

# What only memories have, for messages and chunks.
_NO_MEMORY = (
    "NULL AS kind, NULL AS category, NULL AS subject, CAST(NULL AS boolean) AS pinned, "
    "CAST(NULL AS int) AS version, CAST(NULL AS int) AS access_count, "
    "CAST(NULL AS timestamptz) AS valid_from, CAST(NULL AS timestamptz) AS valid_to"
)


def load(name: str, *, as_of: bool = False) -> Template:
    """Return ``sql/<name>.sql`` with its blanks filled in, ready to be bound.

    The access rule goes in, and which versions of memories count: today's, or those known
    and in force at ``:as_of``.
    """
    written = (files("remembrancer.recall") / "sql" / f"{name}.sql").read_text(encoding="utf-8")
    statement = "\n".join(line for line in written.splitlines() if not line.startswith("--"))
    blanks = {"visible": visible("i"), "scope_facts": SCOPE_FACTS, "no_memory": _NO_MEMORY}
    blanks |= _THEN if as_of else _NOW
    return Template.parse(statement.format(**blanks))


FACTS = load("facts")
CANDIDATES = {as_of: load("candidates", as_of=as_of) for as_of in (False, True)}
MEMORIES_IN_ORDER = {as_of: load("memories_in_order", as_of=as_of) for as_of in (False, True)}
