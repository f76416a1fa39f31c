"""The statements of recall, with the access rule and the filters of a query."""

from collections.abc import Collection
from functools import cache
from typing import Final

from remembrancer.access import NAMESPACE, SPACES, scope_facts, told_in, visible
from remembrancer.db.sql import NumberedSql, Part, numbered, statement_text
from remembrancer.memories.decay import decayed_sql
from remembrancer.memories.metadata import MATCHES

_PACKAGE: Final = "remembrancer.recall"

# A statement has only the filters in use: an always true condition costs time in every row.
_FILTERS: Final = {
    "source_types": "i.source_type = ANY (CAST(:source_types AS text[]))",
    "kinds": "i.kind = ANY (CAST(:kinds AS text[]))",
    "categories": "i.category = ANY (CAST(:categories AS text[]))",
    "conversation_id": "i.conversation_id = :conversation_id",
    "space_id": "i.space_id = :space_id",
    "among": "(i.owner_id = :user_id AND i.memory_id IN (SELECT unnest(CAST(:among AS text[]))))",
    "since": "i.at >= :since",
    "until": "i.at < :until",
    "window": (
        "(i.conversation_id IS DISTINCT FROM :told_in OR coalesce(i.position, 0) <= "
        "(SELECT message_count - :window FROM conversations WHERE id = :told_in))"
    ),
    "told_in": told_in("i", "(SELECT space_id FROM app_conversation(:told_in))"),
    # By the access rule, so that Postgres reads the memories of the asker's owners alone.
    **{
        name: "(i.owner_id, i.memory_id) IN (SELECT m.owner_id, m.id FROM memories AS m "  # noqa: S608 - of constants
        f"WHERE {visible('m')} AND m.metadata <> '{{}}' AND {condition})"
        for name, condition in MATCHES.items()
    },
}

# Also the best items of the days that the question names, from a date to before another.
_DATED: Final[dict[str, Part]] = {
    "at": ", i.at",
    "dated": (
        "UNION ALL SELECT owner_id, id, row_number() OVER (ORDER BY distance, id) FROM "
        "(SELECT owner_id, id, distance FROM seen WHERE at >= :told_from AND at < :told_before "
        "ORDER BY distance, id LIMIT :per_days) AS in_days"
    ),
}
_NO_WORDS: Final = (
    "SELECT CAST(NULL AS bigint) AS id, CAST(NULL AS int[]) AS words,"
    " CAST(NULL AS real[]) AS scores WHERE false"
)
_NAMES: Final = "ARRAY(SELECT i.embedding <=> n.vector FROM names AS n ORDER BY n.number)"

EXACT_FILTERS: Final = frozenset({"as_of", "conversation_id", "space_id", "among"})
"""With these all items are compared: the index has only current ones, and is slow for few."""

# Replaces the current version of a memory by the version known and valid at a time.
_AS_OF: Final = {
    "content": "v.content",
    "version": "v.version",
    "interval": "v.valid_from, v.valid_to",
    "message": "v.message_id",
    "versions": (
        "JOIN memory_versions AS v ON v.owner_id = m.owner_id AND v.memory_id = m.id "
        "AND v.version = i.memory_version"
    ),
    "known": (
        "i.recorded_at <= :as_of "
        "AND (i.superseded_at IS NULL OR i.superseded_at > :as_of) "
        "AND (i.valid_from IS NULL OR i.valid_from <= :as_of) "
        "AND (i.valid_to IS NULL OR i.valid_to > :as_of)"
    ),
    "before": "AND a.created_at <= :as_of",
}

# Importance decays from the last write or recall of a memory.
_LAST_USE: Final = "greatest(i.at, m.last_accessed_at)"

# candidates.sql has the rule several times; its look-ups run once.
_RULE_OF_CANDIDATES: Final[dict[str, Part]] = {
    "namespace": NAMESPACE,
    "spaces": SPACES,
    "visible": lambda alias: visible(
        alias,
        namespace="(SELECT namespace FROM viewer)",
        spaces="CAST((SELECT spaces FROM viewer) AS uuid[])",
    ),
}


@cache
def asker() -> NumberedSql:
    return numbered(statement_text(_PACKAGE, "asker", "asker", scope_facts=scope_facts()))


def candidates(
    filters: Collection[str] = (),
    *,
    associated: bool = True,
    dimensions: int = 0,
    given: bool = False,
) -> NumberedSql:
    """Return the hybrid search; with the filter ``as_of``, over the versions of that time.

    With ``told_from``, days of the question give candidates too; with ``names``, each candidate
    has its distance to names. Unless ``associated``, it looks for no associations. With the
    ``dimensions`` of the vectors, it is the one for sets that are too large to compare. With
    ``given``, it starts from items that :class:`Choice` binds.
    """
    return _candidates(frozenset(filters), associated, dimensions, given)


def fetch(filters: Collection[str]) -> NumberedSql:
    """Return the statement that reads hits which :class:`Choice` ranked."""
    return _fetch(frozenset(filters))


@cache
def changes() -> NumberedSql:
    return numbered(statement_text(_PACKAGE, "changes", "changes"))


def memories_in_order(filters: Collection[str] = ()) -> NumberedSql:
    return _memories_in_order(frozenset(filters))


@cache
def _candidates(
    filters: frozenset[str], associated: bool, dimensions: int, given: bool
) -> NumberedSql:
    parts = _parts_of_candidates(filters)
    large: dict[str, Part] = dict.fromkeys(
        ("sets", "items", "unseen", "counted", "posted", "rarity")
    )
    if dimensions:
        large = {
            name: statement_text(_PACKAGE, "large", name, **parts, dimensions=str(dimensions))
            for name in ("sets", "items", "posted", "rarity")
        }
        large["sets"] = f"{large['sets']},"
        large["counted"] = "WHERE owner_id NOT IN (SELECT owner_id FROM sets WHERE items > 0)"
        large["unseen"] = lambda column: f"+ (SELECT coalesce(sum({column}), 0) FROM sets)"  # noqa: S608 - of constants
    arms = "given" if given else "arms"
    parts["arms"] = statement_text(_PACKAGE, "candidates", arms, **parts, **large) + ","
    parts["words"] = _NO_WORDS if given else None

    def neighbours(condition: str) -> str:
        return statement_text(_PACKAGE, "graph", "neighbours", **parts, only=condition)

    def step(nodes: str) -> str:
        return statement_text(_PACKAGE, "graph", "step", nodes=nodes, neighbours=neighbours)

    graph: dict[str, Part] = dict.fromkeys(("walk", "revisions"))
    if associated:
        walk = {"step": step, "neighbours": neighbours}
        for name, end in (("walk", ","), ("revisions", "")):
            graph[name] = statement_text(_PACKAGE, "graph", name, **parts, **walk) + end
    return numbered(statement_text(_PACKAGE, "candidates", "candidates", **parts, **graph))


@cache
def _fetch(filters: frozenset[str]) -> NumberedSql:
    return numbered(statement_text(_PACKAGE, "fetch", "fetch", **_parts_of_candidates(filters)))


@cache
def _memories_in_order(filters: frozenset[str]) -> NumberedSql:
    name = "memories_in_order"
    return numbered(statement_text(_PACKAGE, name, name, **_parts(filters)))


def _parts_of_candidates(filters: frozenset[str]) -> dict[str, Part]:
    parts = {**_parts(filters), **_RULE_OF_CANDIDATES}
    return {**parts, "text": statement_text(_PACKAGE, "candidates", "text", **parts)}


def _parts(filters: frozenset[str]) -> dict[str, Part]:
    as_of = "as_of" in filters
    now = "CAST(:as_of AS timestamptz)" if as_of else "now()"
    return {
        "visible": visible,
        "filters": " ".join(f"AND {_FILTERS[name]}" for name in _FILTERS if name in filters),
        "weight": decayed_sql("i.importance", "i.kind", _LAST_USE, now),
        **(_AS_OF if as_of else dict.fromkeys(_AS_OF)),
        **(_DATED if "told_from" in filters else dict.fromkeys(_DATED)),
        "name_distances": _NAMES if "names" in filters else None,
    }
