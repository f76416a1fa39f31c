"""What a place is as a memory, and what its mentions are as a client sees them. Pure."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from pydantic import TypeAdapter, ValidationError

from remembrancer.errors import InvalidInput, NotFound
from remembrancer.memories.rules import notes_in, place_content
from remembrancer.memories.schemas import Kind, MemoryCreate, MemoryUpdate
from remembrancer.places.schemas import Mentions, PlaceCreate, PlaceUpdate
from remembrancer.text import Key
from remembrancer.validation import made

_PLACE_ID: TypeAdapter[str] = TypeAdapter(Key)


def as_memory(place: PlaceCreate, *, pinned: bool = False) -> MemoryCreate:
    """Return the memory that a place is: its name and notes are found by recall."""
    return made(
        MemoryCreate,
        content=place_content(place.place_name, place.notes),
        kind=Kind.PLACE,
        subject=place.place_name,
        place_id=place.place_id,
        pinned=pinned,
        platform=place.platform,
        conversation_id=place.conversation_id,
        message_id=place.message_id,
    )


def as_changes(place: PlaceUpdate) -> MemoryUpdate:
    """Return what a new name and notes make of the memory that the place is."""
    version = {"expected_version": place.expected_version} if place.expected_version else {}
    return made(
        MemoryUpdate,
        content=place_content(place.place_name, place.notes),
        subject=place.place_name,
        **version,
    )


def check_place_id(place_id: str) -> None:
    """Raise ``NotFound`` for what cannot be the id of any place."""
    try:
        _PLACE_ID.validate_python(place_id)
    except ValidationError:
        raise NotFound("no such place", field="place_id") from None


def by_conversation(mentions: Iterable[Any]) -> Mentions:
    """Return rows of mentions as message and time by conversation, in the order they come."""
    found: Mentions = {}
    for row in mentions:
        said = (_text(row.message_id), row.mentioned_at)
        found.setdefault(_text(row.conversation_id), []).append(said)
    return found


def notes_of(memory: Any) -> str | None:
    """Return the notes of a place (its row)."""
    return notes_in(memory.subject, memory.content)


def in_its_words(error: InvalidInput, place: PlaceCreate | PlaceUpdate) -> InvalidInput:
    """Return a refusal of the memory with the field of the place that it is about."""
    names = {"content": "notes" if place.notes else "place_name", "subject": "place_name"}
    field = names.get(error.field or "", error.field)
    return InvalidInput(error.reason, field=field, **error.extra)


def _text(value: UUID | None) -> str:
    return "" if value is None else str(value)
