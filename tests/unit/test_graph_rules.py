"""The graph's decisions: how a neighbourhood grows, what is suggested, how recall is pulled."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import permutations
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remembrancer.associations.rules import (
    MOST_SUGGESTIONS,
    spread,
    suggest_relation,
    suggestions,
)
from remembrancer.memories.schemas import Relation
from remembrancer.recall.candidates import of_rows
from remembrancer.recall.graph_arm import WALK, graph_arm
from remembrancer.recall.ranker import rank
from remembrancer.recall.rows import GraphPath

ONE, OTHER = UUID(int=1), UUID(int=2)
A, B, C, D = [(ONE, name) for name in "ABCD"]


def test_each_memory_is_reached_once_by_its_strongest_path() -> None:
    """What is known is not reached again; equals go by their key."""
    steps = [(A, B, 0.2), (A, C, 0.5), (B, C, 0.9), (B, A, 1.0), (A, D, 0.5), (A, B, 0.1)]
    assert spread({A: 1.0, B: 0.4}, steps, {A}) == [(C, 0.5), (D, 0.5), (B, 0.2)]


def test_ids_of_several_owners_are_kept_apart() -> None:
    """An id is unique for its owner only."""
    steps = [(A, (ONE, "X"), 0.5), (A, (OTHER, "X"), 0.5)]
    assert [key for key, _ in spread({A: 1.0}, steps, {A})] == [(ONE, "X"), (OTHER, "X")]


# Suggestions ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("similarity", "same_words", "same_subject", "later", "expected"),
    [
        (0.97, False, False, False, Relation.CONTRADICTS),
        (0.97, False, True, True, Relation.CONTRADICTS),
        (0.97, True, False, False, Relation.RELATED_TO),
        (0.97, True, True, True, Relation.UPDATES),
        (0.80, False, True, True, Relation.UPDATES),
        (0.30, False, True, True, Relation.UPDATES),
        (0.80, False, True, False, Relation.RELATED_TO),
        (0.80, False, False, True, Relation.RELATED_TO),
        (0.75, False, False, False, Relation.RELATED_TO),
        (0.74, False, False, True, None),
        (0.30, False, True, False, None),
    ],
)
def test_what_is_suggestions(
    similarity: float, same_words: bool, same_subject: bool, later: bool, expected: Any
) -> None:
    """Nearly the same with other telling words; later on the same subject; merely alike."""
    assert (
        suggest_relation(
            similarity=similarity,
            near_duplicate=0.95,
            same_words=same_words,
            same_subject=same_subject,
            later=later,
        )
        is expected
    )


@dataclass(frozen=True)
class Pair:
    """Two memories beside each other, as the database returns them."""

    memory_id: str
    target_id: str
    similarity: float
    content: str = "Gate 12."
    target_content: str = "Gate 13."
    same_subject: bool | None = None
    later: bool = False


def test_a_memory_gets_the_most_similar_few() -> None:
    """In the order they come, without those there is nothing to suggest for."""
    pairs = [Pair("m", str(n), 0.99 - n / 20) for n in range(10)]
    found = suggestions(pairs, 0.95)["m"]
    assert [item.target_id for item in found] == [str(n) for n in range(MOST_SUGGESTIONS)]
    assert [item.relation for item in found[:2]] == ["contradicts", "related_to"]
    assert suggestions([Pair("m", "x", 0.2)], 0.95) == {"m": []}


# The arm -------------------------------------------------------------------------------


LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Item:
    """A memory among the candidates."""

    id: int
    distance: float
    path: GraphPath | None = None
    source_type: str = "memory"
    words: tuple[int, ...] = ()
    scores: tuple[float, ...] = ()
    conversation_id: None = None
    position: None = None
    sender_name: None = None
    weight: None = None
    at: datetime = LONG_AGO
    role: None = None
    message_id: None = None
    source_id: None = None
    range_start: None = None
    range_end: None = None
    name_distances: None = None
    exact: bool = False
    items: float = 50.0
    content_hash: bytes = b""
    traits: int = 0
    content: str = ""
    version: int = 1
    revisions: None = None
    pinned: bool = False


def _path(seed: int, strength: float, standing: float = 1.0) -> GraphPath:
    return {"seed": seed, "strength": strength, "standing": standing, "path": []}


def _ranked(items: list[Item], **how: Any) -> list[Any]:
    candidates = of_rows(items)  # type: ignore[arg-type]
    arm = graph_arm(candidates)
    return rank(candidates, len(items), arms=[arm] if arm else (), **how)


def test_without_associations_there_is_no_arm() -> None:
    """And the ranking is what it was."""
    items = [Item(n, n / 20) for n in range(5)]
    assert graph_arm(of_rows(items)) is None  # type: ignore[arg-type]


def test_the_seed_stands_before_what_it_leads_to() -> None:
    """In the arm by rank, in the result by score, with the strength told."""
    items = [Item(1, 0.1), Item(2, 0.9, _path(1, 0.7)), Item(3, 0.9, _path(1, 0.49)), Item(4, 0.3)]
    ranked = {one.id: one for one in _ranked(items)}
    assert {n: ranked[n].arms["graph"].rank for n in (1, 2, 3)} == {1: 1, 2: 2, 3: 3}
    assert "graph" not in ranked[4].arms
    assert ranked[2].arms["graph"].raw == 0.7
    assert ranked[1].score > ranked[2].score > ranked[3].score
    assert _ranked(items)[0].id == 1


def test_a_better_seed_counts_more_than_a_stronger_path() -> None:
    """What ranks is the path's strength times the standing of its seed."""
    items = [
        Item(1, 0.1),
        Item(2, 0.8),
        Item(3, 0.9, _path(1, 0.5, standing=1.0)),
        Item(4, 0.9, _path(2, 0.6, standing=0.4)),
    ]
    ranked = {one.id: one for one in _ranked(items)}
    assert ranked[3].arms["graph"].rank < ranked[4].arms["graph"].rank
    assert ranked[3].score > ranked[4].score


def test_a_seed_that_was_reached_from_a_better_one_is_both() -> None:
    """It is in the arm once, by the path, and what it leads to stands behind it."""
    items = [Item(1, 0.1), Item(2, 0.5, _path(1, 0.7)), Item(3, 0.9, _path(2, 0.7, standing=0.3))]
    ranked = {one.id: one for one in _ranked(items)}
    assert [ranked[n].arms["graph"].rank for n in (1, 2, 3)] == [1, 2, 3]


strengths = st.floats(0.01, WALK["decay"])
items_of = st.lists(
    st.tuples(st.floats(0, 1), st.none() | st.tuples(st.integers(0, 30), strengths)),
    min_size=2,
    max_size=12,
)


@given(items_of, st.integers(0, 11))
def test_the_arm_moves_only_what_was_reached_and_never_past_its_seed(
    drawn: list[Any], exact: int
) -> None:
    """Others keep their scores and their order; the text of the question stays first."""
    plain = [
        Item(n, distance, at=datetime(2026, 1, 1, tzinfo=UTC), exact=n == exact)
        for n, (distance, _) in enumerate(drawn)
    ]
    reached = [
        replace(item, path=_path(edge[0] % len(drawn), edge[1]))
        if edge and edge[0] % len(drawn) != item.id
        else item
        for item, (_, edge) in zip(plain, drawn, strict=True)
    ]
    before = {one.id: one.score for one in _ranked(plain)}
    result = _ranked(reached)
    after = {one.id: one.score for one in result}
    for item in reached:
        if item.path is None:
            assert after[item.id] == before[item.id]
        else:
            assert before[item.id] <= after[item.id]
            assert after[item.id] <= max(before[item.id], before[item.path["seed"]])
    if exact < len(drawn):
        assert result[0].id == exact


def test_the_order_of_candidates_never_matters() -> None:
    """Ties included."""
    items = [Item(1, 0.1), Item(2, 0.9, _path(1, 0.5)), Item(3, 0.9, _path(1, 0.5)), Item(4, 0.5)]
    orders = {tuple(one.id for one in _ranked(list(some))) for some in permutations(items)}
    assert len(orders) == 1
