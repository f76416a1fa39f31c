"""Associations as a client gets them, and the graph they make."""

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from pydantic import BaseModel, Field

from remembrancer.memories.schemas import Category, Kind, Relation, Suggestion


class Direction(StrEnum):
    """Which way an association leads, seen from a memory."""

    OUTGOING = "outgoing"
    """From it to the other."""
    INCOMING = "incoming"
    """From the other to it."""


class Association(BaseModel):
    """A directed edge between two memories: ``memory_id`` ``relation`` ``target_id``.

    Ids of memories are unique for one owner, so each comes with whose it is; null for shared
    knowledge.
    """

    memory_id: str = Field(examples=["a1B2c3D4"])
    user_id: UUID | None
    relation: Relation
    target_id: str = Field(examples=["e5F6g7H8"])
    target_user_id: UUID | None
    weight: float
    created_at: datetime
    updated_at: datetime


class AssociationPage(BaseModel):
    """Associations of a memory in both directions, the strongest first."""

    associations: list[Association]
    next_cursor: str | None = None


class Node(BaseModel):
    """A memory in a neighbourhood."""

    id: str
    user_id: UUID | None = Field(description="Whose it is; null for shared knowledge.")
    depth: int = Field(description="Steps away: 0 is the memory asked about.")
    strength: float = Field(description="Of the strongest path to it: the product of its weights.")
    kind: Kind
    category: Category
    subject: str | None
    content: str
    importance: float


class Neighbourhood(BaseModel):
    """A memory, those around it, and the associations between them. Each node once."""

    nodes: list[Node] = Field(description="By depth, then the strongest first.")
    edges: list[Association]
    complete: bool = Field(description="False where more lies around than was asked for.")


class Suggestions(BaseModel):
    """Associations that could be made, the most similar first. None is made by itself."""

    suggestions: list[Suggestion]
