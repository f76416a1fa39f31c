"""A person's memory as Remembrancer exports it: JSON Lines, notes in Markdown or JSON-LD.

``docs/exporting.md`` describes the three. All of them have the same records.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from remembrancer.importers.bundle import Bundle, Member, find, main
from remembrancer.importers.json_stream import elements
from remembrancer.importers.parse import Notes, invalid, validated
from remembrancer.portability import json_ld, markdown
from remembrancer.portability.records import MODELS, AnyRecord, UserRecord

_NOT_BACK: Final = frozenset({"api_key", "undo_record"})
_HEAD: Final = 20_000
"""Characters within which the context of JSON-LD begins."""


def read(bundle: Bundle, notes: Notes) -> Iterator[AnyRecord]:
    """Yield the records, the user first; raise ``InvalidInput`` with the position of an error."""
    is_first = True
    for where, value in _values(bundle, notes):
        kind = str(value.get("type")) if isinstance(value, Mapping) else ""
        if kind in _NOT_BACK:
            notes.skip(kind.replace("_", " "))
            continue
        if not isinstance(value, Mapping) or kind not in MODELS:
            raise invalid(f"{where}, type", f"must be one of {', '.join(MODELS)}")
        if value.get("status") == "forgotten":
            notes.skip("forgotten memory")
            continue
        record = validated(MODELS[kind], value, where)
        if isinstance(record, UserRecord) is not is_first:
            raise invalid(where, "must begin with its user, the only one")
        is_first = False
        yield record


def _values(bundle: Bundle, notes: Notes) -> Iterator[tuple[str, object]]:
    if is_vault(bundle):
        for name in markdown.order(bundle.names()):
            yield from _of_note(Member(bundle, name), notes)
        return
    member = main(bundle)
    if is_json_ld(member.start()[0]):
        for where, node in elements((json_ld.graph(member.text()),), member.where):
            yield where, json_ld.record(node)
    else:
        yield from member.json_lines()


def _of_note(note: Member, notes: Notes) -> Iterator[tuple[str, object]]:
    try:
        found = list(markdown.records(note.text()))
    except ValueError:
        raise invalid(note.where, "has properties or messages that cannot be read") from None
    if not found and not markdown.is_part(note.text()):
        notes.skip("note that is not of the export")
    for number, record in enumerate(found):
        yield f"{note.where}, message {number}" if number else note.where, record


def looks_like(first: object) -> bool:
    """Return whether a line is the first one of JSON Lines."""
    return isinstance(first, Mapping) and first.get("type") == "user" and "remembrancer" in first


def is_json_ld(text: str) -> bool:
    """Return whether a text is JSON-LD of ours; its beginning says so."""
    head = text[:_HEAD]
    return head.lstrip().startswith("{") and '"@context"' in head and json_ld.TERMS in head


def is_vault(bundle: Bundle) -> bool:
    profile = find(bundle, markdown.PROFILE)
    return profile is not None and markdown.looks_like(profile.text())
