"""JSON schemas of arguments as providers take them: no references, no titles. Pure."""

from typing import Any

from pydantic import BaseModel


def parameters(arguments: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON schema of arguments, with every reference written out.

    Not all that speaks a provider's protocol follows references, and small models do not either.
    """
    schema = arguments.model_json_schema()
    named = schema.pop("$defs", {})
    plain: dict[str, Any] = _plain(schema, named)
    plain.pop("description", None)
    return plain


def _plain(part: Any, named: dict[str, Any]) -> Any:
    if isinstance(part, list):
        return [_plain(one, named) for one in part]
    if not isinstance(part, dict):
        return part
    if reference := part.get("$ref"):
        meant = named[reference.removeprefix("#/$defs/")]
        beside = {key: value for key, value in part.items() if key != "$ref"}
        return _plain({**_undescribed(meant), **beside}, named)
    kept = {key: value for key, value in part.items() if not _is_title(key, value)}
    return _optional({key: _plain(value, named) for key, value in kept.items()})


def _is_title(key: str, value: Any) -> bool:
    return key == "title" and isinstance(value, str)


def _undescribed(meant: dict[str, Any]) -> dict[str, Any]:
    """Return what a reference leads to without its docstring, which is for people who code."""
    return {key: value for key, value in meant.items() if key != "description"}


def _optional(part: dict[str, Any]) -> dict[str, Any]:
    """Return an argument that may be left out, without saying that it may be null as well."""
    choices = part.get("anyOf")
    if choices is None or {"type": "null"} not in choices:
        return part
    others = [one for one in choices if one != {"type": "null"}]
    rest = {key: value for key, value in part.items() if key != "anyOf"}
    if rest.get("default", 0) is None:
        del rest["default"]
    return {**others[0], **rest} if len(others) == 1 else {"anyOf": others, **rest}
