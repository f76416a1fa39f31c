"""API models of memory documents."""

from collections.abc import Iterator
from typing import Annotated, Any, Final, Literal
from uuid import UUID

from pydantic import AfterValidator, BaseModel, Field, StringConstraints

from remembrancer.memories.rules import LONGEST_ID
from remembrancer.places.schemas import Notes
from remembrancer.text import Instant, Key, Label, Statement, one_line
from remembrancer.validation import MOST_IN_BATCH, Input

SCHEMA_VERSION: Final = "1.0"
MOST_MENTIONS: Final = 100_000
"""Mentions of a place in one conversation."""


def _id_or_nothing(value: str) -> str:
    return "" if value == "" else str(UUID(value))


OptionalId = Annotated[str, AfterValidator(_id_or_nothing)]
"""A UUID, or an empty string."""
ForeignId = Annotated[
    str, StringConstraints(min_length=1, max_length=LONGEST_ID), AfterValidator(one_line)
]
"""An id from this or another system. A valid and free one is kept."""

PoiMention = tuple[OptionalId, Instant]
"""Message id, empty if unknown, and time of a mention."""
PoiMentions = dict[OptionalId, Annotated[list[PoiMention], Field(max_length=MOST_MENTIONS)]]
"""Mentions by conversation id; without a conversation under the empty string."""


class MemoryFact(Input):
    """A memory in the document, except places."""

    id: ForeignId = Field(examples=["a1B2c3D4"])
    content: Statement
    added_at: Instant
    source_conversation_id: UUID | None = None
    source_message_id: UUID | None = None
    is_active: bool = True


class PlacePoi(Input):
    """A place with its mentions."""

    place_id: Key
    place_name: Label
    notes: Notes | None = None
    mentioned_in: PoiMentions = Field(
        default={}, description="By conversation, messages and times: `[message id, time]`."
    )
    added_at: Instant

    def mentions(self) -> Iterator[tuple[UUID | None, UUID | None, Any]]:
        """Yield conversation, message and time of each mention."""
        for conversation_id, mentions in self.mentioned_in.items():
            for message_id, at in mentions:
                yield _uuid(conversation_id), _uuid(message_id), at


class DocumentMetadata(Input):
    """Numbers of the document."""

    last_updated: Instant = Field(description="Time of the last change.")
    total_facts: int
    total_active_facts: int
    total_pois: int
    token_count: int = Field(description="Tokens of all contents (cl100k_base).")
    schema_version: Literal["1.0"] = SCHEMA_VERSION


class MemoryDocument(BaseModel):
    """A user's own memories outside spaces, in the order they were added."""

    facts: list[MemoryFact]
    placer_user_datapoints: list[PlacePoi]
    metadata: DocumentMetadata


class DocumentPage(MemoryDocument):
    """A page of a memory document. Its metadata is about the whole document."""

    next_page: int | None = Field(None, description="Number of the next page; null on the last.")


class DocumentImport(Input):
    """A memory document to import. Its metadata is ignored."""

    facts: list[MemoryFact] = Field(default=[], max_length=MOST_IN_BATCH)
    placer_user_datapoints: list[PlacePoi] = Field(default=[], max_length=MOST_IN_BATCH)
    metadata: DocumentMetadata | None = None


class DocumentImportResult(BaseModel):
    """Numbers of added and of known memories. Known ones stay as they are."""

    facts_added: int
    facts_known: int
    pois_added: int
    pois_known: int
    mentions_added: int = Field(description="Mentions added to known places.")
    new_ids: dict[str, str] = Field(
        description="New ids of facts that could not keep their ids, by id in the document."
    )
    evicted: list[str] = Field(description="Memories that were evicted because of the budget.")


def _uuid(value: str) -> UUID | None:
    return UUID(value) if value else None
