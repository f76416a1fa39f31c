"""Lines of the audit log as visits: what one actor did at one time is one. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from remembrancer.audit.schemas import AuditLine

TOGETHER: Final = timedelta(seconds=2)
"""The longest time between two lines of a visit. A page or an answer reads many things at once, and
their lines are written about a second later."""


@dataclass(slots=True)
class Visit:
    """Lines of one actor, the latest first."""

    lines: list[AuditLine] = field(default_factory=list)

    @property
    def first(self) -> AuditLine:
        """The latest line: all are of the same actor."""
        return self.lines[0]

    @property
    def at(self) -> datetime:
        return self.lines[-1].at

    @property
    def refused(self) -> bool:
        return any(line.outcome == "refused" for line in self.lines)

    @property
    def owners(self) -> list[UUID]:
        """The people whose things they are, in order, each once."""
        return list(dict.fromkeys(line.user_id for line in self.lines if line.user_id))

    @property
    def numbers(self) -> dict[str, int]:
        """How many ids there are of each action, the largest number first."""
        ids: dict[str, set[tuple[UUID | None, str]]] = defaultdict(set)
        for line in self.lines:
            ids[line.action] |= {(line.user_id, target) for target in line.target_ids}
        return dict(sorted(((a, len(i)) for a, i in ids.items()), key=lambda pair: -pair[1]))


def visits(lines: Iterable[AuditLine]) -> list[Visit]:
    """Join lines, the latest first, that one actor caused at about the same time."""
    found: list[Visit] = []
    open_visits: dict[Sequence[object], Visit] = {}
    for line in lines:
        actor = (
            line.actor_role,
            line.actor_user_id,
            line.actor_agent_id,
            line.actor_key_id,
            line.entry_point,
        )
        visit = open_visits.get(actor)
        if visit is None or visit.at - line.at > TOGETHER:
            visit = open_visits[actor] = Visit()
            found.append(visit)
        visit.lines.append(line)
    return found
