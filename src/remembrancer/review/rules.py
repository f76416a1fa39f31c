"""The plan of a review. Pure."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from remembrancer.access import Visibility
from remembrancer.audit import Outcome
from remembrancer.guard.schemas import GuardFinding
from remembrancer.memories.rows import MemoryRow
from remembrancer.memories.schemas import Status
from remembrancer.review.schemas import Decision, ReviewOutcome, ReviewResult

StatementKey = tuple[UUID | None, UUID | None, bytes]
"""Agent, space and hash: equal for the same statement in the same namespace."""

_ACTIONS: Final = {
    ReviewOutcome.REJECTED: "memory.reject",
    ReviewOutcome.REOPENED: "memory.reopen",
    ReviewOutcome.SHARED: "memory.share",
}
_REFUSED: Final = frozenset({ReviewOutcome.REFUSED, ReviewOutcome.NOT_FOUND})


@dataclass(frozen=True, slots=True)
class ReviewState:
    """The memories that decisions are about, and everything else that the plan depends on."""

    rows: Mapping[str, MemoryRow]
    spaces: Collection[UUID]
    """Spaces that the owner is a member of."""
    statements: Mapping[StatementKey, str]
    """Active memories by statement."""
    targets: Mapping[str, MemoryRow]
    """Memories that pending changes revise."""
    refusals: Mapping[str, str]
    """Reasons against edits, by memory."""
    findings: Mapping[str, list[GuardFinding]]
    """Findings of the guard in edits, by memory."""


@dataclass(slots=True)
class ReviewPlan:
    """The changes of a review. Each kind is one statement."""

    results: dict[str, ReviewResult] = field(default_factory=dict)
    confirmed: list[str] = field(default_factory=list)
    rejected: list[str] = field(default_factory=list)
    reopened: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    """Memories whose statement another memory has now."""
    repeats: dict[str, str] = field(default_factory=dict)
    """Memories and the ones they are mentions of."""
    changes: list[tuple[MemoryRow, str]] = field(default_factory=list)
    """Pending changes and the memories that they revise."""
    shared: list[str] = field(default_factory=list)

    def add_result(
        self, memory_id: str, outcome: ReviewOutcome, now: str | None, reason: str | None = None
    ) -> None:
        self.results[memory_id] = ReviewResult(
            memory_id=memory_id, outcome=outcome, now=now, reason=reason
        )

    def audit_lines(self) -> Mapping[tuple[str, Outcome], Sequence[str]]:
        """Return the memory ids by action and outcome."""
        lines: dict[tuple[str, Outcome], list[str]] = {}
        for result in self.results.values():
            outcome: Outcome = "refused" if result.outcome in _REFUSED else "done"
            action = _ACTIONS.get(result.outcome, "memory.confirm")
            lines.setdefault((action, outcome), []).append(result.memory_id)
        return lines


def is_open(row: MemoryRow) -> bool:
    """Return whether a memory waits for a decision; if not, it was rejected and can be reopened."""
    return row.status != Status.FORGOTTEN


def obstacle(row: MemoryRow, decision: Decision, spaces: Collection[UUID]) -> str | None:
    """Return the reason why a memory cannot be shared, or None."""
    sharing = decision is Decision.SHARE
    if sharing and row.space_id is None:
        return "only a memory in a space can be shared"
    if (sharing or row.visibility == Visibility.SHARED) and row.space_id not in spaces:
        return "only a member of its space can share it"
    return None


def statement_key(row: MemoryRow) -> StatementKey:
    return row.agent_id, row.space_id, bytes(row.content_hash)


def plan_review(decisions: Mapping[str, Decision], state: ReviewState) -> ReviewPlan:
    plan, statements = ReviewPlan(), dict(state.statements)
    for memory_id, decision in decisions.items():
        row = state.rows.get(memory_id)
        if row is None or is_open(row) == (decision is Decision.REOPEN):
            plan.add_result(memory_id, ReviewOutcome.NOT_FOUND, None)
        elif decision is Decision.REOPEN:
            plan.reopened.append(memory_id)
            plan.add_result(memory_id, ReviewOutcome.REOPENED, memory_id)
        elif decision is Decision.REJECT:
            plan.rejected.append(memory_id)
            plan.add_result(memory_id, ReviewOutcome.REJECTED, None)
        elif reason := state.refusals.get(memory_id) or obstacle(row, decision, state.spaces):
            plan.add_result(memory_id, ReviewOutcome.REFUSED, None, reason)
        else:
            _confirm(plan, row, decision, statements, state.targets)
            plan.results[memory_id].guard = state.findings.get(memory_id, [])
    return plan


def _confirm(
    plan: ReviewPlan,
    row: MemoryRow,
    decision: Decision,
    statements: dict[StatementKey, str],
    targets: Mapping[str, MemoryRow],
) -> None:
    key = statement_key(row)
    same = statements.get(key, row.id)
    if same != row.id:
        plan.repeats[row.id] = same
        plan.replaced.append(row.id)
        plan.add_result(row.id, ReviewOutcome.MENTIONED, same)
        return
    target = targets.get(row.revises) if row.revises else None
    # Only the program that wrote a record changes it.
    revises = target is not None and target.address is None and target.status == Status.ACTIVE
    if target is not None and revises and row.status == Status.PENDING:
        statements[key] = target.id
        plan.changes.append((row, target.id))
        plan.add_result(row.id, ReviewOutcome.UPDATED, target.id)
        return
    statements[key] = row.id
    plan.confirmed.append(row.id)
    if decision is Decision.SHARE and row.visibility != Visibility.SHARED:
        plan.shared.append(row.id)
    outcome = ReviewOutcome.SHARED if decision is Decision.SHARE else ReviewOutcome.CONFIRMED
    plan.add_result(row.id, outcome, row.id)
