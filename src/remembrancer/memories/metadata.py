"""Filters on metadata: checked here, compared by Postgres. Pure."""

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BeforeValidator, Field

from remembrancer.text import Metadata

OPERATORS: Final = ("eq", "in", "gt", "gte", "lt", "lte")
MOST_VALUES: Final = 100
"""Values of one ``in``."""
Scalar = str | int | float
Condition = tuple[list[str], str, Any]
"""The path of a value in the metadata, an operator, and what it is compared with."""


def conditions_of(fields: Mapping[str, object]) -> list[Condition]:
    """Return the conditions of a filter; raise ``ValueError`` for one that is wrong."""
    conditions: list[Condition] = []
    for name, wanted in fields.items():
        comparisons = wanted if isinstance(wanted, Mapping) else {"eq": wanted}
        if reason := _fault(comparisons):
            field = name if name.isprintable() and len(name) <= 40 else "field"
            raise ValueError(f"{field}: {reason}")
        conditions += [([name], operator, value) for operator, value in comparisons.items()]
    return conditions


def _fault(comparisons: Mapping[str, Any]) -> str | None:
    """Return what is wrong with the comparisons of a field."""
    if not comparisons or not comparisons.keys() <= set(OPERATORS):
        return f"has an unknown operator, or none; use {', '.join(OPERATORS)}"
    for operator, value in comparisons.items():
        several = operator == "in"
        if several and not (isinstance(value, list) and 0 < len(value) <= MOST_VALUES):
            return f"in must have a list of 1 to {MOST_VALUES} values"
        for each in value if several else [value]:
            if not isinstance(each, Scalar):
                return "must be compared with a text, a number or a boolean"
            if isinstance(each, bool) and operator not in {"eq", "in"}:
                return f"{operator} must have a text or a number"
    return None


def _parsed(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        raise ValueError("must be a JSON object") from None


def _checked(fields: dict[str, object]) -> dict[str, object]:
    conditions_of(fields)
    return fields


MetadataFilter = Annotated[
    Metadata,
    BeforeValidator(_parsed),
    AfterValidator(_checked),
    Field(
        description="Values of fields of the metadata, or comparisons: eq, in, gt, gte, lt, lte.",
        examples=[{"project": "atlas", "score": {"gte": 3, "lt": 9}}],
    ),
]
"""A filter on the fields of metadata: ``{"project": "atlas", "score": {"gte": 3}}``."""


def binds_of(conditions: Collection[Condition]) -> dict[str, str]:
    """Return the values of the conditions in use, by the names in :data:`MATCHES`.

    Equal texts, numbers and booleans are in one object that the metadata contains.
    """
    contained: dict[str, Any] = {}
    others: list[Mapping[str, object]] = []
    for path, operator, value in conditions:
        if operator != "eq" or not isinstance(value, Scalar):
            others.append({"path": path, "operator": operator, "value": value})
            continue
        inner = contained
        for name in path[:-1]:
            inner = inner.setdefault(name, {})
        inner[path[-1]] = value
    binds = {"contained": contained, "compared": others}
    return {name: json.dumps(value) for name, value in binds.items() if value}


MATCHES: Final = {
    "contained": "metadata @> CAST(:contained AS jsonb)",
    # What is missing counts as null. Texts compare by code point; values of different types do not
    # compare.
    "compared": """NOT EXISTS (
        SELECT FROM jsonb_to_recordset(CAST(:compared AS jsonb))
                    AS c (path text[], operator text, value jsonb)
         CROSS JOIN LATERAL (
               SELECT coalesce(metadata #> c.path, 'null') AS stored,
                      coalesce(c.value, 'null') AS given
               ) AS pair
         CROSS JOIN LATERAL (
               SELECT CASE WHEN jsonb_typeof(stored) <> jsonb_typeof(given) THEN NULL
                           WHEN stored = given THEN 0
                           WHEN jsonb_typeof(given) = 'number' THEN
                               CASE WHEN stored > given THEN 1 ELSE -1 END
                           WHEN jsonb_typeof(given) = 'string' THEN
                               CASE WHEN (stored #>> '{}') COLLATE "C" > (given #>> '{}')
                                    THEN 1 ELSE -1 END
                      END AS side
               ) AS order_of_pair
         WHERE CASE c.operator
               WHEN 'eq' THEN stored = given
               WHEN 'ne' THEN stored <> given
               WHEN 'in' THEN given @> stored AND jsonb_typeof(stored) <> 'array'
               WHEN 'contains' THEN stored @> given
               WHEN 'gt' THEN side > 0
               WHEN 'gte' THEN side >= 0
               WHEN 'lt' THEN side < 0
               WHEN 'lte' THEN side <= 0
               END IS NOT TRUE)""",
}
"""Conditions on the column ``metadata``, in SQL."""


def matching(names: Iterable[str]) -> str:
    """Return SQL for the conditions in use."""
    return " AND ".join(MATCHES[name] for name in MATCHES if name in names) or "true"
