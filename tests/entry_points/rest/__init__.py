"""The REST API, asked over HTTP."""

from dataclasses import dataclass

from entry_points.rest.conversations import RestConversations
from entry_points.rest.memories import RestMemories
from entry_points.rest.people import RestPeople
from entry_points.rest.spaces import RestSpaces


@dataclass(frozen=True)
class RestDoor(RestPeople, RestSpaces, RestMemories, RestConversations):
    """The REST API, asked over HTTP."""
