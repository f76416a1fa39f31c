"""The ways into the store have the same methods, so that each case can be tried at each."""

from inspect import getmembers, isfunction, signature

from entry_points import PythonDoor, RestDoor


def test_every_door_has_the_same_methods() -> None:
    """By name and by argument; what a method returns is for the cases to say."""
    doors = [
        {
            name: [str(parameter) for parameter in signature(method).parameters.values()]
            for name, method in getmembers(door, isfunction)
            if not name.startswith("_")
        }
        for door in (PythonDoor, RestDoor)
    ]
    assert doors[0] == doors[1]
