"""API models of links and merges."""

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel, Field

from remembrancer.user_names import UserRef
from remembrancer.users.schemas import PlatformLink, User
from remembrancer.validation import Input


class PlatformLinkDetail(PlatformLink):
    """A platform link with the time of its creation."""

    created_at: datetime


class MergeRequest(Input):
    """The user to merge into the user in the path."""

    user_id: UserRef = Field(description="The user who is the same person.")


class MergeCounts(BaseModel):
    """Numbers of things that move in a merge."""

    memories: int
    duplicates: int = Field(description="Memories that become mentions of the survivor's.")
    messages: int
    conversations: int
    chunks: int
    preferences: int
    preferences_dropped: int = Field(description="Preferences that the survivor has already.")
    spaces: int
    platform_links: int


class Merge(BaseModel):
    """A merge, with the id to undo it."""

    undo_id: UUID
    survivor_id: UUID
    merged_id: UUID = Field(description="Former id, which now is an id of the survivor.")
    counts: MergeCounts
    merged_at: datetime
    undone_at: datetime | None = None


class LinkResult(User):
    """A user with a new platform link, and the merge if there was one."""

    merge: Merge | None = None
