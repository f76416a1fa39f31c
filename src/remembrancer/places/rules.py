"""Places as memories, and mentions by conversation. Pure."""

from collections.abc import Iterable
from uuid import UUID

from pydantic import TypeAdapter, ValidationError

from remembrancer.errors import InvalidInput, NotFound
from remembrancer.memories.rows import MemoryRow
from remembrancer.memories.rules import notes_in, place_content
from remembrancer.memories.schemas import Kind, MemoryCreate, MemoryUpdate
from remembrancer.places.rows import PlaceMentionRow
from remembrancer.places.schemas import Mentions, PlaceCreate, PlaceUpdate
from remembrancer.text import Key
from remembrancer.validation import validate

_PLACE_ID: TypeAdapter[str] = TypeAdapter(Key)


def as_memory(place: PlaceCreate, *, pinned: bool = False) -> MemoryCreate:
    return validate(
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
    version = {"expected_version": place.expected_version} if place.expected_version else {}
    return validate(
        MemoryUpdate,
        content=place_content(place.place_name, place.notes),
        subject=place.place_name,
        **version,
    )


def check_place_id(place_id: str) -> None:
    try:
        _PLACE_ID.validate_python(place_id)
    except ValidationError:
        raise NotFound("no such place", field="place_id") from None


def by_conversation(mentions: Iterable[PlaceMentionRow]) -> Mentions:
    result: Mentions = {}
    for mention in mentions:
        times = result.setdefault(_text(mention.conversation_id), [])
        times.append((_text(mention.message_id), mention.mentioned_at))
    return result


def notes_of(memory: MemoryRow) -> str | None:
    return notes_in(memory.subject or "", memory.content)


def place_error(error: InvalidInput, place: PlaceCreate | PlaceUpdate) -> InvalidInput:
    """Return an error with the name of the place's field instead of the memory's."""
    names = {"content": "notes" if place.notes else "place_name", "subject": "place_name"}
    field = names.get(error.field or "", error.field)
    return InvalidInput(error.reason, field=field, **error.extra)


def _text(value: UUID | None) -> str:
    return "" if value is None else str(value)
