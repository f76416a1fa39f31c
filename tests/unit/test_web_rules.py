"""What pages decide without a database: differences, drawings, stretches, sessions."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from importlib.metadata import PackageNotFoundError
from itertools import pairwise
from uuid import UUID, uuid4

import pytest
from babel import Locale
from hypothesis import given
from hypothesis import strategies as st

from remembrancer.access import Visibility
from remembrancer.conversations.schemas import Message, MessageRole
from remembrancer.extraction.schemas import Chunk
from remembrancer.lookup import rules
from remembrancer.lookup.rows import DayRow, EdgeRow
from remembrancer.lookup.schemas import Span
from remembrancer.web import labels, languages, pages
from remembrancer.web.charts import HEIGHT, bars, columns
from remembrancer.web.conversations import sections
from remembrancer.web.diff import word_changes

NOW = datetime(2026, 1, 5, tzinfo=UTC)
TALK = UUID(int=1)


@given(st.text(), st.text())
def test_a_difference_holds_both_texts_whole(before: str, after: str) -> None:
    """What is not new makes up the text before, what is not gone the one after."""
    pieces = word_changes(before, after)
    assert "".join(piece.text for piece in pieces if piece.kind != "new") == before
    assert "".join(piece.text for piece in pieces if piece.kind != "gone") == after


def test_a_difference_goes_word_by_word() -> None:
    """A word that changed is shown whole, and nothing else is."""
    found = [
        (piece.kind, piece.text) for piece in word_changes("Ada likes tea.", "Ada likes coffee.")
    ]
    assert found == [("same", "Ada likes "), ("gone", "tea"), ("new", "coffee"), ("same", ".")]


def test_a_difference_of_very_long_texts_is_the_texts() -> None:
    """Beyond some thousand words both are shown whole, at once."""
    assert [p.kind for p in word_changes("a " * 3000, "b " * 3000)] == ["gone", "new"]


def test_bars_are_as_long_as_their_share_of_the_longest() -> None:
    """The longest is 100 percent; with nothing to show all are 0."""
    assert [bar.length for bar in bars({"a": 2, "b": 4, "c": 0})] == [50.0, 100.0, 0.0]
    assert [bar.length for bar in bars({"a": 0})] == [0.0]
    assert bars({}) == []


def _day(month: int, day: int, learnt: int = 1, year: int = 2026) -> DayRow:
    return DayRow(date(year, month, day), learnt, 0, 0)


def test_days_become_months_and_years_when_there_are_many() -> None:
    """Each span from the first day to today is there once, and nothing that happened is lost."""
    today = date(2026, 5, 14)
    for days, unit, count in [
        ([_day(5, 1), _day(5, 3, 2)], "day", 14),
        ([_day(1, 31), _day(3, 1), _day(5, 14)], "month", 5),
        ([_day(12, 31, year=2019), _day(5, 14)], "year", 8),
    ]:
        found, spans = rules.spans(days, today)
        assert (found, len(spans)) == (unit, count)
        assert sum(span.learnt for span in spans) == sum(row.learnt for row in days)
        assert spans[-1].end == today
        for one, following in pairwise(spans):
            assert following.start == one.end + timedelta(days=1)
    assert rules.spans([], today) == ("day", [])


@given(st.sets(st.integers(0, 13_000), min_size=1, max_size=20))
def test_no_chart_has_more_columns_than_can_be_seen(ages: set[int]) -> None:
    """And every day that counts is in one of them."""
    today = date(2026, 5, 14)
    days = [DayRow(today - timedelta(days=age), 1, 1, 1) for age in sorted(ages, reverse=True)]
    _, spans = rules.spans(days, today)
    assert len(spans) <= rules.MOST_DAYS
    assert sum(span.changed for span in spans) == len(days)


def test_columns_are_as_high_as_what_happened() -> None:
    """What came stands on a line, what went hangs from it, and nothing leaves the chart."""
    day = date(2026, 5, 14)
    spans = [
        Span(start=day, end=day, learnt=6, changed=2, forgotten=0),
        Span(start=day, end=day + timedelta(days=1), learnt=0, changed=0, forgotten=2),
    ]
    first, second = columns(spans, day)
    assert (first.learnt, first.changed) == ((HEIGHT * 0.2, HEIGHT * 0.6), (0, HEIGHT * 0.2))
    assert second.forgotten == (HEIGHT * 0.8, HEIGHT * 0.2)
    assert (first.is_past, second.is_past) == (True, False)
    assert columns([], day) == []


def _edge(start: str, end: str) -> EdgeRow:
    return EdgeRow(
        owner_id=TALK, memory_id=start, target_owner_id=TALK, target_id=end, relation="updates",
        weight=0.5, shared_space_id=None, created_at=NOW, updated_at=NOW, category="other",
        content=start, importance=0.5, target_category="other", target_content=end,
        target_importance=0.5, total=9,
    )  # fmt: skip


def test_the_pages_work_without_the_package_of_d3(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The script is empty then, and the log says what to install."""
    assert b"d3js.org" in pages._FILES["d3.js"][1]

    def missing(name: str) -> None:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(pages, "distribution", missing)
    assert pages._d3() == b""
    assert "pip install remembrancer[all]" in caplog.text


def test_a_picture_has_no_more_memories_than_fit() -> None:
    """The first associations come first; one between memories that are there costs nothing."""
    edges = [_edge("a", "b"), _edge("b", "c"), _edge("c", "d"), _edge("c", "a")]
    assert rules.closest_edges(edges, 3) == [edges[0], edges[1], edges[3]]
    assert rules.closest_edges(edges, 4) == edges
    assert rules.closest_edges(edges, 1) == []


def test_a_picture_grows_from_the_memory_with_most() -> None:
    """Not of strong pairs; what belongs to nothing there comes when nothing else is left."""
    pair, chain = replace(_edge("x", "y"), weight=0.9), [_edge("a", "b"), _edge("b", "c")]
    assert rules.closest_edges([pair, *chain], 3) == chain
    assert rules.closest_edges([pair, *chain], 4) == chain
    assert rules.closest_edges([pair, *chain], 5) == [pair, *chain]


def _message(position: int) -> Message:
    return Message(
        id=uuid4(), conversation_id=TALK, position=position, user_id=None,
        role=MessageRole.USER, sender_name="Ada", content="x", sent_at=NOW,
        platform_message_id=None, metadata={},
    )  # fmt: skip


def _chunk(start: int, end: int) -> Chunk:
    return Chunk(
        id=uuid4(), conversation_id=TALK, range_start=start, range_end=end, content="x",
        visibility=Visibility.PRIVATE, created_at=NOW,
    )  # fmt: skip


def test_messages_stand_beside_the_summary_of_their_range() -> None:
    """A gap between two ranges, and what comes after them, has none; order and number stay."""
    chunks = [_chunk(1, 2), _chunk(4, 5)]
    found = sections([_message(n) for n in range(2, 8)], chunks)
    shown = [(one.chunk, [each.position for each in one.messages]) for one in found]
    assert shown == [(chunks[0], [2]), (None, [3]), (chunks[1], [4, 5]), (None, [6, 7])]
    assert sections([], chunks) == []


def test_words_for_errors_are_sentences() -> None:
    """A capital at the beginning, one stop at the end, nothing for nothing."""
    assert labels.sentence("no such memory") == "No such memory."
    assert labels.sentence("Try again.") == "Try again."
    assert labels.sentence("") == ""
    assert labels.shortened("a\n b  c", 4) == "a b…"


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", ("in private", "on discord", "by an agent", "on the command line")),
        ("de", ("unter vier Augen", "auf discord", "durch einen Agenten", "auf der Kommandozeile")),
    ],
)
def test_a_private_chat_is_no_platform_and_a_tool_is_an_agent(
    language: str, words: tuple[str, ...]
) -> None:
    """Names of ours, such as `private` and `tool`, are no words for people."""
    spoken = languages.Language(Locale.parse(language), languages.texts(language))
    token = languages._current.set(spoken)
    try:
        told = (labels.on("private"), labels.on("discord"), labels.by("tool"), labels.by("cli"))
    finally:
        languages._current.reset(token)
    assert told == words
