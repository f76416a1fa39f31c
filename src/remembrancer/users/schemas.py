"""API models of users."""

from datetime import datetime
from functools import cache
from typing import Annotated, TypedDict
from uuid import UUID
from zoneinfo import available_timezones

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from remembrancer.paging import Items
from remembrancer.text import Key, Label, Platform
from remembrancer.validation import Input, Update

# Read from the file system once per process.
_zones = cache(available_timezones)


def _known_zone(value: str) -> str:
    if value not in _zones():
        raise ValueError("is not an IANA time zone such as Europe/Paris")
    return value


def zones() -> list[str]:
    """Return the names of the time zones a user may have, in order."""
    return sorted(_zones())


TimeZone = Annotated[str, AfterValidator(_known_zone)]


class PlatformLink(Input):
    """An identity on a platform that belongs to a user."""

    platform: Key = Field(examples=["discord"])
    platform_user_id: Key = Field(examples=["184405311681986560"])


class NewLink(PlatformLink):
    """An identity that is not stored yet. Older ones may have a platform of any name."""

    platform: Platform


class User(BaseModel):
    """A user, with the last-known name and time zone, and the platform links."""

    model_config = ConfigDict(from_attributes=True)

    id: UUID
    display_name: str
    time_zone: str
    version: int
    created_at: datetime
    updated_at: datetime
    paused_at: datetime | None = Field(
        None, description="Start of the pause of remembering; null without a pause."
    )
    platform_links: list[PlatformLink] = []


class ResolveUser(Input):
    """A speaker on a platform."""

    platform: Platform = Field(examples=["discord"])
    platform_user_id: Key = Field(examples=["184405311681986560"])
    display_name: Label = Field(examples=["Ada"])
    time_zone: TimeZone | None = Field(default=None, examples=["Europe/London"])


class ResolveDetails(TypedDict, total=False):
    """The fields of :class:`ResolveUser`, as keywords."""

    platform: str
    platform_user_id: str
    display_name: str
    time_zone: str | None


class UserUpdate(Update):
    """Changes of a user. Fields that are left out stay as they are."""

    display_name: Label | None = None
    time_zone: TimeZone | None = None
    paused: bool | None = Field(
        None,
        description="Whether remembering is paused: what the user says meanwhile is never recalled "
        "or summarised, and no memory of them is stored.",
    )


class UserOverview(BaseModel):
    """A user as an agent knows them."""

    id: UUID
    display_name: str
    created_at: datetime
    platform_links: list[PlatformLink] = []
    memory_count: int = Field(
        description="Active memories of the user; with an agent, those that it reads, in the scope "
        "in effect."
    )


class UserOverviewPage(Items[UserOverview]):
    """One page of users; ``total`` counts all. In JSON its items are ``users``."""

    model_config = ConfigDict(validate_by_name=True, serialize_by_alias=True)

    items: list[UserOverview] = Field(alias="users")
    total: int
