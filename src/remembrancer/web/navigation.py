"""The tabs of the pages about a user. A new page is one line here."""

from dataclasses import dataclass
from typing import Final
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Tab:
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
    return [Tab(name, f"/people/{user_id}/{path}", icon) for name, path, icon in _TABS]
