"""JSON schemas of arguments for providers: no references, no titles. Pure."""

from typing import Any

from pydantic import BaseModel


def parameters(arguments: type[BaseModel]) -> dict[str, Any]:
    """Return a JSON schema without references, which some servers do not follow."""
    schema = arguments.model_json_schema()
    named = schema.pop("$defs", {})
    plain: dict[str, Any] = _plain(schema, named)
    plain.pop("description", None)
    return plain


def _plain(part: Any, named: dict[str, Any]) -> Any:
    if isinstance(part, list):
        return [_plain(item, named) for item in part]
    if not isinstance(part, dict):
        return part
    if reference := part.get("$ref"):
        target = named[reference.removeprefix("#/$defs/")]
        siblings = {key: value for key, value in part.items() if key != "$ref"}
        # The docstring of a model is for developers.
        undescribed = {key: value for key, value in target.items() if key != "description"}
        return _plain({**undescribed, **siblings}, named)
    rest = {k: v for k, v in part.items() if k != "title" or not isinstance(v, str)}
    return _optional({key: _plain(value, named) for key, value in rest.items()})


def _optional(part: dict[str, Any]) -> dict[str, Any]:
    choices = part.get("anyOf")
    if choices is None or {"type": "null"} not in choices:
        return part
    others = [choice for choice in choices if choice != {"type": "null"}]
    rest = {key: value for key, value in part.items() if key != "anyOf"}
    if rest.get("default", 0) is None:
        del rest["default"]
    return {**others[0], **rest} if len(others) == 1 else {"anyOf": others, **rest}
