"""Response models of associations and of the graph they make."""

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from pydantic import BaseModel, Field

from remembrancer.memories.schemas import Category, Kind, Relation, Suggestion
from remembrancer.paging import Page


class Direction(StrEnum):
    """The direction of an association, seen from a memory: from it, or to it."""

    OUTGOING = "outgoing"
    INCOMING = "incoming"


class Association(BaseModel):
    """A directed association between two memories: ``memory_id`` ``relation`` ``target_id``.

    Memory ids are unique for one owner, so each comes with its owner; null for shared knowledge.
    """

    memory_id: str = Field(examples=["a1B2c3D4"])
    user_id: UUID | None
    relation: Relation
    target_id: str = Field(examples=["e5F6g7H8"])
    target_user_id: UUID | None
    weight: float
    created_at: datetime
    updated_at: datetime


class AssociationPage(Page[Association]):
    """Associations of a memory in both directions, the strongest first."""


class Node(BaseModel):
    """A memory in a neighbourhood."""

    id: str
    user_id: UUID | None = Field(description="Its owner; null for shared knowledge.")
    depth: int = Field(description="Steps from the memory of the request, which has 0.")
    strength: float = Field(
        description="Strength of the strongest path to it: the product of the weights."
    )
    kind: Kind
    category: Category
    subject: str | None
    content: str
    importance: float


class Neighbourhood(BaseModel):
    """A memory, the memories around it, and the associations between them. Each memory once."""

    nodes: list[Node] = Field(description="By depth, then the strongest first.")
    edges: list[Association]
    complete: bool = Field(description="False if there are more memories than the limit.")


class Suggestions(BaseModel):
    """Associations that could be added, the most similar first. None is added by itself."""

    items: list[Suggestion]
