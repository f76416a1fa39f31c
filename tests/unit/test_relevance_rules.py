"""Relevance and acknowledgements: what has nothing to do with a question says so."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from remembrancer.analysis import Question, is_acknowledgement
from remembrancer.embeddings.base import Baseline
from remembrancer.recall.candidates import of_rows
from remembrancer.recall.ranker import rank
from remembrancer.recall.rows import CandidateRow
from remembrancer.recall.signals import Interpretation
from remembrancer.search.traits import traits

BASELINE = Baseline(unrelated=0.05, alike=0.4)
TALK = UUID(int=7)
ROW = CandidateRow(
    id=1,
    owner_id=UUID(int=1),
    distance=1.0,
    name_distances=None,
    exact=False,
    content_hash=b"We sailed to the island.",
    words=None,
    scores=None,
    items=50.0,
    source_type="message",
    source_id=None,
    memory_id=None,
    conversation_id=TALK,
    position=10,
    at=datetime(2026, 5, 1, tzinfo=UTC),
    importance=None,
    path=None,
    revisions=None,
    agent_id=None,
    space_id=None,
    visibility="private",
    traits=traits("We sailed to the island."),
    content="We sailed to the island.",
    role="user",
    sender_name="Ada",
    kind=None,
    category=None,
    subject=None,
    pinned=None,
    version=None,
    access_count=None,
    external_id=None,
    weight=None,
    valid_from=None,
    valid_to=None,
    message_id=None,
    range_start=None,
    range_end=None,
)


def of(*rows: CandidateRow, question: Interpretation | None = None) -> dict[int, float]:
    """The relevance of each hit, by id, best first."""
    hits = rank(of_rows(rows), len(rows), question or Interpretation(), baseline=BASELINE)
    return {hit.id: hit.relevance for hit in hits}


def about(*words: str, **fields: Any) -> Interpretation:
    """A question with these words, numbered from 0."""
    terms = {word: number for number, word in enumerate(words)}
    return Interpretation(Question(terms, **fields))


def test_nearness() -> None:
    """What is nearer is more relevant, on a scale that starts at unrelated texts."""
    near, half, far = (of(row(distance=distance))[1] for distance in (0.5, 0.65, 0.9))
    assert near > 0.8
    assert 0.2 < half < 0.8
    assert far < 0.05
    assert of(row(distance=None))[1] < 0.05


def test_words() -> None:
    """A word of the question counts by its rarity, and one that nobody said counts against it."""
    both = about("sail", "island")
    said, half, none = (
        of(row(distance=0.75, words=words, scores=[4.0] * len(words)), question=both)[1]
        for words in ([0, 1], [0], [])
    )
    assert said > 0.7
    assert 0.1 < half < 0.5
    assert none < 0.1
    common = of(row(distance=0.75, words=[0], scores=[0.5]), question=both)[1]
    assert common < half


def test_names_of_senders_are_no_words() -> None:
    """Whoever asks what Ada did must not be told that "Ada" was said."""
    question = Interpretation(Question({"ada": 0, "skydiv": 1}, names=("Ada",)), ["Ada"])
    assert of(row(words=[0], scores=[4.0]), question=question)[1] < 0.05


def test_many_items() -> None:
    """Among many items, one is near by chance."""
    few, many = (of(row(distance=0.65, items=items))[1] for items in (5.0, 5000.0))
    assert few > 0.5
    assert many < 0.1


def test_others_lean_on_the_first() -> None:
    """Every hit has most of the relevance of the first one, and none has more."""
    rows = [row(id=n, position=10 * n, distance=d) for n, d in enumerate((0.5, 0.9, 1.0), 1)]
    first, *others = of(*rows).values()
    assert all(0.69 * first < other < first for other in others)


def test_own_text_says_nothing_of_others() -> None:
    """The same question, asked before, has relevance 1, and no answer becomes relevant by it."""
    asked, far = row(id=1, exact=True, distance=0.0), row(id=2, position=90, distance=0.95)
    told = of(asked, far)
    assert told[1] == 1.0
    assert told[2] == of(far)[2] < 0.05
    assert of(asked) == {1: 1.0}


def test_no_candidates() -> None:
    """Nothing is relevant among nothing."""
    assert of() == {}


@pytest.mark.parametrize(
    "text",
    ["Noted.", "ok", "Thank you very much!", "👍", "了解です", "d'accord", "네 감사합니다"],
)
def test_acknowledgements(text: str) -> None:
    """Thanks, greetings, yes and no, in many languages."""
    assert is_acknowledgement(text)


@pytest.mark.parametrize(
    "text", ["Sure?", "???", "no peanuts", "O+", "ok Rex", "The Who", "5", "Ja, um acht Uhr"]
)
def test_what_says_something(text: str) -> None:
    """One word of content is enough."""
    assert not is_acknowledgement(text)


def test_acknowledgements_and_repeats_come_last() -> None:
    """Three identical messages are one hit before the fact, and "Noted." is none."""
    same = [row(id=n, position=10 * n, distance=0.3) for n in (1, 2, 3)]
    noted = row(id=4, position=40, distance=0.2, content="Noted.")
    fact = row(id=5, position=None, source_type="memory", distance=0.5, content="A fact.")
    assert [hit.id for hit in rank(of_rows([*same, noted, fact]), 5)][:2] == [1, 5]
    assert len(rank(of_rows([*same, noted, fact]), 5)) == 5


def row(**fields: object) -> CandidateRow:
    """A row with other values."""
    text = str(fields.get("content", ROW.content))
    return ROW._replace(**{"traits": traits(text), "content_hash": text.encode(), **fields})
