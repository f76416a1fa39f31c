"""API models of keys."""

from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from pydantic import BaseModel, Field, model_validator

from remembrancer.access import Role
from remembrancer.text import Instant, Label
from remembrancer.user_names import UserRef
from remembrancer.validation import Input

DEFAULT_GRACE: Final = 86_400
"""Seconds for which the old secret of a rotated key stays valid."""
LONGEST_GRACE: Final = 30 * 86_400


def is_past(at: datetime | None) -> bool:
    """Return whether a time is over; none never is."""
    return at is not None and at <= datetime.now(UTC)


class KeyCreate(Input):
    """A new API key. A ``user`` key acts only for its user."""

    name: Label = Field(examples=["discord bot"])
    role: Role
    user_id: UserRef | None = None
    expires_at: Instant | None = None

    @model_validator(mode="after")
    def _check_user(self) -> "KeyCreate":
        if (self.role is Role.USER) != (self.user_id is not None):
            raise ValueError("user_id: must be set for the role user, and for no other role")
        return self


class KeyRotation(Input):
    """How a key is replaced."""

    grace: int = Field(
        DEFAULT_GRACE,
        ge=0,
        le=LONGEST_GRACE,
        description="Seconds for which the old secret stays valid.",
    )


class Key(BaseModel):
    """An API key, without its secret."""

    id: UUID
    name: str
    role: Role
    user_id: UUID | None
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None = Field(description="To about a minute.")

    @property
    def is_valid(self) -> bool:
        """Whether it is neither revoked nor expired."""
        return self.revoked_at is None and not is_past(self.expires_at)


class NewKey(Key):
    """A new key. Its ``secret`` is shown only here; the server stores a hash."""

    secret: str


class KeyHolder(BaseModel):
    """The role and the user of a key."""

    role: Role
    user_id: UUID | None = Field(description="Its user; null for other roles.")
