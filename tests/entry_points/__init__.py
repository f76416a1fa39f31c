"""The ways into the store, behind one interface: a case is written once and tried at each.

Everything that goes in and comes out is plain JSON, as a client sees it. What is refused
raises :class:`Refused`, whichever way the door says so.
"""

from entry_points.base import Door, Json, Refused, id_of, refusals
from entry_points.python import PythonDoor
from entry_points.rest import RestDoor

__all__ = ["Door", "Json", "PythonDoor", "Refused", "RestDoor", "id_of", "refusals"]
