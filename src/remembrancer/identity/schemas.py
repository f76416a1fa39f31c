"""What a client sees of links and merges."""

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from remembrancer.users.schemas import PlatformLink, User


class PlatformLinkDetail(PlatformLink):
    """A platform id of a user, and since when it is theirs."""

    created_at: datetime


class MergeRequest(BaseModel):
    """Who is to become part of the user in the path."""

    model_config = ConfigDict(extra="forbid")

    user_id: UUID = Field(description="The user who is the same person.")


class MergeCounts(BaseModel):
    """What moved from one user to the other."""

    memories: int
    duplicates: int = Field(description="Of the memories: those that became mentions.")
    messages: int
    conversations: int
    chunks: int
    preferences: int
    preferences_dropped: int = Field(description="Where the surviving user had one already.")
    spaces: int
    platform_links: int


class Merge(BaseModel):
    """A merge, as it can be looked at and taken back."""

    undo_id: UUID
    survivor_id: UUID
    merged_id: UUID = Field(description="Goes on working as an id of the survivor.")
    counts: MergeCounts
    merged_at: datetime
    undone_at: datetime | None = None


class LinkResult(User):
    """A user with a new link, and the merge it took, if it took one."""

    merge: Merge | None = None
