"""LangMem's memories: items of a LangGraph store, as their ``dict()`` has them.

The namespace is ("memories", a user) unless the program says otherwise. What a memory manager
stores has a ``kind``, the name of a schema, and its fields; a tool stores a text.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Final

from remembrancer.importers.bundle import Bundle, main
from remembrancer.importers.captions import clean
from remembrancer.importers.exported_memories import ExportedMemory, key_of, storable_metadata
from remembrancer.importers.moments import StorableTime
from remembrancer.importers.options import Options
from remembrancer.importers.parse import Notes, Record, record
from remembrancer.text import Key, is_blank

PLATFORM: Final = "langmem"


class _Item(Record):
    namespace: list[Key]
    key: Key
    value: dict[str, object]
    created_at: StorableTime = None


def looks_like(first: object) -> bool:
    return (
        isinstance(first, Mapping)
        and isinstance(first.get("namespace"), list)
        and isinstance(first.get("value"), Mapping)
    )


def read(bundle: Bundle, _options: Options, notes: Notes) -> Iterator[ExportedMemory]:
    for where, value in main(bundle).elements():
        item = record(_Item, value, where, notes)
        text = clean(_text(item.value.get("content", item.value)))
        if is_blank(text):
            notes.skip("memory without text")
            continue
        kind = item.value.get("kind")
        others = {key: other for key, other in item.value.items() if key not in {"content", "kind"}}
        values = {"kind": kind, "namespace": item.namespace[2:]}
        if "content" in item.value:
            values["value"] = others
        yield ExportedMemory(
            key=key_of(PLATFORM, *item.namespace, item.key),
            content=text,
            platform=PLATFORM,
            about=item.namespace[1] if len(item.namespace) > 1 else None,
            at=item.created_at,
            metadata=storable_metadata(PLATFORM, values, notes),
        )


def _text(content: object) -> str:
    """Return a text as it is, that of the only field ``content``, or a line for each field."""
    if not isinstance(content, Mapping):
        return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    if content.keys() == {"content"}:
        return str(content["content"] or "")
    said = ((name, value) for name, value in content.items() if value not in (None, "", [], {}))
    return "\n".join(f"{name}: {value}" for name, value in said)
