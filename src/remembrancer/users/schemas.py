"""What is known of a user, and what a client may say of one."""

from datetime import datetime
from typing import Annotated
from uuid import UUID
from zoneinfo import available_timezones

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from remembrancer.text import Key, Label


def _known_zone(value: str) -> str:
    if value not in available_timezones():
        raise ValueError("is not an IANA time zone such as Europe/Paris")
    return value


TimeZone = Annotated[str, AfterValidator(_known_zone)]


class PlatformLink(BaseModel):
    """An identity on a platform that belongs to a user."""

    platform: Key = Field(examples=["discord"])
    platform_user_id: Key = Field(examples=["184405311681986560"])


class User(BaseModel):
    """A person: the last-known name and time zone, and where they speak from."""

    model_config = ConfigDict(from_attributes=True)

    id: UUID
    display_name: str
    time_zone: str
    version: int
    created_at: datetime
    updated_at: datetime
    platform_links: list[PlatformLink] = []


class ResolveUser(BaseModel):
    """Who spoke, as their platform names them."""

    model_config = ConfigDict(extra="forbid")

    platform: Key = Field(examples=["discord"])
    platform_user_id: Key = Field(examples=["184405311681986560"])
    display_name: Label = Field(examples=["Ada"])
    time_zone: TimeZone | None = Field(None, examples=["Europe/London"])


class UserUpdate(BaseModel):
    """What may be changed of a user."""

    model_config = ConfigDict(extra="forbid")

    display_name: Label | None = None
    time_zone: TimeZone | None = None
