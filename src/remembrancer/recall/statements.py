"""The recall statements, read from their files and fitted to what is asked."""

from collections.abc import Collection
from functools import cache
from importlib.resources import files

from remembrancer.access import SCOPE_FACTS, visible
from remembrancer.db.engine import Template

# Which items a caller may narrow a search to. Only those in use stand in the statement: a
# condition that is always true is still paid for in every row.
_FILTERS = {
    "source_types": "i.source_type = ANY (CAST(:source_types AS text[]))",
    "kinds": "i.kind = ANY (CAST(:kinds AS text[]))",
    "categories": "i.category = ANY (CAST(:categories AS text[]))",
    "conversation_id": "i.conversation_id = :conversation_id",
    "space_id": "i.space_id = :space_id",
    "since": "i.at >= :since",
    "until": "i.at < :until",
}

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


def statement(name: str, given: Collection[str] = ()) -> Template:
    """Return ``sql/<name>.sql`` for the filters ``given``, with the access rule filled in.

    ``as_of`` among them makes it count the versions known and in force at that time.
    """
    return _fitted(name, frozenset(given))


@cache
def _fitted(name: str, given: frozenset[str]) -> Template:
    written = (files("remembrancer.recall") / "sql" / f"{name}.sql").read_text(encoding="utf-8")
    text = "\n".join(line for line in written.splitlines() if not line.lstrip().startswith("--"))
    blanks = {
        "visible": visible("i"),
        "scope_facts": SCOPE_FACTS,
        "no_memory": _NO_MEMORY,
        "filters": " ".join(f"AND {_FILTERS[name]}" for name in _FILTERS if name in given),
        **(_THEN if "as_of" in given else _NOW),
    }
    return Template.parse(text.format(**blanks))
