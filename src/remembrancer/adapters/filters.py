"""Filters on values and namespaces of a LangGraph store. Pure."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

Namespace = tuple[str, ...]

_OPERATORS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "$eq": lambda value, other: bool(value == other),
    "$ne": lambda value, other: bool(value != other),
    "$gt": lambda value, other: bool(value > other),
    "$gte": lambda value, other: bool(value >= other),
    "$lt": lambda value, other: bool(value < other),
    "$lte": lambda value, other: bool(value <= other),
}


def matches(value: Any, condition: Any) -> bool:
    """Compare by operators, in fields, in elements or as a whole; values of other types differ."""
    if isinstance(condition, Mapping):
        if any(str(name).startswith("$") for name in condition):
            return all(_compare(value, name, other) for name, other in condition.items())
        return isinstance(value, Mapping) and all(
            matches(value.get(name), other) for name, other in condition.items()
        )
    if isinstance(condition, list | tuple):
        return (
            isinstance(value, list | tuple)
            and len(value) == len(condition)
            and all(matches(*pair) for pair in zip(value, condition, strict=True))
        )
    return bool(value == condition)


def _compare(value: Any, operator: str, other: Any) -> bool:
    if operator not in _OPERATORS:
        raise ValueError(f"unknown operator {operator}; use one of {', '.join(_OPERATORS)}")
    try:
        return _OPERATORS[operator](value, other)
    except TypeError:
        return False


def starts_with(namespace: Namespace, path: Sequence[str]) -> bool:
    """Return whether a namespace begins with a path; ``*`` matches any name."""
    return len(namespace) >= len(path) and all(
        part in {"*", name} for name, part in zip(namespace, path, strict=False)
    )


def ends_with(namespace: Namespace, path: Sequence[str]) -> bool:
    return starts_with(namespace[::-1], tuple(path)[::-1])


def as_text(value: Mapping[str, Any]) -> str:
    """Return a value as text: a single field alone, several fields with their names."""
    if len(value) == 1:
        [only] = value.values()
        return _text(only)
    return "; ".join(f"{name}: {_text(item)}" for name, item in value.items())


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {_text(item)}" for name, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(_text(item) for item in value)
    return "" if value is None else str(value)


def cut(text: str, longest: int) -> str:
    """Return a text with visible characters, at most ``longest`` of them."""
    if not any(c.isprintable() and not c.isspace() for c in text):
        return "(empty)"
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
