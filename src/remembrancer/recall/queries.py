"""The recall statements, read from their files and fitted to what is asked."""

from collections.abc import Collection, Mapping
from functools import cache
from importlib.resources import files

from remembrancer.access import NAMESPACE, SCOPE_FACTS, SPACES, visible
from remembrancer.db.engine import Template
from remembrancer.memories.decay import decayed_sql

# Which items a caller may narrow a search to. Only those in use stand in the statement: a
# condition that is always true is still paid for in every row.
_FILTERS = {
    "source_types": "i.source_type = ANY (CAST(:source_types AS text[]))",
    "kinds": "i.kind = ANY (CAST(:kinds AS text[]))",
    "categories": "i.category = ANY (CAST(:categories AS text[]))",
    "conversation_id": "i.conversation_id = :conversation_id",
    "space_id": "i.space_id = :space_id",
    "among": "(i.owner_id = :user_id AND i.memory_id IN (SELECT unnest(CAST(:among AS text[]))))",
    "since": "i.at >= :since",
    "until": "i.at < :until",
    "window_of": (
        "(i.conversation_id IS DISTINCT FROM :window_of OR coalesce(i.position, 0) <= "
        "(SELECT message_count - :window FROM conversations WHERE id = :window_of))"
    ),
}

# The words of a memory: those of its current version, or of the version asked about.
_NOW = {
    "version_column": "m.content",
    "version_number": "m.version",
    "version_interval": "m.valid_from, m.valid_to",
    "version_join": "",
    "known": "i.superseded_at IS NULL",
    "linked": "",
    "now": "now()",
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
    "linked": "AND a.created_at <= :as_of",
    "now": "CAST(:as_of AS timestamptz)",
}

# What only memories have, for messages and chunks.
_NO_MEMORY = (
    "NULL AS kind, NULL AS category, NULL AS subject, CAST(NULL AS boolean) AS pinned, "
    "CAST(NULL AS int) AS version, CAST(NULL AS int) AS access_count, "
    "CAST(NULL AS float8) AS weight, "
    "CAST(NULL AS timestamptz) AS valid_from, CAST(NULL AS timestamptz) AS valid_to"
)


# A memory fades from when it was last written or recalled.
_LAST_OF_USE = "greatest(i.at, m.last_accessed_at)"

# The rule stands in the statement several times; what it looks up is looked up once.
_VIEWED_ONCE = {
    "namespace": NAMESPACE,
    "spaces": SPACES,
    "visible": visible(
        "i",
        namespace="(SELECT namespace FROM viewer)",
        spaces="CAST((SELECT spaces FROM viewer) AS uuid[])",
    ),
}


def statement(name: str, given: Collection[str] = ()) -> Template:
    """Return ``sql/<name>.sql`` for the filters ``given``, with the access rule filled in.

    ``as_of`` among them makes it count the versions known and in force at that time.
    """
    return _fitted(name, frozenset(given))


@cache
def _fitted(name: str, given: frozenset[str]) -> Template:
    time = _THEN if "as_of" in given else _NOW
    blanks = {
        **(_VIEWED_ONCE if name == "candidates" else {"visible": visible("i")}),
        "scope_facts": SCOPE_FACTS,
        "no_memory": _NO_MEMORY,
        "filters": " ".join(f"AND {_FILTERS[name]}" for name in _FILTERS if name in given),
        "weight": decayed_sql("i.importance", "i.kind", _LAST_OF_USE, time["now"]),
        **time,
    }
    return Template.parse(_written(name).format(**blanks, **_walk(blanks)))


def _walk(blanks: Mapping[str, str]) -> dict[str, str]:
    """Return the parts of a statement that follow associations."""

    def links(node: str, only: str = "") -> str:
        return _written("links").format(
            **blanks, node=node, only=f"{only} {blanks['linked']}".strip()
        )

    step = _written("step")
    return {
        "step_from_seeds": step.format(nodes="seeds", links=links("n", "AND a.weight > 0")),
        "step_from_frontier": step.format(nodes="frontier", links=links("n", "AND a.weight > 0")),
        "revisions_of_c": links("c", "AND a.relation IN ('updates', 'contradicts')"),
    }


def _written(name: str) -> str:
    text = (files("remembrancer.recall") / "sql" / f"{name}.sql").read_text(encoding="utf-8")
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("--"))
