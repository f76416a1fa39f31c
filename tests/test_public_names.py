"""What the package exports is what it means to export."""

import inspect
from types import ModuleType

import remembrancer


def _public() -> list[str]:
    return [
        name
        for name, value in vars(remembrancer).items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    ]


def test_all_names_what_can_be_imported_and_nothing_else() -> None:
    """Every public name is listed, in order, and every listed name is there."""
    names = remembrancer.__all__
    assert set(_public()) == set(names) - {"__version__"}
    assert names == sorted(names)
    assert len(names) == len(set(names))
    assert all(hasattr(remembrancer, name) for name in names)


def test_everything_exported_is_documented() -> None:
    """Each class and function says what it is, and so does each of its public methods."""
    undocumented = []
    for name in remembrancer.__all__:
        thing = getattr(remembrancer, name)
        if not (inspect.isclass(thing) or inspect.isfunction(thing)):
            continue
        documented = [(name, thing)]
        if inspect.isclass(thing):
            documented += [
                (f"{name}.{method}", function)
                for method, function in vars(thing).items()
                if inspect.isfunction(function) and not method.startswith("_")
            ]
        undocumented += [path for path, one in documented if not _own_doc(one)]
    assert undocumented == []


def _own_doc(thing: object) -> bool:
    text = vars(thing).get("__doc__") if inspect.isclass(thing) else inspect.getdoc(thing)
    return bool(text) and not str(text).startswith(f"{getattr(thing, '__name__', '')}(")
