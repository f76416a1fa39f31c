"""What a space is."""

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from remembrancer.text import Label, Prose


class SpaceCreate(BaseModel):
    """A new space. Who makes it is its owner; ``member_ids`` join it."""

    model_config = ConfigDict(extra="forbid")

    name: Label
    description: Prose = ""
    member_ids: list[UUID] = []


class Space(BaseModel):
    """A subject, such as a person or a project, with members."""

    model_config = ConfigDict(from_attributes=True)

    id: UUID
    name: str
    description: str
    created_at: datetime
    updated_at: datetime
