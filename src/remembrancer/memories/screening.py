"""Redact or refuse sensitive text, and do not share instructions."""

from collections.abc import Sequence
from typing import Protocol

from remembrancer.access import Visibility
from remembrancer.errors import InvalidInput, NotFound
from remembrancer.guard.guard import Guard, ScreenResult
from remembrancer.guard.instructions import is_instruction
from remembrancer.guard.schemas import Action, GuardFinding, SensitiveKind
from remembrancer.ids import SHARED_OWNER
from remembrancer.memories.rows import MemoryRow
from remembrancer.memories.schemas import (
    MemoryCreate,
    MemoryUpdate,
    RememberRefusal,
    RememberResult,
    Review,
)

_TEXTS = ("content", "subject", "metadata")


class _Quotable(Protocol):
    """Everything with content and a subject: a statement, changes."""

    @property
    def content(self) -> str | None: ...
    @property
    def subject(self) -> str | None: ...


def statement(guard: Guard, sent: MemoryCreate) -> ScreenResult[MemoryCreate]:
    """Return a statement as it may be stored.

    An instruction to an agent is refused where other users would read it.
    """
    screened = guard.screen(sent, (*_TEXTS, "place_id"))
    if screened.model.place_id != sent.place_id:
        # Redaction could give two places the same id.
        blocking = [
            finding.model_copy(update={"action": Action.BLOCK})
            if finding.field == "place_id"
            else finding
            for finding in screened.findings
        ]
        screened = ScreenResult(screened.model, blocking)
    if (sent.shared or sent.visibility is Visibility.SHARED) and is_quoted(sent):
        return ScreenResult(screened.model, [*screened.findings, _instruction()])
    return screened


def changes(guard: Guard, sent: MemoryUpdate) -> ScreenResult[MemoryUpdate]:
    """Return changes as they may be stored; raise ``InvalidInput`` if they may not be."""
    screened = guard.screen(sent, _TEXTS)
    if screened.refusal:
        raise screened.refusal
    return screened


def is_quoted(statement: _Quotable) -> bool:
    """Return whether a statement reads like an instruction: prompts must quote it."""
    return are_quoted(statement.content, statement.subject)


def are_quoted(content: str | None, subject: str | None) -> bool:
    return any(is_instruction(words) for words in (content, subject) if words)


def check_sharing(memory: MemoryRow) -> None:
    """Raise ``InvalidInput`` if a memory may not be shared.

    An instruction sets the review to pending, and an update does not undo that: readers of a
    memory see its history.
    """
    unreviewed = memory.review == Review.NONE and memory.quoted
    if memory.review == Review.PENDING or unreviewed:
        raise InvalidInput("is pending; review it before you share it", field="visibility")


def check_update(memory: MemoryRow, sent: MemoryUpdate) -> None:
    """Raise ``InvalidInput`` if other users would read an instruction in the new content."""
    shared = memory.owner_id == SHARED_OWNER or memory.visibility == Visibility.SHARED
    if shared and is_quoted(sent):
        refusal = ScreenResult(sent, [_instruction()]).refusal
        assert refusal is not None
        raise refusal


def answers(
    screened: Sequence[ScreenResult[MemoryCreate]], results: Sequence[RememberResult]
) -> list[RememberResult | RememberRefusal]:
    """Return the results of all statements in order, from those of the accepted ones."""
    stored = iter(results)
    answers: list[RememberResult | RememberRefusal] = []
    for statement in screened:
        findings = statement.findings
        if refusal := statement.refusal:
            reason, field = refusal.reason, refusal.field or "content"
            answers.append(RememberRefusal(reason=reason, field=field, guard=findings))
        else:
            answers.append(next(stored).model_copy(update={"guard": findings}))
    return answers


def as_sent(
    error: InvalidInput | NotFound, screened: Sequence[ScreenResult[MemoryCreate]]
) -> InvalidInput | NotFound:
    """Return an error about an accepted statement with its index in the request."""
    parts = (error.field or "").split(".")
    if len(parts) < 2 or parts[0] != "memories" or not parts[1].isdecimal():
        return error
    accepted = [n for n, statement in enumerate(screened) if statement.refusal is None]
    field = ".".join(["memories", str(accepted[int(parts[1])]), *parts[2:]])
    return type(error)(error.reason, field=field, **error.extra)


def _instruction() -> GuardFinding:
    return GuardFinding(field="content", category=SensitiveKind.INSTRUCTION, action=Action.BLOCK)
