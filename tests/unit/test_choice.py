"""Candidates in memory are those that the rows of the same items make, and rank alike."""

import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from uuid import UUID

import numpy as np
import pytest

from remembrancer.access import Actor, Role, Viewer
from remembrancer.analysis import Question, analyse, take_apart
from remembrancer.ids import SHARED_OWNER
from remembrancer.memories.decay import decayed
from remembrancer.memories.schemas import Kind
from remembrancer.recall import people
from remembrancer.recall.candidates import Candidates, calls, of_rows
from remembrancer.recall.choice import Choice, Wish
from remembrancer.recall.item_cache import ItemCache
from remembrancer.recall.owner_items import ChangeRow, OwnerItems
from remembrancer.recall.ranker import RankedItem, rank
from remembrancer.recall.rows import CandidateRow
from remembrancer.recall.signals import REACH
from remembrancer.search.index import content_hash
from remembrancer.search.traits import traits

NOW = datetime(2026, 5, 1, tzinfo=UTC)
ME = UUID(int=7)
SAID = (
    "I like tea.", "Do you like tea?", "Hey Kate!", "Thanks, Kate.", "Yes!", "Kate, come!",
    "We sailed to the island yesterday with Bo.", "Oh Kate, no.", "I agree.", "tea",
)  # fmt: skip
WORDS = ["tea", "river", "walk", "sail", "island", "cello", "Kate", "Bo", "Ann", "music"]
DIMENSIONS = 8


def _vector(rng: random.Random) -> np.ndarray:
    return np.array([rng.gauss(0, 1) for _ in range(DIMENSIONS)], np.float32)


def _changes(rng: random.Random, count: int, *, first: int) -> list[ChangeRow]:
    """Return random items of an owner: messages of three talks, and facts from some of them."""
    rows: list[ChangeRow] = []
    ends: Counter[UUID] = Counter()
    for number in range(count):
        text = rng.choice(SAID)
        if rng.random() < 0.7:
            text = f"{text} {' '.join(rng.choices(WORDS, k=4))}"
        talk = UUID(int=rng.randint(1, 3) + first * rng.randint(0, 1))
        is_fact, terms = rng.random() < 0.3, analyse(text)
        said = [row for row in rows if row.position is not None]
        source = rng.choice(said) if is_fact and said and rng.random() < 0.7 else None
        ends[talk] += not is_fact
        # Ann calls Bo so.
        sender = "Ann" if "Kate" in calls(text) else rng.choice(["Ann", "Bo"])
        rows.append(
            ChangeRow(
                place=1, since=-1, after=-1, version=1, reset=True, changes=None, expired=False,
                message_count=None, paged=True, id=first + number, current=rng.random() < 0.95,
                source_type="memory" if is_fact else "message", length=sum(terms.values()),
                agent_id=None, space_id=None, visibility="private",
                conversation_id=None if is_fact else talk,
                position=None if is_fact else first + ends[talk],
                memory_id=f"m{number}" if is_fact else None,
                at=NOW - timedelta(hours=rng.random() * 4000), content_hash=content_hash(text),
                embedding=b"\0" * 4 + _vector(rng).astype(">f2").tobytes(),
                terms=" ".join(Counter(terms).elements()), traits=traits(text),
                kind=rng.choice(["fact", "identity", "event"]) if is_fact else None,
                importance=rng.random() if is_fact else None,
                memory_version=rng.choice([1, 1, 2]) if is_fact else None,
                role=None if is_fact else rng.choice(["user", "assistant"]),
                sender_name=None if is_fact else sender,
                content=None if is_fact else text, pinned=rng.random() < 0.1 if is_fact else None,
                last_accessed_at=NOW - timedelta(days=rng.random() * 90) if is_fact else None,
                cited_conversation_id=source and source.conversation_id,
                cited_position=source and source.position, range_start=None, range_end=None,
            )
        )  # fmt: skip
    return rows


def _message_id(talk: UUID | None, position: int | None) -> UUID | None:
    return None if talk is None or position is None else UUID(int=talk.int * 2**32 + position)


def _row(row: ChangeRow, choice: Choice, wish: Wish) -> CandidateRow:
    """Return what the database would, with the distances and words that memory has."""
    at = choice._ids.tolist().index(row.id)
    scores = choice._words[:, at].astype(np.float32).tolist()
    vector = np.frombuffer(row.embedding, ">f2")[2:].astype(np.float64)

    def distance(other: np.ndarray) -> float:
        other = other.astype(np.float16).astype(np.float64)
        return 1 - float(vector @ other / np.linalg.norm(vector) / np.linalg.norm(other))

    known = row._asdict() | {
        "owner_id": ME, "distance": distance(wish.vector), "path": None, "revisions": None,
        "name_distances": [distance(name) for name in wish.names.values()] or None,
        "exact": row.content_hash == wish.content_hash, "items": choice.items,
        "words": [word for word, score in enumerate(scores) if score],
        "scores": [score for score in scores if score], "content": row.content or "",
        "source_id": _message_id(row.conversation_id, row.position), "version": row.memory_version,
        "message_id": _message_id(row.cited_conversation_id, row.cited_position),
        "weight": row.kind and decayed(
            row.importance or 0, Kind(row.kind), max(row.at, row.last_accessed_at or row.at), NOW
        ),
    }  # fmt: skip
    return CandidateRow._make(known.get(name) for name in CandidateRow._fields)


def _rows(items: list[ChangeRow], choice: Choice, wish: Wish) -> list[CandidateRow]:
    """Return the rows of the start, and of all that is around it, as ``candidates.sql`` does."""
    by_id = {row.id: row for row in items}
    start = [by_id[int(choice._ids[number])] for number in choice._ranks]
    said = [(row.conversation_id, row.position) for row in start]
    said += [(row.cited_conversation_id, row.cited_position) for row in start]
    around = {(c, p + n) for c, p in said if p is not None for n in range(-REACH, REACH + 1)}
    chosen = [row for row in start if row.position is None]
    chosen += [
        row for row in items if row.current and (row.conversation_id, row.position) in around
    ]
    return [_row(row, choice, wish) for row in chosen]


def _hits(text: str, question: Question, candidates: Candidates) -> list[RankedItem]:
    return rank(candidates, 30, people.interpret(text, question, candidates), now=NOW)


@pytest.mark.parametrize("shared", [0, 40])
@pytest.mark.parametrize("count", [5, 60, 400])
def test_memory_and_rows_make_the_same_candidates(count: int, shared: int) -> None:
    """For one owner, and with shared knowledge that has messages too."""
    rng = random.Random(count + shared)
    cache = ItemCache()
    items: list[ChangeRow] = []
    for owner_id, size, first in ((ME, count, 1), (SHARED_OWNER, shared, 100_000)):
        owner, changes = OwnerItems(), _changes(rng, size, first=first)
        if changes:
            owner.apply(owner_id, changes, page=len(changes) + 1)
        else:
            owner.version, owner.after = 0, 2**63 - 1
        cache._owners[owner_id] = owner
        items += changes
    actor = Actor(Role.SERVICE, user_id=ME)
    cache._viewers[ME, None] = Viewer(ME)
    for text in ("Where did Kate sail?", "tea", "Did Bo play the cello with Ann?", "xyzzy"):
        question = take_apart(text)
        names = {name: _vector(rng) for name in question.names}
        wish = Wish(_vector(rng), question.terms, content_hash(text), 16, {}, names)
        choice = cache.choose(actor, wish)
        assert choice
        here = choice.candidates(NOW)
        there = of_rows(_rows(items, choice, wish), question.names)
        assert sorted(here.ids.tolist()) == sorted(there.ids.tolist())
        found, expected = (_hits(text, question, each) for each in (here, there))
        assert [(hit.id, hit.exact, hit.words) for hit in found] == [
            (hit.id, hit.exact, hit.words) for hit in expected
        ]
        for one, other in zip(found, expected, strict=True):
            assert one.signals == pytest.approx(other.signals, abs=1e-4)
            assert one.score == pytest.approx(other.score, abs=1e-4)
            assert one.relevance == pytest.approx(other.relevance, abs=1e-3)


def test_a_word_that_calls_somebody() -> None:
    """It stands before a mark or the end, as the first or second word or after a comma."""
    assert calls("Hey Kate!") == {"Kate"}
    assert calls("Kate, are you there?") == {"Kate"}
    assert calls("I see, Kate. Well, Bob!") == {"see", "Kate", "Bob"}
    assert calls("I like Kate a lot, and Bob too.") == set()
