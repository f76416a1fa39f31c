"""Ranking: what must hold whatever the arms found."""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any, Literal
from uuid import UUID

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from remembrancer.analysis import Question, take_apart
from remembrancer.recall import people
from remembrancer.recall.candidates import of_rows
from remembrancer.recall.ranker import RankedItem
from remembrancer.recall.ranker import rank as rank_candidates
from remembrancer.recall.signals import Interpretation
from remembrancer.search.traits import traits

TALK = UUID(int=1)
OTHER_TALK = UUID(int=2)
SAID = [UUID(int=100 + n) for n in range(13)]
NOW = datetime(2026, 5, 1, tzinfo=UTC)
LONG_AGO = NOW - timedelta(days=2000)
WORDS = 3
ANN = Interpretation(senders={"Ann"})


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
    at: datetime = LONG_AGO
    role: str | None = None
    name_distances: Sequence[float] | None = None
    exact: bool = False
    items: float = 50.0
    text: str | None = None
    source_id: UUID | None = None
    message_id: UUID | None = None
    version: int | None = 1
    revisions: Sequence[object] | None = None
    pinned: bool | None = None
    range_start: int | None = None
    range_end: int | None = None
    path: None = None

    @property
    def content_hash(self) -> bytes:
        """Its text, in place of a hash."""
        return self.content.encode()

    @property
    def content(self) -> str:
        """Its text, another one for each item by default."""
        return self.text or f"text {self.id}"

    @property
    def traits(self) -> int:
        """What its text shows by itself."""
        return traits(self.content)

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
    at=st.sampled_from([NOW, NOW - timedelta(days=3)]),
    exact=st.booleans(),
    message_id=st.none() | st.sampled_from(SAID),
    version=st.sampled_from([1, 2]),
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
    items = [
        replace(item, source_id=SAID[item.position or 0]) if item.conversation_id == TALK else item
        for item in items
    ]
    places = {_place(item): item for item in items}
    return list({item.id: item for item in places.values()}.values())


candidates = st.lists(memories | messages, max_size=30).map(_distinct)


def message(position: int, **fields: object) -> Item:
    given_fields = {"id": 100 + position, "distance": 0.9, "conversation_id": TALK, **fields}
    return Item(source_type="message", position=position, **given_fields)  # type: ignore[arg-type]


def rank(items: Sequence[Item], k: int, *question: Any, **options: Any) -> list[RankedItem]:
    """Rank the candidates of rows."""
    return rank_candidates(of_rows(items), k, *question, **options)  # type: ignore[arg-type]


def ids(*items: Item, k: int = 100, **options: object) -> list[int]:
    return [hit.id for hit in rank(items, k, **options)]


@given(candidates, st.randoms(use_true_random=False))
def test_input_order_does_not_matter(items: list[Item], rng: random.Random) -> None:
    """The same candidates give the same hits and explanations in whatever order they come."""
    shuffled = rng.sample(items, len(items))
    options = {"question": ANN, "now": NOW}
    assert rank(items, 50, **options) == rank(shuffled, 50, **options)


@given(candidates, st.integers(0, 40))
def test_k_results_while_there_are_candidates(items: list[Item], k: int) -> None:
    """There is no similarity floor: k hits come back whenever k candidates exist."""
    found = ids(*items, k=k)
    assert len(found) == min(k, len(items))
    assert len(set(found)) == len(found)


@given(candidates)
def test_exact_first(items: list[Item]) -> None:
    """Items whose text is the question come before all others."""
    flags = [hit.exact for hit in rank(items, 100)]
    assert flags == sorted(flags, reverse=True)


@given(candidates)
def test_scores_are_ordered_and_finite(items: list[Item]) -> None:
    """Below the exact hits, scores never rise down the list."""
    scores = [hit.score for hit in rank(items, 100, now=NOW) if not hit.exact]
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
    found = ids(*items, twin, question=ANN, now=NOW)
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
    assert rank([], 10) == []


def test_an_answer_is_lifted_by_the_question_before_it() -> None:
    """A message beside the words of the question beats one that stands alone, and says why."""
    asked = message(5, keywords=(2.0, 2.0), distance=0.4)
    answer = message(6)
    far = message(20)
    hits = rank([far, answer, asked], 3)
    assert [hit.id for hit in hits] == [asked.id, answer.id, far.id]
    assert hits[1].arms["keyword"].lifted_by == -1
    assert hits[1].arms["keyword"].raw == 0.0
    assert hits[1].arms["keyword"].score > 0.0
    assert "keyword" not in hits[2].arms


def test_neighbours_are_of_the_same_conversation() -> None:
    """The message at the same place of another conversation borrows nothing."""
    asked = message(5, keywords=(2.0,))
    stranger = message(6, conversation_id=OTHER_TALK)
    [_, hit] = rank([asked, stranger], 2)
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
    assert ids(ann, bo, rest, question=ANN)[0] == ann.id
    assert ids(ann, bo, rest, question=Interpretation(senders={"Nobody here"})) == ids(
        ann, bo, rest
    )


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
    assert ids(*wide, question=Interpretation(senders={"A"})) == ids(
        *narrow, question=Interpretation(senders={"A"})
    )


def test_who_answers_a_question_has_its_words() -> None:
    """A reply to the words of the question beats what the same sender says after them."""
    asked = message(5, keywords=(2.0, 2.0), sender_name="Ann", text="Where did you sail to?")
    reply = message(6, sender_name="Bo", text="The islands.")
    told = message(15, keywords=(2.0, 2.0), sender_name="Ann", text="I sailed to and fro.")
    more = message(16, sender_name="Ann", text="The islands.")
    found = ids(asked, reply, told, more)
    assert found.index(reply.id) < found.index(more.id)


def test_days_that_the_question_names() -> None:
    """What was said on a named day, or up to three days later, comes before what was said else."""
    day = date(2026, 4, 20)
    question = Interpretation(Question(days=(day, day)))
    times = [datetime(2026, 4, number, 12, tzinfo=UTC) for number in (19, 20, 23, 24)]
    items = [message(n * 10, at=at) for n, at in enumerate(times)]
    assert ids(*items, question=question) == [110, 120, 100, 130]


def test_a_time_answers_when() -> None:
    """A message with a time comes first if the question asks for one."""
    plain = message(1, text="We sailed to the islands")
    dated = message(9, text="We sailed there yesterday")
    question = Interpretation(Question(asks_when=True))
    added = {hit.id: hit.signals for hit in rank([plain, dated], 2, question)}
    assert added[dated.id]["time_when_asked"] > 0
    assert "time_when_asked" not in added[plain.id]
    assert ids(plain, dated, question=question)[0] == dated.id


def test_the_name_of_a_sender_is_not_what_is_asked() -> None:
    """Of two messages as near to the question, the one that is nearer to the name comes last."""
    hello = message(1, distance=0.4, sender_name="Ann", name_distances=[0.1])
    sails = message(9, distance=0.4, sender_name="Ann", name_distances=[0.8])
    rest = message(30, distance=0.9, sender_name="Bo", name_distances=[0.9])
    question = Interpretation(Question(names=("Ann",)), {"Ann"}, names=[0])
    assert ids(hello, sails, rest, question=question)[0] == sails.id


@given(candidates, st.integers(1, 5))
def test_scores_are_explained(items: list[Item], k: int) -> None:
    """The signals of a message tell its score; their sums differ by its logarithm."""
    hits = [hit for hit in rank(items, k) if hit.score > 0]
    kinds = {item.id: item.source_type for item in items}
    sums = [
        sum(hit.signals.values()) - math.log(hit.score)
        for hit in hits
        if kinds[hit.id] == "message"
    ]
    assert np.allclose(sums, sums[:1] * len(sums))


def test_further_candidates_change_no_scale() -> None:
    """With more candidates of each arm, the first hits stay as they are."""
    rng = random.Random(7)
    near = [message(n * 5, distance=0.3 + n / 100) for n in range(16)]
    far = [message(1000 + n * 5, distance=0.9 + rng.random() / 9) for n in range(200)]
    few, many = rank(near, 5), rank([*near, *far], 5)
    assert [hit.id for hit in few] == [hit.id for hit in many]
    assert [hit.signals["meaning"] for hit in few] == [hit.signals["meaning"] for hit in many]


# Facts and summaries ------------------------------------------------------------------


def _with_fact(**fields: object) -> list[Item]:
    """Two messages, and a fact from the first one."""
    said = message(5, distance=0.4, source_id=SAID[0], sender_name="Ann")
    other = message(50, distance=0.6, source_id=SAID[1], sender_name="Bo")
    options = {"distance": 0.39, "message_id": SAID[0], **fields}
    return [said, other, Item(id=1, source_type="memory", **options)]  # type: ignore[arg-type]


def test_a_fact_takes_no_place_of_a_message() -> None:
    """It stands behind what has to do with the question, and before what has not."""
    items = _with_fact()
    assert ids(*items, k=2) == [105, 150]
    assert ids(*items) == [105, 150, 1]
    said, *rest = _with_fact(keywords=(4.0,) * WORDS)
    said = replace(said, keywords=(4.0,) * WORDS)
    junk = [message(100 + n * 9, distance=1.3, text="word") for n in range(9)]
    assert ids(said, *rest, *junk, k=3)[:2] == [105, 1]


def test_a_fact_that_says_more_than_its_message() -> None:
    """One that scores much better, has changed or revises another, or whose message says little."""
    better = _with_fact(distance=0.0, keywords=(9.0,) * WORDS)
    assert 1 in ids(replace(better[0], distance=0.9), *better[1:], k=1)
    assert 1 in ids(*_with_fact(version=2), k=2)
    assert 1 in ids(*_with_fact(revisions=[{}]), k=2)
    assert 1 in ids(*_with_fact(pinned=True), k=2)
    assert 1 in ids(*_with_fact(message_id=SAID[3]), k=2)
    assert 1 in ids(*_with_fact(exact=True), k=2)
    [said, other, fact] = _with_fact()
    assert 1 in ids(replace(said, text="ok, thanks!"), other, fact, k=2)


def test_a_chunk_takes_no_place_of_a_message_that_it_covers() -> None:
    """In its own conversation; one that covers none of the candidates stands by itself."""
    said, other, _ = _with_fact()
    for conversation, end, hits in (
        (TALK, 20, [105, 150]),
        (TALK, 4, [105, 2]),
        (OTHER_TALK, 20, [105, 2]),
    ):
        chunk = Item(
            id=2,
            source_type="chunk",
            distance=0.45,
            conversation_id=conversation,
            range_start=1,
            range_end=end,
        )
        assert ids(said, other, chunk, k=2) == hits


# Whom a name is for -------------------------------------------------------------------


def _meant(name: str, *items: Item) -> set[str]:
    text = f"What does {name} like?"
    question = take_apart(text)
    candidates = of_rows(items, question.names)  # type: ignore[arg-type]
    return set(people.interpret(text, question, candidates).senders)


def test_a_name_that_only_the_other_one_uses() -> None:
    """Bo calls Ann "Kit", so a question about Kit is about Ann."""
    talk = [
        message(1, sender_name="Bo", text="Hey Kit!"),
        message(2, sender_name="Ann", text="Hey you"),
        message(5, sender_name="Bo", text="Thanks, Kit."),
        message(9, sender_name="Bo", text="I saw Kit at the pool"),
    ]
    assert _meant("Kit", *talk) == {"Ann"}
    assert _meant("Kit", *talk[1:]) == set()  # called only once
    assert _meant("Kit", *talk, message(12, sender_name="Cy", text="Hi")) == set()
    assert _meant("Ann", *talk) == {"Ann"}
    assert _meant("Pool", *talk) == set()
    away = [message(n * 5, sender_name="Bo", text="In Rome it rained") for n in range(4)]
    assert _meant("Rome", *away, talk[1]) == set()


def test_a_name_that_both_use_is_a_third_person() -> None:
    """Both call Kit: it is neither of them."""
    talk = [message(n, sender_name="AB"[n % 2], text="Kit, come here") for n in range(6)]
    assert _meant("Kit", *talk) == set()
