"""The plan of a move between scopes, and its undo record. Pure."""

from dataclasses import dataclass
from uuid import UUID

from pydantic import BaseModel

from remembrancer.access import Scope


@dataclass(frozen=True, slots=True)
class MovePlan:
    """Memories to move, and memories that repeat one of the target namespace."""

    moving: list[str]
    merging: dict[str, str]
    """The memory that each one repeats."""

    @property
    def ids(self) -> list[str]:
        return [*self.moving, *self.merging]


class MoveRecord(BaseModel):
    """The record that undoes a move or copy."""

    agent_id: UUID
    to: Scope
    copied: bool
    moved: list[str]
    merged: list[str]
    mentions: list[UUID]
    """Mentions that merging added."""
    copies: dict[str, tuple[int, int]]
    """Version and mention count of each copy."""


def namespaces(agent_id: UUID, to: Scope) -> tuple[UUID | None, UUID | None]:
    """Return the agents of the source and the target; None is the global namespace."""
    return (None, agent_id) if to is Scope.AGENT else (agent_id, None)
