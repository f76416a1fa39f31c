"""Lists in requests have a length that is checked before their items are."""

from collections.abc import Iterator
from typing import Any

from remembrancer.api.server import openapi_document
from remembrancer.settings import LimitSettings
from remembrancer.validation import MOST_IN_BATCH

Json = dict[str, Any]


def lists_in(document: Any) -> Iterator[tuple[str, Json]]:
    """Every list that a parameter or a body may have, with its place."""
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            schemas = {
                f"{method} {path}?{parameter['name']}": parameter["schema"]
                for parameter in operation.get("parameters", ())
            }
            for content in operation.get("requestBody", {}).get("content", {}).values():
                schemas[f"{method} {path}"] = content["schema"]
            for place, schema in schemas.items():
                yield from lists_of(schema, place, document["components"]["schemas"], frozenset())


def lists_of(
    schema: Json, place: str, named: Json, seen: frozenset[str]
) -> Iterator[tuple[str, Json]]:
    name = schema.get("$ref", "").rpartition("/")[2]
    if name and name not in seen:
        yield from lists_of(named[name], name, named, seen | {name})
    if schema.get("type") == "array":
        yield place, schema
    choices = [choice for kind in ("anyOf", "oneOf", "allOf") for choice in schema.get(kind, ())]
    inner = {f"{place}.{field}": part for field, part in schema.get("properties", {}).items()}
    inner |= {f"{place}|{number}": choice for number, choice in enumerate(choices)}
    inner |= {f"{place}[]": schema.get("items"), f"{place}{{}}": schema.get("additionalProperties")}
    for where, part in inner.items():
        if isinstance(part, dict):
            yield from lists_of(part, where, named, seen)


def test_case_48_every_list_in_a_request_is_bounded() -> None:
    """The schema has the bound, so that pydantic stops there."""
    found = dict(lists_in(openapi_document()))
    assert "BulkRequestForUserAndAgent.memories" in found
    assert [place for place, schema in found.items() if "maxItems" not in schema] == []


def test_the_bound_of_a_batch_is_the_highest_that_may_be_set() -> None:
    """Nobody is refused what the settings allow."""
    highest = LimitSettings.model_json_schema()["properties"]["batch"]["maximum"]
    assert highest == MOST_IN_BATCH
