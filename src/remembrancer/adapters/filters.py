"""Filters on values and namespaces of a LangGraph store. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from remembrancer.memories.metadata import Condition

Namespace = tuple[str, ...]

_OPERATORS: Final = ("$eq", "$ne", "$gt", "$gte", "$lt", "$lte")


def conditions(wanted: Mapping[str, Any], within: Sequence[str] = ("value",)) -> list[Condition]:
    """Return the conditions of a filter on values, by operators, in fields or as a whole."""
    found: list[Condition] = []
    for name, value in wanted.items():
        path = [*within, name]
        if not isinstance(value, Mapping):
            found.append((path, "eq", value))
        elif not value:
            found.append((path, "contains", value))
        elif any(str(key).startswith("$") for key in value):
            found += [(path, _operator(key), other) for key, other in value.items()]
        else:
            found += conditions(value, path)
    return found


def _operator(name: str) -> str:
    if name not in _OPERATORS:
        raise ValueError(f"unknown operator {name}; use one of {', '.join(_OPERATORS)}")
    return name.removeprefix("$")


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
