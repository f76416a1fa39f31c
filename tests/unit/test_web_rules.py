"""What pages decide without a database: differences, drawings, stretches, sessions."""

import math
from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remembrancer.access import Visibility
from remembrancer.associations.schemas import Association, Neighbourhood, Node
from remembrancer.conversations.schemas import Message, MessageRole
from remembrancer.errors import Forbidden, Unauthenticated
from remembrancer.extraction.schemas import Chunk
from remembrancer.memories.schemas import Category, Kind, Relation
from remembrancer.web import labels
from remembrancer.web.charts import HEIGHT, WIDTH, bars, picture
from remembrancer.web.conversations import sections
from remembrancer.web.diff import word_changes
from remembrancer.web.sessions import LINK_SECONDS, SESSION_SECONDS, Sessions

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


def _node(name: str, depth: int) -> Node:
    return Node(
        id=name, user_id=TALK, depth=depth, strength=1, kind=Kind.FACT, category=Category.OTHER,
        subject=None, content=name, importance=0.5,
    )  # fmt: skip


def _edge(start: str, end: str) -> Association:
    return Association(
        memory_id=start, user_id=TALK, relation=Relation.RELATED_TO, target_id=end,
        target_user_id=TALK, weight=0.5, created_at=NOW, updated_at=NOW,
    )  # fmt: skip


@given(st.integers(0, 12), st.integers(0, 12))
def test_every_memory_has_a_place_of_its_own_in_the_picture(near: int, far: int) -> None:
    """The middle one in the middle, all inside the frame, no two at one place."""
    first = [_node(f"n{i}", 1) for i in range(near)]
    second = [_node(f"f{i}", 2) for i in range(far if near else 0)]
    edges = [_edge("m", one.id) for one in first]
    edges += [_edge(f"n{i % near}", one.id) for i, one in enumerate(second)]
    around = Neighbourhood(nodes=[_node("m", 0), *first, *second], edges=edges, complete=True)
    drawn = picture(around)
    assert (drawn.dots[0].x, drawn.dots[0].y) == (WIDTH / 2, HEIGHT / 2)
    assert all(20 < dot.x < WIDTH - 20 and 20 < dot.y < HEIGHT - 20 for dot in drawn.dots)
    assert len({(dot.x, dot.y) for dot in drawn.dots}) == len(drawn.dots) == len(around.nodes)
    assert len(drawn.lines) == len(edges)
    assert picture(around) == drawn


def test_a_lone_memory_two_steps_away_stands_beyond_its_neighbour() -> None:
    """Its line does not go through the middle, as if it were associated with that one."""
    nodes = [_node("m", 0), _node("a", 1), _node("b", 2)]
    around = Neighbourhood(nodes=nodes, edges=[_edge("m", "a"), _edge("a", "b")], complete=True)
    middle, near, far = picture(around).dots
    assert (near.x, near.y) != (middle.x, middle.y)
    for end in (near, far):
        assert abs(end.x - middle.x) < 1
    assert (far.y - middle.y) / (near.y - middle.y) > 1


def test_a_line_ends_at_the_rims_of_its_dots() -> None:
    """It enters neither dot, so that the arrow is seen."""
    around = Neighbourhood(
        nodes=[_node("m", 0), _node("a", 1)], edges=[_edge("m", "a")], complete=True
    )
    drawn = picture(around)
    middle, other = drawn.dots
    [line] = drawn.lines
    assert math.hypot(line.x1 - middle.x, line.y1 - middle.y) >= middle.radius - 0.2
    assert math.hypot(line.x2 - other.x, line.y2 - other.y) >= other.radius


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


def test_a_link_works_once_and_for_fifteen_minutes() -> None:
    """Used or too old, it signs nobody in."""
    now = [0.0]
    sessions = Sessions(clock=lambda: now[0])
    fresh, old = (sessions.new_link().split("=")[1] for _ in range(2))
    assert sessions.redeem(fresh).key_id is None
    now[0] = LINK_SECONDS + 1
    for token in (fresh, old, "", "x"):
        with pytest.raises(Unauthenticated):
            sessions.redeem(token)


def test_a_session_ends_and_its_forms_with_it() -> None:
    """After twelve hours, or when it is ended; each has a token of its own."""
    now = [0.0]
    sessions = Sessions(clock=lambda: now[0])
    one, other = sessions.start(None), sessions.start(None)
    one.check(one.token)
    for token in (other.token, "", "é"):
        with pytest.raises(Forbidden):
            one.check(token)
    now[0] = SESSION_SECONDS + 1
    sessions.start(None)
    assert sessions._file.execute("SELECT count(*) FROM sessions").fetchone() == (1,)


def test_words_for_errors_are_sentences() -> None:
    """A capital at the beginning, one stop at the end, nothing for nothing."""
    assert labels.sentence("no such memory") == "No such memory."
    assert labels.sentence("Try again.") == "Try again."
    assert labels.sentence("") == ""
    assert labels.shortened("a\n b  c", 4) == "a b…"
    assert labels.plural(1, "memory", "memories") == "1 memory"
    assert labels.plural(1200, "job") == "1,200 jobs"
