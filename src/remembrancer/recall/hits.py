"""Make hits of rows and ranks, with their reasons."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final
from uuid import UUID

from remembrancer.ids import public_owner
from remembrancer.recall.ranker import RankedItem
from remembrancer.recall.rows import CandidateRow, OrderedRow
from remembrancer.recall.schemas import Hit
from remembrancer.search.traits import INSTRUCTS
from remembrancer.spaces.rows import SpaceNames

_COLUMNS: Final = (
    "content", "at", "agent_id", "space_id", "visibility", "conversation_id", "position", "kind",
    "category", "subject", "importance", "pinned", "version", "valid_from", "valid_to",
    "access_count", "external_id",
)  # fmt: skip
_MESSAGE_COLUMNS: Final = (*_COLUMNS, "role", "sender_name")
_VALUES: Final[dict[tuple[str, ...], Callable[[object], tuple[object, ...]]]] = {
    names: attrgetter(*names) for names in (_COLUMNS, _MESSAGE_COLUMNS)
}


@dataclass(frozen=True, slots=True)
class Asker:
    """The user whom hits are for, and the names of their spaces."""

    user_id: UUID | None
    names: SpaceNames


def word_labels(terms: Mapping[str, int]) -> dict[int, str]:
    """Return the first term of each word of a query."""
    labels: dict[int, str] = {}
    for term, word in terms.items():
        labels.setdefault(word, term)
    return labels


def ranked_hit(
    row: CandidateRow,
    ranked: RankedItem,
    labels: Mapping[int, str],
    asker: Asker,
) -> Hit:
    return _hit(
        row,
        asker,
        _MESSAGE_COLUMNS if row.source_type == "message" else _COLUMNS,
        score=ranked.score,
        relevance=ranked.relevance,
        relations=row.revisions or (),
        reasons={
            "exact": ranked.exact,
            "arms": {
                name: {
                    "rank": arm.rank,
                    "raw": round(arm.raw, 4),
                    "score": round(arm.score, 4),
                    "lifted_by": arm.lifted_by,
                }
                for name, arm in ranked.arms.items()
            },
            # Where a default is a dictionary, Pydantic copies it deeply for each hit.
            "signals": {},
            "words": [labels[word] for word in ranked.words],
            "path": row.path["path"] if row.path else (),
        },
    )


def ordered_hit(row: OrderedRow, asker: Asker) -> Hit:
    return _hit(row, asker, _COLUMNS, score=0.0)


def _hit(
    row: CandidateRow | OrderedRow, asker: Asker, columns: tuple[str, ...], **reasons: Any
) -> Hit:
    # One call validates the hit and all that is in it; a call for each model takes twice as long.
    return Hit.model_validate(
        {
            "type": row.source_type,
            "id": row.memory_id or str(row.source_id),
            "user_id": public_owner(row.owner_id),
            "space_name": asker.names.space(row.space_id),
            "author": asker.names.author(
                row.owner_id, shared=row.visibility == "shared", reader=asker.user_id
            ),
            "quoted": row.source_type == "memory" and bool(row.traits & INSTRUCTS),
            **dict(zip(columns, _VALUES[columns](row), strict=True)),
            **reasons,
        }
    )
