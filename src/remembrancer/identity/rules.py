"""Which memories of two people who turn out to be one are the same memory. Pure."""

from collections.abc import Sequence
from typing import Any, Protocol
from uuid import UUID

from remembrancer.memories.rules import telling_words


class Statement(Protocol):
    """What is compared of an active memory."""

    @property
    def id(self) -> str:
        """Its id, unique to its owner."""

    @property
    def content(self) -> str:
        """What it says."""

    @property
    def kind(self) -> str:
        """How it behaves."""

    @property
    def agent_id(self) -> UUID | None:
        """Its namespace."""

    @property
    def space_id(self) -> UUID | None:
        """Its space."""

    @property
    def place_id(self) -> str | None:
        """The place it is, if it is one."""

    @property
    def valid_from(self) -> Any:
        """Since when it holds."""

    @property
    def valid_to(self) -> Any:
        """Until when it holds."""


def duplicates(moving: Sequence[Statement], staying: Sequence[Statement]) -> dict[str, str]:
    """Return which moving memory says what which staying one says, by id.

    The same words, for the same time, in the same place; or the same place on the map.
    """
    known = {key: memory.id for memory in reversed(staying) for key in _keys(memory)}
    found = {}
    for memory in moving:
        same = next((known[key] for key in _keys(memory) if key in known), None)
        if same is not None:
            found[memory.id] = same
    return found


def _keys(memory: Statement) -> list[tuple[Any, ...]]:
    ground = (memory.agent_id, memory.space_id)
    if memory.place_id is not None:
        return [(*ground, "place", memory.place_id)]
    words = tuple(telling_words(memory.content))
    return [(*ground, memory.kind, memory.valid_from, memory.valid_to, words)]
