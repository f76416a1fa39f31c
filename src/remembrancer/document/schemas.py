"""The memory document, as it is read, exported and imported."""

from collections.abc import Iterator
from typing import Annotated, Any, Final, Literal
from uuid import UUID

from pydantic import AfterValidator, BaseModel, Field, StringConstraints

from remembrancer.memories.rules import LONGEST_ID
from remembrancer.places.schemas import Notes
from remembrancer.text import Instant, Key, Label, Statement, one_line
from remembrancer.validation import Input

SCHEMA_VERSION: Final = "1.0"


def _id_or_nothing(value: str) -> str:
    return "" if value == "" else str(UUID(value))


OptionalId = Annotated[str, AfterValidator(_id_or_nothing)]
"""A UUID, or nothing."""
ForeignId = Annotated[
    str, StringConstraints(min_length=1, max_length=LONGEST_ID), AfterValidator(one_line)
]
"""An id that another system may have given; kept where it can be one of ours."""

PoiMention = tuple[OptionalId, Instant]
"""The message that a place came up in, empty if it is not known, and when."""
PoiMentions = dict[OptionalId, list[PoiMention]]
"""Mentions by conversation; those outside of any under the empty string."""


class MemoryFact(Input):
    """A memory that is no place."""

    id: ForeignId = Field(examples=["a1B2c3D4"])
    content: Statement
    added_at: Instant
    source_conversation_id: UUID | None = None
    source_message_id: UUID | None = None
    is_active: bool = True


class PlacePoi(Input):
    """A place, with where it came up."""

    place_id: Key
    place_name: Label
    notes: Notes | None = None
    mentioned_in: PoiMentions = Field(
        {}, description="By conversation, messages and times: `[message id, time]`."
    )
    added_at: Instant

    def mentions(self) -> Iterator[tuple[UUID | None, UUID | None, Any]]:
        """Yield conversation, message and time of each mention."""
        for conversation_id, said in self.mentioned_in.items():
            for message_id, at in said:
                yield _uuid(conversation_id), _uuid(message_id), at


class MemoryMetadata(Input):
    """What the document holds, counted."""

    last_updated: Instant = Field(description="When something in it was last written.")
    total_facts: int
    total_active_facts: int
    total_pois: int
    token_count: int = Field(description="Tokens of all contents, as the budget counts them.")
    schema_version: Literal["1.0"] = SCHEMA_VERSION


class MemoryDocument(BaseModel):
    """A user's own memories outside spaces, in the order they were added."""

    facts: list[MemoryFact]
    placer_user_datapoints: list[PlacePoi]
    metadata: MemoryMetadata


class DocumentPage(MemoryDocument):
    """A part of a memory document; the metadata counts all of it."""

    next_page: int | None = Field(None, description="The page to ask for next; null on the last.")


class DocumentImport(Input):
    """A memory document to import. Its metadata is worked out anew."""

    facts: list[MemoryFact] = []
    placer_user_datapoints: list[PlacePoi] = []
    metadata: MemoryMetadata | None = None


class DocumentImportResult(BaseModel):
    """What an import added; what was known stays as it is."""

    facts_added: int
    facts_known: int
    pois_added: int
    pois_known: int
    mentions_added: int = Field(description="Mentions of places that were known.")
    new_ids: dict[str, str] = Field(
        description="By the id in the document, that of a fact which could not keep it."
    )
    evicted: list[str] = Field(description="Memories that went because the budget was full.")


def _uuid(value: str) -> UUID | None:
    return UUID(value) if value else None
