"""Which values and namespaces of a LangGraph store are looked for. Pure."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

Namespace = tuple[str, ...]

_OPERATORS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "$eq": lambda one, other: bool(one == other),
    "$ne": lambda one, other: bool(one != other),
    "$gt": lambda one, other: bool(one > other),
    "$gte": lambda one, other: bool(one >= other),
    "$lt": lambda one, other: bool(one < other),
    "$lte": lambda one, other: bool(one <= other),
}


def matches(value: Any, wanted: Any) -> bool:
    """Say whether a value is what a filter wants of it.

    An object with operators is compared by all of them, another one by the fields it names, a
    list element by element, anything else for equality. What cannot be compared, such as a
    number with nothing, does not match. Raises ``ValueError`` for an unknown operator.
    """
    if isinstance(wanted, Mapping):
        if any(str(name).startswith("$") for name in wanted):
            return all(_compare(value, name, other) for name, other in wanted.items())
        return isinstance(value, Mapping) and all(
            matches(value.get(name), other) for name, other in wanted.items()
        )
    if isinstance(wanted, list | tuple):
        return (
            isinstance(value, list | tuple)
            and len(value) == len(wanted)
            and all(matches(*pair) for pair in zip(value, wanted, strict=True))
        )
    return bool(value == wanted)


def _compare(value: Any, operator: str, other: Any) -> bool:
    if operator not in _OPERATORS:
        raise ValueError(f"Unsupported operator: {operator}")
    try:
        return _OPERATORS[operator](value, other)
    except TypeError:
        return False


def starts_with(namespace: Namespace, path: Sequence[str]) -> bool:
    """Say whether a namespace begins with the names of a path, ``*`` standing for any one."""
    return len(namespace) >= len(path) and all(
        asked in {"*", name} for name, asked in zip(namespace, path, strict=False)
    )


def ends_with(namespace: Namespace, path: Sequence[str]) -> bool:
    """Say whether a namespace ends with the names of a path, ``*`` standing for any one."""
    return starts_with(namespace[::-1], tuple(path)[::-1])


def shown(value: Mapping[str, Any]) -> str:
    """Return a value as words: its one text as it is, several fields with their names."""
    if len(value) == 1:
        [only] = value.values()
        return _text(only)
    return "; ".join(f"{name}: {_text(one)}" for name, one in value.items())


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {_text(one)}" for name, one in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(_text(one) for one in value)
    return "" if value is None else str(value)


def cut(text: str, longest: int) -> str:
    """Return a text that has something to read and at most ``longest`` characters."""
    if not any(c.isprintable() and not c.isspace() for c in text):
        return "(empty)"
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
