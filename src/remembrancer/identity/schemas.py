"""API models of links and merges."""

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel, Field

from remembrancer.users.schemas import PlatformLink, User
from remembrancer.validation import Input


class PlatformLinkDetail(PlatformLink):
    """A platform link of a user, with its time."""

    created_at: datetime


class MergeRequest(Input):
    """The user to merge into the user in the path."""

    user_id: UUID = Field(description="The user who is the same person.")


class MergeCounts(BaseModel):
    """Numbers of things that moved from one user to the other."""

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
    """A merge, with the id to undo it."""

    undo_id: UUID
    survivor_id: UUID
    merged_id: UUID = Field(description="Goes on working as an id of the survivor.")
    counts: MergeCounts
    merged_at: datetime
    undone_at: datetime | None = None


class LinkResult(User):
    """A user with a new link, and the merge it took, if it took one."""

    merge: Merge | None = None
