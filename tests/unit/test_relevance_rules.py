"""Relevance and acknowledgements: what has nothing to do with a question says so."""

from datetime import UTC, datetime
from uuid import UUID

import pytest

from remembrancer.analysis import is_acknowledgement, is_impersonal
from remembrancer.embeddings.base import Baseline
from remembrancer.recall.ranker import rank
from remembrancer.recall.relevance import relevance
from remembrancer.recall.rows import CandidateRow

BASELINE = Baseline(unrelated=0.2, alike=0.6)
TALK = UUID(int=7)
ROW = CandidateRow(
    id=1,
    owner_id=UUID(int=1),
    distance=1.0,
    name_distances=None,
    exact=False,
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
    content="We sailed to the island.",
    role="user",
    sender_name="Ada",
    kind=None,
    category=None,
    subject=None,
    pinned=None,
    version=None,
    access_count=None,
    weight=None,
    valid_from=None,
    valid_to=None,
)


def of(*rows: CandidateRow, words: int = 2) -> list[float]:
    """The relevance of each row."""
    return [round(float(value), 3) for value in relevance(rows, words, BASELINE)]


def test_scale() -> None:
    """Unrelated texts have none, texts that are about the same all of it."""
    near, half, far = (row(distance=d, position=p) for d, p in ((0.3, 1), (0.6, 5), (0.85, 9)))
    assert of(near, half, far) == [1.0, 0.5, 0.0]
    assert of(row(distance=None)) == [0.0]
    assert of(row(exact=True)) == [1.0]


def test_rare_words_count_more() -> None:
    """One of two words, as rare as a word can be, is half of the question; a common one less."""
    rare, common = row(words=[0], scores=[9.0]), row(words=[0], scores=[1.0])
    assert of(rare) == [0.5]
    assert 0.0 < of(common)[0] < 0.2
    assert of(row(words=[0, 0], scores=[9.0, 9.0])) == [0.5]


def test_neighbours_lend() -> None:
    """The answer beside a question is nearly as relevant; four messages on is not."""
    asked, answer, later = (row(id=n, position=n) for n in (1, 2, 6))
    asked = asked._replace(distance=0.4)
    assert of(asked, answer, later) == [1.0, 0.8, 0.0]


def test_associated_memories() -> None:
    """A memory that an association leads to is as relevant as the way there is strong."""
    path = {"seed": 1, "standing": 1.0, "strength": 0.5, "path": []}
    seed = row(distance=0.4, source_type="memory", position=None)
    led = row(id=2, source_type="memory", position=None, path=path)
    assert of(seed, led) == [1.0, 0.5]


def test_no_candidates() -> None:
    """Nothing is as relevant as nothing."""
    assert of() == []


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


@pytest.mark.parametrize(
    "text",
    ["What is the capital of France?", "How do vaccines work?", "Was ist die Hauptstadt von Peru?"],
)
def test_questions_about_the_world(text: str) -> None:
    """They name nobody."""
    assert is_impersonal(text)


@pytest.mark.parametrize(
    "text",
    [
        "What should I not eat?",
        "Was darf ich nicht essen?",
        "Qu'est-ce que je ne dois pas manger ?",
        "¿Qué no debo comer?",
        "Cosa non posso mangiare?",
        "何を食べてはいけませんか",
        "Suggest a recipe",
        "dog",
    ],
)
def test_questions_that_may_be_about_somebody(text: str) -> None:
    """They name somebody, or their language may leave that out."""
    assert not is_impersonal(text)


def test_acknowledgements_and_repeats_come_last() -> None:
    """Three identical messages are one hit before the fact, and "Noted." is none."""
    same = [row(id=n, position=10 * n, distance=0.3) for n in (1, 2, 3)]
    noted = row(id=4, position=40, distance=0.2, content="Noted.")
    fact = row(id=5, position=None, source_type="memory", distance=0.5, content="A fact.")
    assert [hit.id for hit in rank([*same, noted, fact], 5)][:2] == [1, 5]
    assert len(rank([*same, noted, fact], 5)) == 5


def row(**fields: object) -> CandidateRow:
    """A row with other values."""
    return ROW._replace(**fields)
