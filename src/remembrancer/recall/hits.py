"""From rows and ranks to hits that say why they are there."""

from collections.abc import Mapping
from typing import Any

from remembrancer.guard.instructions import is_instruction
from remembrancer.ids import public_owner
from remembrancer.recall.fusion import Ranked
from remembrancer.recall.schemas import ArmReason, Hit, Reasons, Tie

_CONTEXT = (
    "content",
    "at",
    "agent_id",
    "space_id",
    "visibility",
    "conversation_id",
    "position",
    "kind",
    "category",
    "subject",
    "importance",
    "pinned",
    "version",
    "valid_from",
    "valid_to",
    "access_count",
)
_OF_A_MESSAGE = ("role", "sender_name")


def word_labels(terms: Mapping[str, int]) -> dict[int, str]:
    """Return a readable name for each word of a query: its first term."""
    labels: dict[int, str] = {}
    for term, word in terms.items():
        labels.setdefault(word, term)
    return labels


def hit(row: Any, ranked: Ranked | None, labels: Mapping[int, str]) -> Hit:
    """Return a row as a hit; ``ranked`` says why it was chosen, where anything was ranked."""
    values = {name: getattr(row, name) for name in _CONTEXT}
    if row.source_type == "message":
        values |= {name: getattr(row, name) for name in _OF_A_MESSAGE}
    return Hit(
        type=row.source_type,
        id=row.memory_id or str(row.source_id),
        user_id=public_owner(row.owner_id),
        quoted=row.source_type == "memory" and is_instruction(row.content),
        score=ranked.score if ranked else 0.0,
        # Rows of other modes have none.
        relations=[Tie.model_validate(tie) for tie in getattr(row, "revisions", None) or ()],
        reasons=_reasons(row, ranked, labels) if ranked else Reasons(),
        **values,
    )


def _reasons(row: Any, ranked: Ranked, labels: Mapping[int, str]) -> Reasons:
    return Reasons(
        exact=ranked.exact,
        arms={
            name: ArmReason(
                rank=arm.rank,
                raw=round(arm.raw, 4),
                score=round(arm.score, 4),
                lifted_by=arm.lifted_by,
            )
            for name, arm in ranked.arms.items()
        },
        words=[labels[word] for word in sorted(set(row.words or ()))],
        path=[Tie.model_validate(step) for step in (row.walked or {}).get("path", ())],
    )
