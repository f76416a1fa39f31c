"""Lines of the audit log as visits, and charts of usage: pure."""

from datetime import UTC, date, datetime, timedelta
from uuid import UUID, uuid4

import pytest

from remembrancer.access import Role
from remembrancer.audit.schemas import AuditLine
from remembrancer.usage.durations import BOUNDS, percentile, place, total
from remembrancer.usage.schemas import DailyUsage, UsageKind
from remembrancer.web import labels
from remembrancer.web.usage import by_agent, charts
from remembrancer.web.visits import visits

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
ADA, KEY = uuid4(), uuid4()


def line(
    seconds: float, action: str, *ids: str, key: UUID | None = KEY, refused: bool = False
) -> AuditLine:
    """A line so many seconds ago."""
    return AuditLine(
        id=uuid4(),
        at=NOW - timedelta(seconds=seconds),
        user_id=ADA,
        actor_role=Role.ADMIN,
        actor_user_id=None,
        actor_agent_id=None,
        actor_key_id=key,
        entry_point="web",
        action=action,
        target_ids=list(ids),
        outcome="refused" if refused else "done",
    )


def test_lines_of_one_moment_are_a_visit_of_each_actor() -> None:
    """Those of somebody else in between do not part them; a pause does."""
    found = visits(
        [
            line(0, "memory.list", "a", "b"),
            line(1, "recall", "a", key=None),
            line(1.5, "memory.list", "b", "c"),
            line(1.6, "preference.read", "x", refused=True),
            line(9, "memory.read", "a"),
        ]
    )
    assert [len(visit.lines) for visit in found] == [3, 1, 1]
    assert found[0].numbers == {"memory.list": 3, "preference.read": 1}
    assert [visit.refused for visit in found] == [True, False, False]
    assert found[0].owners == [ADA]


@pytest.mark.parametrize(
    ("action", "count", "words"),
    [
        ("memory.list", 3, "3 memories listed"),
        ("memory.list", 1, "1 memory listed"),
        ("recall", 2, "2 recalled"),
        ("erase.user", 1, "1 person deleted for good"),
        ("user.read", 2, "2 people read"),
        ("policy.set", 0, "policies set"),
        ("something.new_here", 1, "1 something new here"),
    ],
)
def test_an_action_is_said_in_words(action: str, count: int, words: str) -> None:
    """Also one that nobody has words for."""
    assert labels.action(action, count) == words


def test_durations_are_counted_by_bounds() -> None:
    """A percentile lies between the bounds of its number; none without requests."""
    assert [place(ms) for ms in (0, 5, 5.1, 10_000, 10_001)] == [0, 0, 1, 10, 11]
    assert total([[1, 2], [], [3, 4]]) == [4, 6]
    assert total([]) == []
    one = [0] * (len(BOUNDS) + 1)
    assert percentile(one, 0.5) is None
    one[2] = 10
    assert percentile(one, 0.5) == 15
    assert percentile(one, 1) == 20
    one[-1] = 90
    assert percentile(one, 0.5) == 10_000


def test_a_chart_has_a_column_and_a_row_for_each_day() -> None:
    """Days without usage too; the highest column fills the picture."""
    first = date(2026, 11, 27)
    period = [first + timedelta(days=number) for number in range(3)]
    durations = [0, 0, 4, *[0] * 9]
    agent = uuid4()
    usage = [
        DailyUsage(day=period[1], agent_id=agent, agent="Pantry", kind=UsageKind.RECALL,
                   amount=4, durations=durations),
        DailyUsage(day=period[1], agent_id=None, agent=None, kind=UsageKind.RECALL,
                   amount=1, durations=[1, *[0] * 11]),
        DailyUsage(day=period[2], agent_id=None, agent=None, kind=UsageKind.DISK,
                   amount=2_500_000, durations=[]),
    ]  # fmt: skip
    recalls, times, *_, disk = charts(usage, period)
    assert recalls.rows == [("27 Nov", "0"), ("28 Nov", "5"), ("29 Nov", "0")]
    assert [column.height for column in recalls.columns] == [0, 72, 0]
    assert times.rows[1][0] == "28 Nov"
    assert times.rows[2] == ("29 Nov", "none", "none")
    assert disk.rows == [("29 Nov", "2 MB")]
    assert [(one.name, one.amounts[UsageKind.RECALL]) for one in by_agent(usage)] == [
        ("Pantry", 4),
        ("Without an agent", 1),
    ]
