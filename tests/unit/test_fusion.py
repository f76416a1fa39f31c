"""Fusion: what must hold whatever the arms found."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Literal
from uuid import UUID

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from remembrancer.recall.fusion import Arm, Fusion, fuse

TALK = UUID(int=1)
OTHER_TALK = UUID(int=2)
NOW = datetime(2026, 5, 1, tzinfo=UTC)
WORDS = 3


@dataclass(frozen=True)
class Item:
    """A candidate, with its words as one score for each word of the question."""

    id: int
    source_type: Literal["message", "memory", "chunk"]
    distance: float | None = None
    keywords: Sequence[float] = ()
    conversation_id: UUID | None = None
    position: int | None = None
    sender_name: str | None = None
    weight: float | None = None
    at: datetime | None = None
    exact: bool = False
    text: str | None = None

    @property
    def content(self) -> str:
        """Its text, another one for each item by default."""
        return self.text or f"text {self.id}"

    @property
    def words(self) -> list[int]:
        """The words it has."""
        return [word for word, score in enumerate(self.keywords) if score]

    @property
    def scores(self) -> list[float]:
        """Their scores."""
        return [score for score in self.keywords if score]


distances = st.none() | st.sampled_from([0.0, 0.2, 0.5, 0.5000001, 1.0, 2.0])
keywords = st.just(()) | st.tuples(*[st.sampled_from([0.0, 0.0, 0.7, 1.5, 4.0])] * WORDS)
memories = st.builds(
    Item,
    id=st.integers(0, 2**60),
    source_type=st.sampled_from(["memory", "chunk"]),
    distance=distances,
    keywords=keywords,
    weight=st.none() | st.floats(0, 1),
    at=st.none() | st.just(NOW - timedelta(days=3)),
    exact=st.booleans(),
)
messages = st.builds(
    Item,
    id=st.integers(0, 2**60),
    source_type=st.just("message"),
    distance=distances,
    keywords=keywords,
    conversation_id=st.sampled_from([TALK, OTHER_TALK]),
    position=st.integers(0, 12),
    sender_name=st.sampled_from([None, "Ann", "Bo"]),
    exact=st.booleans(),
)


def _place(item: Item) -> object:
    return (item.conversation_id, item.position) if item.source_type == "message" else item.id


def _distinct(items: list[Item]) -> list[Item]:
    places = {_place(item): item for item in items}
    return list({item.id: item for item in places.values()}.values())


candidates = st.lists(memories | messages, max_size=30).map(_distinct)


def message(position: int, **fields: object) -> Item:
    given_fields = {"id": 100 + position, "distance": 0.9, "conversation_id": TALK, **fields}
    return Item(source_type="message", position=position, **given_fields)  # type: ignore[arg-type]


def ids(*items: Item, k: int = 100, **options: object) -> list[int]:
    return [hit.id for hit in fuse(items, k, **options)]  # type: ignore[arg-type]


@given(candidates, st.randoms(use_true_random=False))
def test_input_order_does_not_matter(items: list[Item], rng: random.Random) -> None:
    """The same candidates give the same hits and explanations in whatever order they come."""
    shuffled = rng.sample(items, len(items))
    options = {"named": {"Ann"}, "now": NOW}
    assert fuse(items, 50, **options) == fuse(shuffled, 50, **options)  # type: ignore[arg-type]


@given(candidates, st.integers(0, 40))
def test_k_results_while_there_are_candidates(items: list[Item], k: int) -> None:
    """There is no similarity floor: k hits come back whenever k candidates exist."""
    found = ids(*items, k=k)
    assert len(found) == min(k, len(items))
    assert len(set(found)) == len(found)


@given(candidates)
def test_exact_first(items: list[Item]) -> None:
    """Items whose text is the question come before all others."""
    flags = [hit.exact for hit in fuse(items, 100)]
    assert flags == sorted(flags, reverse=True)


@given(candidates)
def test_scores_are_ordered_and_finite(items: list[Item]) -> None:
    """Below the exact hits, scores never rise down the list."""
    scores = [hit.score for hit in fuse(items, 100, now=NOW) if not hit.exact]
    assert scores == sorted(scores, reverse=True)
    assert np.isfinite(scores).all()


@given(candidates, st.data())
def test_a_memory_is_not_buried_by_its_message(items: list[Item], data: st.DataObject) -> None:
    """A memory with the text of a message ranks at least as high as the message."""
    talk = [item for item in items if item.source_type == "message" and item.distance is not None]
    if not talk:
        return
    original = data.draw(st.sampled_from(talk))
    twin = Item(
        id=2**61,
        source_type="memory",
        distance=original.distance,
        keywords=original.keywords,
        exact=original.exact,
    )
    found = ids(*items, twin, named={"Ann"}, now=NOW)
    assert found.index(twin.id) < found.index(original.id)


@given(st.lists(memories, min_size=1, max_size=20).map(_distinct), st.data())
def test_more_keyword_evidence_never_lowers_a_memory(
    items: list[Item], data: st.DataObject
) -> None:
    """Among memories, a higher keyword score never costs an item its place."""
    chosen = data.draw(st.sampled_from(items))
    raised = replace(chosen, keywords=tuple(x + 1.0 for x in chosen.keywords or (0.0,) * WORDS))
    after = [raised if item is chosen else item for item in items]
    assert ids(*after).index(chosen.id) <= ids(*items).index(chosen.id)


def test_nothing_found() -> None:
    """No candidates, no hits."""
    assert fuse([], 10) == []


def test_an_answer_is_lifted_by_the_question_before_it() -> None:
    """A message beside the words of the question beats one that stands alone, and says why."""
    asked = message(5, keywords=(2.0, 2.0), distance=0.4)
    answer = message(6)
    far = message(20)
    hits = fuse([far, answer, asked], 3)
    assert [hit.id for hit in hits] == [asked.id, answer.id, far.id]
    assert hits[1].arms["keyword"].lifted_by == -1
    assert hits[1].arms["keyword"].raw == 0.0
    assert hits[1].arms["keyword"].score > 0.0
    assert "keyword" not in hits[2].arms


def test_neighbours_are_of_the_same_conversation() -> None:
    """The message at the same place of another conversation borrows nothing."""
    asked = message(5, keywords=(2.0,))
    stranger = message(6, conversation_id=OTHER_TALK)
    [_, hit] = fuse([asked, stranger], 2)
    assert hit.arms["dense"].lifted_by == 0
    assert "keyword" not in hit.arms


def test_a_word_counts_once_in_a_stretch_of_talk() -> None:
    """Two words of the question, each said once, beat one word said in every message."""
    chatter = [message(p, keywords=(2.0, 0.0)) for p in range(5)]
    both = [message(20, keywords=(2.0, 0.0)), message(21, keywords=(0.0, 2.0))]
    assert set(ids(*chatter, *both, k=2)) == {120, 121}


def test_who_the_question_names() -> None:
    """Messages of the named sender come first; without a name nothing changes."""
    ann = message(1, sender_name="Ann", distance=0.50)
    bo = message(9, sender_name="Bo", distance=0.45)
    rest = message(30, sender_name="Bo", distance=0.95)
    assert ids(ann, bo, rest) == [bo.id, ann.id, rest.id]
    assert ids(ann, bo, rest, named={"Ann"})[0] == ann.id
    assert ids(ann, bo, rest, named={"Nobody here"}) == ids(ann, bo, rest)


def test_memories_stand_as_high_as_before_smoothing() -> None:
    """The memory with the best raw score stays first, though messages lift each other."""
    talk = [message(p, distance=0.5, keywords=(1.0, 0.0)) for p in range(10)]
    memory = Item(id=1, source_type="memory", distance=0.45, keywords=(1.1, 0.0))
    assert ids(*talk, memory)[0] == memory.id


def test_priors_are_gentle() -> None:
    """Importance and recency decide between equals, but not between a hit and a miss."""
    plain = Item(id=1, source_type="memory", distance=0.3)
    weighty = Item(id=2, source_type="memory", distance=0.3, weight=0.9)
    fresh = Item(id=3, source_type="memory", distance=0.3, weight=0.9, at=NOW)
    misses = [Item(id=10 + n, source_type="memory", distance=0.8 + n / 99) for n in range(3)]
    star = Item(id=30, source_type="memory", distance=0.9, weight=1.0, at=NOW)
    assert ids(plain, weighty, fresh, *misses, star, now=NOW)[:3] == [3, 2, 1]


def test_ties() -> None:
    """Equal scores: memories before chunks before messages, then the lower id."""
    items = [
        Item(id=1, source_type="message", distance=0.5),
        Item(id=3, source_type="memory", distance=0.5),
        Item(id=2, source_type="memory", distance=0.5),
        Item(id=0, source_type="chunk", distance=0.5),
    ]
    assert ids(*items) == [2, 3, 0, 1]


def test_scale_of_similarities_does_not_matter() -> None:
    """A model whose similarities all lie near 1 gives the same order as one that spreads them."""
    rng = random.Random(5)
    wide = [
        message(p, distance=rng.random(), sender_name=rng.choice("AB")) for p in range(0, 60, 2)
    ]
    narrow = [replace(item, distance=item.distance / 8) for item in wide if item.distance]
    assert ids(*wide, named={"A"}) == ids(*narrow, named={"A"})


def test_a_further_arm_joins() -> None:
    """Another arm is an array of scores; items it does not know get nothing from it."""
    items = [message(0, distance=0.2), message(10, distance=0.3), message(20, distance=0.4)]
    raw = np.array([0.0, 0.0, 1.0])
    graph = Arm("graph", 3.0, raw, raw, raw > 0, np.zeros(3, dtype=np.int64))
    [first, *others] = fuse(items, 3, arms=[graph])
    assert first.id == items[2].id
    assert first.arms["graph"].rank == 1
    assert all("graph" not in hit.arms for hit in others)


def test_reach_nothing() -> None:
    """With a reach of 0 every item stands for itself."""
    items = [message(0, distance=0.3), message(1, distance=0.1)]
    hits = fuse(items, 2, weights=Fusion(reach=0))
    assert [hit.id for hit in hits] == [101, 100]
    assert hits[0].arms["dense"].lifted_by == 0
