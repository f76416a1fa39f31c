"""Errors as text that a model can act on. Pure."""

from typing import Final

from pydantic import BaseModel, ValidationError

from remembrancer import errors
from remembrancer.tools.json_text import to_json_line
from remembrancer.validation import wrong_field

_CALLER_FIELDS: Final = frozenset({"user_id", "agent_id", "name"})
"""Fields that the caller sets, not the model."""
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


def to_refusal(error: errors.RemembrancerError) -> ToolRefusal:
    text = None
    if isinstance(error, errors.NotFound) and error.field in {"memory_id", "fact_id"}:
        text = (
            f"{error.field}: no memory has this id. An id has 8 letters and digits, such as "
            "a1B2c3D4; take one from your memory or from memory_recall."
        )
    return ToolRefusal(error.slug, error.reason, field=error.field, text=text)


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


def invalid_arguments(model: type[BaseModel], error: ValidationError) -> ToolRefusal:
    wrong = [
        (".".join(path), reason)
        for path, reason in (
            wrong_field(problem) for problem in error.errors(include_input=False, include_url=False)
        )
    ]
    reasons = "; ".join(f"{name or 'arguments'}: {reason}" for name, reason in wrong[:_MAX_REASONS])
    names = ", ".join(model.model_fields)
    name, reason = wrong[0]
    return ToolRefusal(
        "invalid-input",
        reason,
        field=name or None,
        text=f"{reasons}. The arguments are {names}.",
    )
