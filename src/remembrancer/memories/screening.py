"""The guard on statements: what of them may be stored, and what may be shared."""

from collections.abc import Sequence
from typing import Any, Protocol

from remembrancer.access import Visibility
from remembrancer.errors import InvalidInput, NotFound
from remembrancer.guard.guard import Guard, ScreenResult
from remembrancer.guard.instructions import is_instruction
from remembrancer.guard.schemas import Action, GuardFinding, SensitiveKind
from remembrancer.ids import SHARED_OWNER
from remembrancer.memories.schemas import (
    MemoryCreate,
    MemoryUpdate,
    RememberRefusal,
    RememberResult,
)

_TEXTS = ("content", "subject", "metadata")


class _Said(Protocol):
    @property
    def content(self) -> str | None: ...
    @property
    def subject(self) -> str | None: ...


def statement(guard: Guard, sent: MemoryCreate) -> ScreenResult[MemoryCreate]:
    """Return a statement as it may be stored.

    One that reads like an instruction to an agent is refused where others would read it.
    """
    screened = guard.screen(sent, (*_TEXTS, "place_id"))
    if screened.model.place_id != sent.place_id:
        # With a mark in it, two places would be one.
        stopping = [
            finding.model_copy(update={"action": Action.BLOCK})
            if finding.field == "place_id"
            else finding
            for finding in screened.findings
        ]
        screened = ScreenResult(screened.model, stopping)
    if (sent.shared or sent.visibility is Visibility.SHARED) and is_quoted(sent):
        return ScreenResult(screened.model, [*screened.findings, _instruction()])
    return screened


def changes(guard: Guard, sent: MemoryUpdate) -> ScreenResult[MemoryUpdate]:
    """Return changes as they may be stored; raise ``InvalidInput`` if they may not be."""
    screened = guard.screen(sent, _TEXTS)
    if screened.refusal:
        raise screened.refusal
    return screened


def is_quoted(said: _Said) -> bool:
    """Say whether words read like an instruction, so that they are but what somebody said."""
    return any(is_instruction(words) for words in (said.content, said.subject) if words)


def check_sharing(memory: Any) -> None:
    """Raise ``InvalidInput`` if a memory (its row) may not be shared as it is.

    An instruction sets the review to pending, and an update does not undo that: whoever sees
    a memory sees its history.
    """
    if memory.review == "pending" or (memory.review == "none" and is_quoted(memory)):
        raise InvalidInput("waits for review; it is shared only once confirmed", field="visibility")


def check_update(memory: Any, sent: MemoryUpdate) -> None:
    """Raise ``InvalidInput`` if the new words may not be where the memory (its row) is."""
    shared = memory.owner_id == SHARED_OWNER or memory.visibility == Visibility.SHARED
    if shared and is_quoted(sent):
        refusal = ScreenResult(sent, [_instruction()]).refusal
        assert refusal is not None
        raise refusal


def answers(
    screened: Sequence[ScreenResult[MemoryCreate]], written: Sequence[RememberResult]
) -> list[RememberResult | RememberRefusal]:
    """Return what became of each statement: ``written`` are those that were not refused."""
    stored = iter(written)
    told: list[RememberResult | RememberRefusal] = []
    for one in screened:
        if refusal := one.refusal:
            reason, field = refusal.reason, refusal.field or "content"
            told.append(RememberRefusal(reason=reason, field=field, guard=one.findings))
        else:
            told.append(next(stored).model_copy(update={"guard": one.findings}))
    return told


def as_sent(
    error: InvalidInput | NotFound, screened: Sequence[ScreenResult[MemoryCreate]]
) -> InvalidInput | NotFound:
    """Return ``error`` with the place of the statement among all that were sent."""
    parts = (error.field or "").split(".")
    if len(parts) < 2 or parts[0] != "memories" or not parts[1].isdecimal():
        return error
    kept = [n for n, one in enumerate(screened) if one.refusal is None]
    field = ".".join(["memories", str(kept[int(parts[1])]), *parts[2:]])
    return type(error)(error.reason, field=field, **error.extra)


def _instruction() -> GuardFinding:
    return GuardFinding(field="content", category=SensitiveKind.INSTRUCTION, action=Action.BLOCK)
