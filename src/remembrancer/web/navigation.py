"""What can be gone to: the tabs about one person. A new page of a person is one line request."""

from dataclasses import dataclass
from typing import Final
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Tab:
    """A page about a person: its name, where it is, and its icon."""

    name: str
    path: str
    icon: str


_TABS: Final = (
    ("Memories", "memories", "notes"),
    ("Review", "review", "check"),
    ("Places", "places", "place"),
    ("Spaces", "spaces", "people"),
    ("Agents", "agents", "agent"),
    ("Conversations", "conversations", "talk"),
    ("Graph", "graph", "graph"),
    ("Playground", "playground", "search"),
    ("Profile", "profile", "person"),
)


def tabs(user_id: UUID) -> list[Tab]:
    """Return the tabs about a person."""
    return [Tab(name, f"/people/{user_id}/{path}", icon) for name, path, icon in _TABS]
