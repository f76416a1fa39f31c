"""The file of the MCP reference memory server: entities with observations, and relations.

An entity becomes a memory that says what it is; each observation one on that subject, a part of
it; each relation one that is related to both.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Final

from pydantic import Field

from remembrancer.importers.bundle import Bundle, main
from remembrancer.importers.exported_conversations import wrong
from remembrancer.importers.exported_memories import Statement, key_of
from remembrancer.importers.parse import Notes, Options, Record, clean, label, record
from remembrancer.memories.schemas import Category, Kind, Relation

PLATFORM: Final = "mcp-memory"
_CATEGORIES = {
    "person": Category.PERSON,
    "user": Category.PERSON,
    "project": Category.PROJECT,
    "event": Category.MILESTONE,
    "preference": Category.PREFERENCE,
}


class _Entity(Record):
    LEFT: ClassVar = frozenset({"type"})

    name: str = Field(min_length=1)
    entity_type: str = Field("", alias="entityType")
    observations: list[str] = Field(default_factory=list)


class _Relation(Record):
    LEFT: ClassVar = frozenset({"type"})

    source: str = Field(min_length=1, alias="from")
    target: str = Field(min_length=1, alias="to")
    kind: str = Field(min_length=1, alias="relationType")


def looks_like(first: Any) -> bool:
    """Say whether the first line of a file is an entity or a relation."""
    return isinstance(first, Mapping) and (
        (first.get("type") == "entity" and "entityType" in first)
        or (first.get("type") == "relation" and "relationType" in first)
    )


def read(bundle: Bundle, _options: Options, notes: Notes) -> Iterator[Statement]:
    """Yield the entities with their observations, then the relations."""
    member = main(bundle, "memory.jsonl")
    relations: list[tuple[str, _Relation]] = []
    known: set[str] = set()
    for number, line in enumerate(member.text().split("\n"), 1):
        where = f"{member.where}, line {number}"
        if not line.strip():
            continue
        value = _parsed(line, where)
        kind = value.get("type") if isinstance(value, Mapping) else None
        if kind == "entity":
            entity = record(_Entity, value, where, notes)
            known.add(entity.name)
            yield from _entity(entity)
        elif kind == "relation":
            relations.append((where, record(_Relation, value, where, notes)))
        elif isinstance(value, Mapping):
            notes.strange(f"record of type {label(str(kind))}")
        else:
            raise wrong(where, "is neither an entity nor a relation")
    for _, relation in relations:
        yield _relation(relation, known)


def _parsed(line: str, where: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        raise wrong(where, "is not valid JSON") from None


def _anchor(name: str) -> str:
    return key_of(PLATFORM, "entity", name)


def _entity(entity: _Entity) -> Iterator[Statement]:
    name, kind = _words(entity.name), _words(entity.entity_type)
    category = _CATEGORIES.get(kind.casefold(), Category.OTHER)
    yield Statement(
        key=_anchor(entity.name),
        content=f"{name} is of type {kind}." if kind else f"{name} is known.",
        platform=PLATFORM,
        kind=Kind.IDENTITY,
        category=category,
        subject=name or None,
    )
    for observation in dict.fromkeys(entity.observations):
        told = clean(observation)
        if told:
            yield Statement(
                key=key_of(PLATFORM, "observation", entity.name, observation),
                content=told if entity.name in told else _of(name, told),
                platform=PLATFORM,
                kind=Kind.OBSERVATION,
                category=category,
                subject=name or None,
                links=[(_anchor(entity.name), Relation.PART_OF)],
            )


def _relation(relation: _Relation, known: set[str]) -> Statement:
    source, target = _words(relation.source), _words(relation.target)
    ends = dict.fromkeys((relation.source, relation.target))
    return Statement(
        key=key_of(PLATFORM, "relation", relation.source, relation.kind, relation.target),
        content=f"{source} {_words(relation.kind)} {target}.",
        platform=PLATFORM,
        category=Category.RELATIONSHIP,
        subject=source or None,
        links=[(_anchor(name), Relation.RELATED_TO) for name in ends if name in known],
    )


def _of(name: str, told: str) -> str:
    """Return an observation so that it says by itself whom it is about."""
    return told if name.casefold() in told.casefold() else f"{name}: {told}"


def _words(name: str) -> str:
    """Return an identifier such as ``works_at`` or ``worksAt`` as words; a name as it is."""
    spaced = (
        re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
        if re.fullmatch(r"[a-z]+[A-Za-z]*", name)
        else name
    )
    return label(spaced.replace("_", " "))
