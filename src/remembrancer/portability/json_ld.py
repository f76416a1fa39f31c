"""An export as JSON-LD: the records, with a context that says what their fields mean. Pure.

What schema.org has a word for is said with it; all else is a term of ours, ``TERMS`` and the name
of the field. The context is in the file: nothing is looked up anywhere.
"""

from collections.abc import AsyncIterator, Mapping
from typing import Final

from remembrancer.portability.json_lines import line
from remembrancer.portability.schemas import Record

TERMS: Final = "urn:remembrancer:term:"
_TIME: Final = "http://www.w3.org/2001/XMLSchema#dateTime"
_TYPES: Final = {
    "user": "Person",
    "conversation": "Conversation",
    "message": "Message",
    "memory": "Claim",
}
_RECORDS: Final = {name: kind for kind, name in _TYPES.items()}
_LINKS: Final = ("isPartOf", "author", "sender", "about", "memory")
"""Fields that repeat an id as a link."""


def _times(**names: str) -> Record:
    return {name: {"@id": f"schema:{term}", "@type": _TIME} for name, term in names.items()}


CONTEXT: Final[Record] = {
    "@version": 1.1,
    "@vocab": TERMS,
    "schema": "https://schema.org/",
    **{name: f"schema:{name}" for name in (*_TYPES.values(), "Place")},
    "id": "schema:identifier",
    "display_name": "schema:name",
    "title": "schema:name",
    "name": "schema:name",
    "description": "schema:description",
    "content": "schema:text",
    "category": "schema:keywords",
    "summaries": "schema:abstract",
    "isPartOf": {"@id": "schema:isPartOf", "@type": "@id"},
    "author": {"@id": "schema:author", "@type": "@id"},
    "sender": {"@id": "schema:sender", "@type": "@id"},
    "memory": {"@id": f"{TERMS}memory", "@type": "@id"},
    **_times(
        created_at="dateCreated",
        updated_at="dateModified",
        edited_at="dateModified",
        sent_at="dateSent",
        expires_at="expires",
        valid_from="temporalCoverage",
    ),
    # Any JSON, as it is.
    "metadata": {"@id": f"{TERMS}metadata", "@type": "@json"},
    "filters": {"@id": f"{TERMS}filters", "@type": "@json"},
}


async def write(records: AsyncIterator[Record]) -> AsyncIterator[bytes]:
    """Yield the file, a node at a time."""
    yield b'{"@context": ' + line(CONTEXT).rstrip() + b',\n"@graph": [\n'
    user_id, separator = "", b""
    async for record in records:
        if record["type"] == "user":
            user_id = record["id"]
        if record["type"] in _TYPES:
            yield separator + line(_node(record, user_id)).rstrip()
            separator = b",\n"
    yield b"\n]}\n"


def _node(record: Record, user_id: str) -> Record:
    kind = record["type"]
    node = {"@id": _name(kind, record["id"]), "@type": _TYPES[kind], **record}
    del node["type"]
    if kind == "memory":
        if record["place_id"] is not None:
            node["@type"] = [_TYPES[kind], "Place"]
        node["author"] = _name("user", user_id)
        node["associations"] = [_edge(edge) for edge in record["associations"]]
    elif kind == "message":
        node["isPartOf"] = _name("conversation", record["conversation_id"])
        if record["role"] == "user":
            node["sender"] = _name("user", user_id)
    return node


def _edge(edge: Record) -> Record:
    is_own = edge["target_owner_id"] is None
    return {**edge, "memory": _name("memory", edge["target_id"])} if is_own else edge


def _name(kind: str, key: str) -> str:
    return f"urn:remembrancer:memory:{key}" if kind == "memory" else f"urn:uuid:{key}"


def looks_like(value: object) -> bool:
    """Return whether a JSON object is such a file."""
    context = value.get("@context") if isinstance(value, Mapping) else None
    return isinstance(context, Mapping) and context.get("@vocab") == TERMS


def graph(text: str) -> str:
    """Return the list of nodes in a file, as text: the file may be too large for more."""
    start = text.find("[", text.find('"@graph"'))
    return text[start : text.rfind("]") + 1]


def record(node: object) -> object:
    """Return the record that a node is made of; anything else as it is."""
    if not isinstance(node, dict):
        return node
    types = node.get("@type")
    names = types if isinstance(types, list) else [types]
    kind = next((_RECORDS[n] for n in names if isinstance(n, str) and n in _RECORDS), None)
    fields = {n: v for n, v in node.items() if not n.startswith("@") and n not in _LINKS}
    return {"type": kind, **fields}
