"""Errors as text that a model can act on. Pure."""

from collections.abc import Collection
from typing import Final

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from remembrancer import errors
from remembrancer.reasons import wrong_field
from remembrancer.tools.json_text import to_json_line

_CALLER_FIELDS: Final = frozenset({"user_id", "agent_id", "name"})
"""Fields that the caller sets, not the model."""
_ARGUMENTS: Final = {
    "memory_id": "fact_id",
    "kind": "memory_type",
    "kinds": "memory_type",
    "sort": "sort_by",
    "limit": "max_results",
    "space_id": "space",
}
"""Fields of services, and the arguments that they come from."""
_IDS: Final = frozenset({"memory_id", "fact_id", "target_id"})
_MAX_REASONS: Final = 5
"""Invalid arguments named in one answer."""


class ToolRefusal(Exception):
    """A tool call that did nothing, with the reason and the advice for the model."""

    def __init__(
        self,
        kind: str,
        reason: str,
        *,
        field: str | None = None,
        memory_id: str | None = None,
        text: str | None = None,
    ) -> None:
        super().__init__(reason)
        default = f"{field}: {reason}." if field else f"{reason}."
        self.details = {
            "kind": kind,
            "field": field,
            "reason": reason,
            "memory_id": memory_id,
            "text": text or default,
        }


def can_model_fix(error: errors.RemembrancerError) -> bool:
    """Say whether another call by the model could succeed."""
    set_by_caller = (
        isinstance(error, errors.NotFound | errors.InvalidInput) and error.field in _CALLER_FIELDS
    )
    return not (isinstance(error, errors.Unavailable | errors.Forbidden) or set_by_caller)


def to_refusal(error: errors.RemembrancerError, arguments: type[BaseModel]) -> ToolRefusal:
    """Return an error of a service in the words of the tool: a model knows its arguments alone."""
    field = _argument(error.field or "", arguments.model_fields)
    text = None if field else f"{error.reason}."
    is_wrong = isinstance(error, errors.NotFound | errors.InvalidInput)
    if field and is_wrong and field.rpartition(".")[2] in _IDS:
        text = (
            f"{field}: no memory has this id. An id has 8 letters and digits, such as "
            "a1B2c3D4; take one from your memory or from memory_recall."
        )
    return ToolRefusal(error.slug, error.reason, field=field or error.field, text=text)


def _argument(field: str, names: Collection[str]) -> str | None:
    """Return the argument that a field of a service comes from; null where there is none."""
    first, dot, rest = field.partition(".")
    name = next((name for name in (first, _ARGUMENTS.get(first)) if name in names), None)
    return name and name + dot + rest


def same_subject(memory_id: str, content: str) -> ToolRefusal:
    return ToolRefusal(
        "similar-memory-exists",
        "a memory on this subject exists",
        field="subject",
        memory_id=memory_id,
        text=(
            f"Memory {memory_id} is on the same subject and says {to_json_line(content)}. "
            f"If yours replaces it, call update_memory with memory_id {memory_id} and the whole "
            f"new content. If yours repeats {memory_id}, there is nothing to do. If yours is a "
            "further fact about the same subject, or about another of that name, call this tool "
            "again with further_fact true: both are kept."
        ),
    )


def _wrong_argument(problem: ErrorDetails) -> tuple[list[str], str]:
    path, reason = wrong_field(problem)
    if problem["type"] == "extra_forbidden":
        reason = "is not an argument of this tool; leave it out"
    return path, reason


def invalid_arguments(model: type[BaseModel], error: ValidationError) -> ToolRefusal:
    problems = error.errors(include_input=False, include_url=False)
    wrong = [(".".join(path), reason) for path, reason in map(_wrong_argument, problems)]
    reasons = "; ".join(f"{name or 'arguments'}: {reason}" for name, reason in wrong[:_MAX_REASONS])
    names = ", ".join(model.model_fields)
    name, reason = wrong[0]
    return ToolRefusal(
        "invalid-input",
        reason,
        field=name or None,
        text=f"{reasons}. The arguments are {names}.",
    )
