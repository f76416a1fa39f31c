"""API models of keys."""

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel, Field, model_validator

from remembrancer.access import Role
from remembrancer.text import Instant, Label
from remembrancer.user_names import UserRef
from remembrancer.validation import Input


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


class Key(BaseModel):
    """An API key, without its secret."""

    id: UUID
    name: str
    role: Role
    user_id: UUID | None
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None = Field(description="To about ten seconds.")


class NewKey(Key):
    """A new key. Its ``secret`` is shown only here; the server stores a hash."""

    secret: str


class KeyHolder(BaseModel):
    """The role and the user of a key."""

    role: Role
    user_id: UUID | None = Field(description="Its user; null for other roles.")
