"""The services, called in this process."""

from dataclasses import dataclass

from entry_points.python.conversations import PythonConversations
from entry_points.python.memories import PythonMemories
from entry_points.python.people import PythonPeople
from entry_points.python.spaces import PythonSpaces


@dataclass(frozen=True)
class PythonDoor(PythonPeople, PythonSpaces, PythonMemories, PythonConversations):
    """The services, called in this process."""
