"""Zep's facts: the edges of a graph, as the clients of Zep and Graphiti return them.

A fact has the time from which it was true, and the one until which. The node that it begins at is
its subject: an edge names it since version 3 of Zep's API; before, it may be among ``nodes`` beside
the ``edges``. Zep documents the fields.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from pydantic import AliasChoices, Field

from remembrancer.importers.bundle import Bundle, main
from remembrancer.importers.captions import clean, label
from remembrancer.importers.exported_memories import ExportedMemory, key_of, storable_metadata
from remembrancer.importers.moments import StorableTime
from remembrancer.importers.options import Options
from remembrancer.importers.parse import Notes, Record, invalid, record
from remembrancer.text import Key, is_blank

PLATFORM: Final = "zep"
_ID: Final = AliasChoices("uuid", "uuid_")


class _Edge(Record):
    id: Key = Field(validation_alias=_ID)
    fact: str
    name: str | None = None
    source_node_uuid: str | None = None
    source_node_name: str | None = None
    created_at: StorableTime = None
    valid_at: StorableTime = None
    invalid_at: StorableTime = None
    expired_at: StorableTime = None
    attributes: dict[str, object] | None = None


class _Node(Record):
    id: Key = Field(validation_alias=_ID)
    name: str = ""
    summary: str | None = None


def looks_like(content: object) -> bool:
    edges = content.get("edges") if isinstance(content, Mapping) else content
    first = edges[0] if isinstance(edges, list) and edges else None
    return isinstance(first, Mapping) and {"fact", "source_node_uuid"} <= first.keys()


def read(bundle: Bundle, _options: Options, notes: Notes) -> Iterator[ExportedMemory]:
    member = main(bundle)
    content = member.json()
    edges = content.get("edges") if isinstance(content, Mapping) else content
    if not isinstance(edges, list):
        raise invalid(member.where, "is not a list of edges; save what Zep's client returns")
    nodes = content.get("nodes") if isinstance(content, Mapping) else None
    names: dict[str | None, str] = {}
    for number, value in enumerate(nodes if isinstance(nodes, list) else (), 1):
        node = record(_Node, value, f"{member.where}, node {number}", notes)
        names[node.id] = label(node.name)
        if node.summary:
            notes.skip("summary of a node")
    for number, value in enumerate(edges, 1):
        edge = record(_Edge, value, f"{member.where}, edge {number}", notes)
        if is_blank(clean(edge.fact)):
            notes.skip("fact without text")
        else:
            subject = label(edge.source_node_name) or names.get(edge.source_node_uuid)
            yield _statement(edge, subject, notes)


def _statement(edge: _Edge, subject: str | None, notes: Notes) -> ExportedMemory:
    values = {"relation": edge.name, "attributes": edge.attributes}
    return ExportedMemory(
        key=key_of(PLATFORM, edge.id),
        content=clean(edge.fact),
        platform=PLATFORM,
        subject=subject or None,
        at=edge.created_at,
        valid_from=edge.valid_at,
        valid_to=edge.invalid_at or edge.expired_at,
        metadata=storable_metadata(PLATFORM, values, notes),
    )
