"""The file of the MCP reference memory server: entities with observations, and relations.

An entity becomes a memory of its type. Each observation becomes a memory on that subject, which is
part of it. Each relation becomes a memory related to both entities.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic import Field

from remembrancer.importers.bundle import Bundle, main
from remembrancer.importers.captions import clean, label
from remembrancer.importers.exported_memories import ExportedMemory, key_of
from remembrancer.importers.options import Options
from remembrancer.importers.parse import Notes, Record, invalid, record
from remembrancer.memories.schemas import Category, Kind, Relation
from remembrancer.text import is_blank

PLATFORM: Final = "mcp-memory"
_CATEGORIES = {
    "person": Category.PERSON,
    "user": Category.PERSON,
    "project": Category.PROJECT,
    "event": Category.MILESTONE,
    "preference": Category.PREFERENCE,
}

_KINDS = {
    "event": Kind.EVENT,
    "preference": Kind.PREFERENCE,
    "decision": Kind.DECISION,
    "goal": Kind.GOAL,
    "todo": Kind.TODO,
    "task": Kind.TODO,
}
"""Kinds by the types that say one; any other entity, also a person or a project, is a fact."""


class _Entity(Record):
    name: str = Field(min_length=1)
    entity_type: str = Field("", alias="entityType")
    observations: list[str] = Field(default_factory=list)


class _Relation(Record):
    source: str = Field(min_length=1, alias="from")
    target: str = Field(min_length=1, alias="to")
    kind: str = Field(min_length=1, alias="relationType")


def looks_like(first: Any) -> bool:
    return isinstance(first, Mapping) and (
        (first.get("type") == "entity" and "entityType" in first)
        or (first.get("type") == "relation" and "relationType" in first)
    )


def read(bundle: Bundle, _options: Options, notes: Notes) -> Iterator[ExportedMemory]:
    member = main(bundle, "memory.jsonl")
    relations: list[_Relation] = []
    names: set[str] = set()
    for where, value in member.json_lines():
        kind = value.get("type") if isinstance(value, Mapping) else None
        if kind == "entity":
            entity = record(_Entity, value, where, notes)
            names.add(entity.name)
            yield from _entity(entity)
        elif kind == "relation":
            relations.append(record(_Relation, value, where, notes))
        elif isinstance(value, Mapping):
            notes.unknown_field(f"record of type {label(str(kind))}")
        else:
            raise invalid(where, "is neither an entity nor a relation")
    for relation in relations:
        yield _relation(relation, names)


def _anchor(name: str) -> str:
    return key_of(PLATFORM, "entity", name)


def _entity(entity: _Entity) -> Iterator[ExportedMemory]:
    name, kind = _words(entity.name), _words(entity.entity_type)
    category = _CATEGORIES.get(kind.casefold(), Category.OTHER)
    yield ExportedMemory(
        key=_anchor(entity.name),
        content=f"{name} is of type {kind}." if kind else f"{name} is known.",
        platform=PLATFORM,
        kind=_KINDS.get(kind.casefold(), Kind.FACT),
        category=category,
        subject=name or None,
    )
    for observation in dict.fromkeys(entity.observations):
        text = clean(observation)
        if not is_blank(text):
            yield ExportedMemory(
                key=key_of(PLATFORM, "observation", entity.name, observation),
                content=text if entity.name in text else _with_subject(name, text),
                platform=PLATFORM,
                kind=Kind.OBSERVATION,
                category=category,
                subject=name or None,
                associations=[(_anchor(entity.name), Relation.PART_OF)],
            )


def _relation(relation: _Relation, names: set[str]) -> ExportedMemory:
    source, target = _words(relation.source), _words(relation.target)
    ends = dict.fromkeys((relation.source, relation.target))
    return ExportedMemory(
        key=key_of(PLATFORM, "relation", relation.source, relation.kind, relation.target),
        content=f"{source} {_words(relation.kind)} {target}.",
        platform=PLATFORM,
        category=Category.RELATIONSHIP,
        subject=source or None,
        associations=[(_anchor(name), Relation.RELATED_TO) for name in ends if name in names],
    )


def _with_subject(name: str, text: str) -> str:
    return text if name.casefold() in text.casefold() else f"{name}: {text}"


def _words(name: str) -> str:
    """Split an identifier such as ``works_at`` or ``worksAt`` into words; leave a name as it is."""
    spaced = (
        re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
        if re.fullmatch(r"[a-z]+[A-Za-z]*", name)
        else name
    )
    return label(spaced.replace("_", " "))
