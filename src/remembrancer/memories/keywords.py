"""Fields of models as keywords of methods. Text does for an enumeration."""

from collections.abc import Sequence
from datetime import datetime
from typing import TypedDict
from uuid import UUID

from remembrancer.memories.metadata import MetadataFilter
from remembrancer.memories.schemas import AssociationCreate
from remembrancer.text import Metadata


class MemoryDetails(TypedDict, total=False):
    """The fields of a new memory besides its content."""

    kind: str
    category: str
    subject: str | None
    importance: float | None
    scope: str | None
    shared: bool
    space_id: UUID | None
    visibility: str
    valid_from: datetime | None
    valid_to: datetime | None
    expires_at: datetime | None
    pinned: bool
    place_id: str | None
    external_id: str | None
    metadata: Metadata
    platform: str | None
    conversation_id: UUID | None
    message_id: UUID | None
    allow_similar: bool
    pending: bool
    revises: str | None
    associations: Sequence[AssociationCreate | dict[str, str | float]]


class MemoryChanges(TypedDict, total=False):
    """The fields of a memory that an update may change."""

    content: str
    kind: str
    category: str
    subject: str | None
    importance: float
    valid_from: datetime | None
    valid_to: datetime | None
    expires_at: datetime | None
    metadata: Metadata
    conversation_id: UUID | None
    message_id: UUID | None
    expected_version: int | None


class MemoryFilters(TypedDict, total=False):
    """The filters of a list of memories."""

    shared: bool | None
    kinds: Sequence[str]
    categories: Sequence[str]
    subject: str | None
    external_ids: Sequence[str]
    space_id: UUID | None
    statuses: Sequence[str]
    reviews: Sequence[str]
    source: str | None
    pinned: bool | None
    scope: str | None
    kept_for: UUID | None
    text: str | None
    since: datetime | None
    until: datetime | None
    metadata: MetadataFilter
    sort: str
