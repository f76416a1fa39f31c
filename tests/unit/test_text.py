"""Kinds of text a client may send, and the pages it gets back."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from remembrancer.text import (
    Instant,
    Key,
    Label,
    Statement,
    normalised,
    one_line,
    storable,
    storable_json,
)

LABEL, KEY, STATEMENT = (TypeAdapter(kind) for kind in (Label, Key, Statement))


@given(st.text())
def test_text_is_taken_as_it_is_or_refused(value: str) -> None:
    """Nothing is silently changed: NUL and lone surrogates are the two things refused."""
    try:
        assert storable(value) == value
    except ValueError:
        assert "\x00" in value
    assert storable(value.replace("\x00", "")) == value.replace("\x00", "")


@pytest.mark.parametrize("value", ["\ud800", "a\udfffb", "\udc00\ud800"])
def test_a_lone_surrogate_is_not_text(value: str) -> None:
    """No database can hold it."""
    with pytest.raises(ValueError, match="surrogate"):
        storable(value)


def test_a_label_is_trimmed_and_a_key_is_kept_to_the_letter() -> None:
    """A name reads the same trimmed; another system's id does not mean the same."""
    assert LABEL.validate_python("  Ada ") == "Ada"
    assert KEY.validate_python("  Ada ") == "  Ada "


@pytest.mark.parametrize("value", ["", " ", "\u3000\t", "\u200b", "\u202e", "\ufeff"])
def test_what_cannot_be_read_says_nothing(value: str) -> None:
    """Blank and invisible text is refused where something must be said."""
    with pytest.raises(ValidationError, match="must not be empty"):
        STATEMENT.validate_python(value)


@pytest.mark.parametrize("line_break", ["\n", "\r", "\x0b", "\x0c", "\x85", "\u2028", "\u2029"])
def test_a_label_is_one_line(line_break: str) -> None:
    """Nothing that any reader takes for a line break is in it."""
    with pytest.raises(ValueError, match="line break"):
        one_line(f"a{line_break}b")


def test_the_longest_label_fits_and_one_more_does_not() -> None:
    """200 characters, of any width."""
    assert LABEL.validate_python("ä" * 200)
    with pytest.raises(ValidationError):
        LABEL.validate_python("ä" * 201)


@pytest.mark.parametrize(
    ("one", "other"),
    [("Tea.", "tea"), ("A  b", "a b"), ("\uff34ea!", "tea"), ("Stra\u00dfe", "STRASSE")],
)
def test_sameness_is_of_words(one: str, other: str) -> None:
    """Case, width, spacing and the final stop do not make another statement."""
    assert normalised(one) == normalised(other)


@given(st.text())
def test_normalising_twice_changes_nothing_more(value: str) -> None:
    """So that a stored form and a fresh one always agree."""
    assert normalised(normalised(value)) == normalised(value)


@pytest.mark.parametrize(
    "value",
    [
        {"k": float("nan")},
        {"k": float("inf")},
        {"k": "\x00"},
        {"\x00": 1},
        {"k": "\ud800"},
        {"k": "a\\\x00"},
        {"k": object()},
        {"k": "x" * 9000},
        {"k": json.loads("[" * 200 + "]" * 200)},
        {"k": json.loads('{"a":' * 40 + "1" + "}" * 40)},
    ],
)
def test_json_that_the_database_cannot_hold_is_refused(value: dict[str, object]) -> None:
    """Including what it could hold but nobody could read back."""
    with pytest.raises(ValueError, match=r"NUL|surrogate|JSON|bytes|nested"):
        storable_json(value)


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"k": r"\u0000"},
        {"k": "C:\\u0000"},
        {"k": [1, 0.5, None, True, {"a": []}]},
        {"k": "x" * 8000},
        {"": "\U0010ffff"},
        {"k": json.loads("[" * 20 + "]" * 20)},
    ],
)
def test_json_that_the_database_can_hold_is_taken(value: dict[str, object]) -> None:
    """Also what only looks like an escape."""
    assert storable_json(value) is value


@pytest.mark.parametrize(
    ("told", "fine"),
    [
        ("2026-01-01T00:00:00Z", True),
        ("2026-01-01T00:00:00+14:00", True),
        ("2026-01-01T00:00:00", False),
        ("0001-01-01T00:00:00+14:00", False),
        ("9999-12-31T23:59:59-14:00", False),
        ("0002-01-01T00:00:00Z", True),
        ("9998-12-31T23:59:59Z", True),
    ],
)
def test_an_instant_has_a_zone_and_fits_any_zone(told: str, fine: bool) -> None:
    """No year at the edge, where a change of zone would leave the calendar."""
    adapter = TypeAdapter(Instant)
    if fine:
        assert adapter.validate_python(told).astimezone(UTC) == datetime.fromisoformat(told)
    else:
        with pytest.raises(ValidationError):
            adapter.validate_python(told)
