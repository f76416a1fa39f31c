"""Find the memories that two users have in common. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from remembrancer.memories.dedup import repeats

Namespace = tuple[UUID | None, UUID | None]


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """The columns by which two memories are compared."""

    id: str
    content_hash: bytes
    agent_id: UUID | None
    space_id: UUID | None
    place_id: str | None
    address: str | None
    status: str


def duplicates(moving: Sequence[ComparedRow], staying: Sequence[ComparedRow]) -> dict[str, str]:
    """Return the staying memory that each moving memory repeats, by id.

    Only memories of the same agent and space can be the same.
    """
    candidates = _by_namespace(staying)
    repeated: dict[str, str] = {}
    for namespace, rows in _by_namespace(moving).items():
        repeated |= repeats(rows, candidates.get(namespace, ()))
    return repeated


def _by_namespace(rows: Sequence[ComparedRow]) -> dict[Namespace, list[ComparedRow]]:
    namespaces: dict[Namespace, list[ComparedRow]] = {}
    for row in rows:
        namespaces.setdefault((row.agent_id, row.space_id), []).append(row)
    return namespaces
