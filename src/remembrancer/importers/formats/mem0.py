"""mem0's memories: the JSON that ``get_all`` returns."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final
from uuid import UUID

from pydantic import BeforeValidator

from remembrancer.importers.bundle import Bundle, main
from remembrancer.importers.captions import clean
from remembrancer.importers.exported_memories import ExportedMemory, key_of, storable_metadata
from remembrancer.importers.moments import StorableTime
from remembrancer.importers.options import Options
from remembrancer.importers.parse import Notes, Record, invalid, record
from remembrancer.memories.schemas import Category
from remembrancer.text import Key, is_blank

PLATFORM: Final = "mem0"
_ENVELOPE = frozenset({"results", "relations", "count", "next", "previous"})
_CATEGORIES = {
    "family": Category.RELATIONSHIP,
    "friends": Category.RELATIONSHIP,
    "health": Category.HABIT,
    "hobbies": Category.HOBBY,
    "sports": Category.HOBBY,
    "music": Category.PREFERENCE,
    "food": Category.PREFERENCE,
    "user_preferences": Category.PREFERENCE,
    "professional_details": Category.OCCUPATION,
    "personal_details": Category.PERSON,
    "milestones": Category.MILESTONE,
}


def _number_as_text(value: Any) -> Any:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


_Id = Annotated[Key, BeforeValidator(_number_as_text)]


class _Memory(Record):
    id: _Id
    memory: str
    user_id: _Id | None = None
    agent_id: _Id | None = None
    run_id: _Id | None = None
    created_at: StorableTime = None
    categories: list[str] | None = None
    metadata: dict[str, Any] | None = None


def looks_like(content: Any) -> bool:
    memories = content.get("results") if isinstance(content, Mapping) else content
    first = memories[0] if isinstance(memories, list) and memories else None
    return isinstance(first, Mapping) and isinstance(first.get("memory"), str)


def read(bundle: Bundle, _options: Options, notes: Notes) -> Iterator[ExportedMemory]:
    member = main(bundle, "memories.json")
    content = member.json()
    memories = content.get("results") if isinstance(content, Mapping) else content
    if not isinstance(memories, list):
        raise invalid(member.where, "is not the result of mem0's get_all; save its JSON")
    for name in content.keys() - _ENVELOPE if isinstance(content, Mapping) else ():
        notes.unknown_field(f"result.{name}")
    relations = content.get("relations") if isinstance(content, Mapping) else None
    for _ in relations if isinstance(relations, list) else ():
        notes.skip("relation of the graph store")
    for number, value in enumerate(memories, 1):
        memory = record(_Memory, value, f"{member.where}, memory {number}", notes)
        if is_blank(clean(memory.memory)):
            notes.skip("memory without text")
        else:
            yield _statement(memory, notes)


def _statement(memory: _Memory, notes: Notes) -> ExportedMemory:
    values = {
        "agent_id": memory.agent_id,
        "run_id": memory.run_id,
        "metadata": memory.metadata,
    }
    return ExportedMemory(
        key=_key(memory.id),
        content=clean(memory.memory),
        platform=PLATFORM,
        about=memory.user_id,
        category=_category(memory.categories or ()),
        at=memory.created_at,
        metadata=storable_metadata(PLATFORM, values, notes),
    )


def _category(names: Any) -> Category:
    for name in names:
        key = str(name).casefold().replace(" ", "_")
        if key in _CATEGORIES:
            return _CATEGORIES[key]
        if key in {category.value for category in Category}:
            return Category(key)
    return Category.OTHER


def _key(given: str) -> str:
    try:
        return UUID(given).hex
    except ValueError:
        return key_of(PLATFORM, given)
