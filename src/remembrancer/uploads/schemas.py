"""Models of uploads."""

from datetime import datetime
from enum import StrEnum
from typing import Literal
from uuid import UUID

from pydantic import BaseModel

from remembrancer.text import Label
from remembrancer.users.schemas import TimeZone
from remembrancer.validation import Input


class UploadStatus(StrEnum):
    """What happens to an upload."""

    CHECKING = "checking"
    """It is read to its end, and nothing is stored."""
    READY = "ready"
    """It can be imported; its counts say what that would store."""
    STORING = "storing"
    DONE = "done"
    """It is imported, and the file is deleted."""
    FAILED = "failed"
    """The reason says why. It can be started again."""


class UploadOptions(Input):
    """What a file does not say itself."""

    me: Label | None = None
    """What its user is called in it: a name, or an id of its platform."""
    date_order: Literal["dmy", "mdy", "ymd"] | None = None
    time_zone: TimeZone | None = None
    """Of times that name none; null for the user's."""


class UploadCounts(BaseModel):
    """What an import stores, or would store. Skipped items exist already."""

    conversations: int = 0
    messages_added: int = 0
    messages_edited: int = 0
    messages_skipped: int = 0
    memories_added: int = 0
    memories_skipped: int = 0
    memories_evicted: int = 0
    memories_refused: int = 0
    first: datetime | None = None
    last: datetime | None = None


class Upload(BaseModel):
    """An export: a file with what became of it."""

    id: UUID
    owner_id: UUID
    name: str
    format: str | None
    is_own: bool
    """It may have nobody's words but its owner's: they have uploaded it themselves."""
    options: UploadOptions
    status: UploadStatus
    total: int
    """Messages and memories in it."""
    stored: int
    """How many of them have been looked at."""
    counts: UploadCounts
    reason: str | None
    created_at: datetime

    @property
    def is_busy(self) -> bool:
        """A job reads it, or soon will."""
        return self.status in {UploadStatus.CHECKING, UploadStatus.STORING}
