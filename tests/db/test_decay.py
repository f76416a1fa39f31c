"""Importance fades when it is read, by age and kind; nothing is ever rewritten."""

from datetime import UTC, datetime, timedelta

import pytest
from helpers import rows
from hypothesis import given
from hypothesis import strategies as st

from remembrancer import Remembrancer, User
from remembrancer.memories.decay import HALF_LIFE_DAYS, decayed, decayed_sql
from remembrancer.memories.schemas import Kind

NOW = datetime(2026, 6, 1, tzinfo=UTC)
ages = st.floats(0, 5000).map(lambda days: timedelta(days=days))


@given(st.floats(0, 1), st.sampled_from(Kind), ages, ages)
def test_it_never_grows_and_never_leaves_its_range(
    importance: float, kind: Kind, one: timedelta, other: timedelta
) -> None:
    """The longer a memory has not been of use, the less of its importance is left."""
    younger, older = sorted((one, other))
    fresh = decayed(importance, kind, NOW - younger, NOW)
    stale = decayed(importance, kind, NOW - older, NOW)
    assert 0 <= stale <= fresh <= importance


def test_half_is_left_after_the_half_life() -> None:
    """By kind; identity keeps all of it for ever."""
    for kind, half_life in HALF_LIFE_DAYS.items():
        since = NOW - timedelta(days=half_life or 36_500)
        assert decayed(0.8, kind, since, NOW) == pytest.approx(0.4 if half_life else 0.8)
    assert set(HALF_LIFE_DAYS) == set(Kind)


def test_what_is_not_yet_is_not_faded() -> None:
    """A clock that runs ahead does not make a memory more important than it was given."""
    assert decayed(0.5, Kind.EVENT, NOW + timedelta(days=9), NOW) == 0.5


@pytest.mark.parametrize("kind", Kind)
async def test_the_database_computes_the_same(memory: Remembrancer, kind: Kind) -> None:
    """The SQL twin agrees with the pure function for every kind."""
    for days in (-3, 0, 0.25, 30, 365, 4000, 700_000):
        since = NOW - timedelta(days=days)
        sql = decayed_sql("0.7", "%s", "%s", "%s")
        [[found]] = rows(
            f"SELECT {sql}::float8".replace("%s", "%s::timestamptz").replace(
                "CASE %s::timestamptz", "CASE %s::text"
            ),
            NOW, since, kind.value,
        )  # fmt: skip
        assert found == pytest.approx(decayed(0.7, kind, since, NOW), rel=1e-9)


async def test_recall_in_order_of_importance_counts_what_is_left(
    memory: Remembrancer, ada: User
) -> None:
    """An old event falls behind a fresh one of less importance; identity does not; use renews."""
    made = {}
    for text, kind, importance in (
        ("Ada was born in Turin.", "identity", 0.9),
        ("Ada missed a train.", "event", 0.8),
        ("Ada bought a hat.", "event", 0.4),
    ):
        written = await memory.remember(text, user=ada, kind=kind, importance=importance)
        made[text] = written.memory.id
    for text in list(made)[:2]:
        rows("UPDATE recall_items SET at = now() - interval '90 days' WHERE memory_id = %s",
             made[text])  # fmt: skip

    async def order() -> list[str]:
        return [hit.content for hit in (await memory.recall(user=ada, mode="important")).hits]

    born, train, hat = made
    assert await order() == [born, hat, train]
    assert [hit.importance for hit in (await memory.recall(user=ada, mode="important")).hits] == [
        0.9,
        0.4,
        0.8,
    ]
    await memory.access_counts.flush()
    assert await order() == [born, train, hat]
    stored = rows("SELECT importance FROM memories ORDER BY importance")
    assert stored == [(0.4,), (0.8,), (0.9,)]
