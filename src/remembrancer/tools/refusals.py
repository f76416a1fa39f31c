"""Errors in words that a model can act on: what is wrong, and what to do instead. Pure."""

from typing import Final

from pydantic import BaseModel, ValidationError

from remembrancer.errors import (
    Forbidden,
    InvalidInput,
    NotFound,
    RemembrancerError,
    Unavailable,
)
from remembrancer.tools.json_text import as_json
from remembrancer.validation import wrong_field

_ENVELOPE: Final = frozenset({"user_id", "agent_id", "name"})
"""Fields that the caller fills in, not the model."""
_MOST: Final = 5
"""Wrong arguments that are told at once."""


class ToolRefusal(Exception):
    """A tool did nothing; says why to the model, and what to do instead."""

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
        said = f"{field}: {reason}." if field else f"{reason}."
        self.told = {
            "kind": kind,
            "field": field,
            "reason": reason,
            "memory_id": memory_id,
            "text": text or said,
        }


def is_for_the_model(error: RemembrancerError) -> bool:
    """Say whether a model could call the tool otherwise and succeed."""
    by_the_caller = isinstance(error, NotFound | InvalidInput) and error.field in _ENVELOPE
    return not (isinstance(error, Unavailable | Forbidden) or by_the_caller)


def in_words(error: RemembrancerError) -> ToolRefusal:
    """Return what a refusal of a service says to the model."""
    text = None
    if isinstance(error, NotFound) and error.field in {"memory_id", "fact_id"}:
        text = (
            f"{error.field}: there is no such memory here. Ids have 8 letters and digits, such as "
            "a1B2c3D4; take one from your memory or from memory_recall."
        )
    return ToolRefusal(error.slug, error.reason, field=error.field, text=text)


def similar(memory_id: str, content: str, *, may_insist: bool) -> ToolRefusal:
    """Return the refusal that names the memory to update instead, and what it says."""
    insist = (
        " If it is about somebody or something else of that name, call this again with "
        "allow_similar true."
        if may_insist
        else ""
    )
    return ToolRefusal(
        "similar-memory-exists",
        "a memory on this subject exists",
        field="subject",
        memory_id=memory_id,
        text=(
            f"Memory {memory_id} is on this subject already and says {as_json(content)}. If that "
            f"has changed, call update_memory with memory_id {memory_id} and the whole new content."
            f"{insist}"
        ),
    )


def wrong_arguments(model: type[BaseModel], error: ValidationError) -> ToolRefusal:
    """Return what is wrong with arguments, by name, without what was given."""
    wrong = [
        (".".join(path), reason)
        for path, reason in (
            wrong_field(one) for one in error.errors(include_input=False, include_url=False)
        )
    ]
    told = "; ".join(f"{name or 'arguments'}: {reason}" for name, reason in wrong[:_MOST])
    known = ", ".join(model.model_fields)
    name, reason = wrong[0]
    return ToolRefusal(
        "invalid-input",
        reason,
        field=name or None,
        text=f"{told}. The arguments are {known}.",
    )
