"""What a place says, and which places are one."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remembrancer import InvalidInput, NotFound
from remembrancer.memories import rules
from remembrancer.memories.dedup import repeats
from remembrancer.places import rules as places
from remembrancer.places.schemas import PlaceCreate


@given(st.text(min_size=1), st.text(min_size=1))
def test_notes_come_back_from_the_content(name: str, notes: str) -> None:
    """Whatever name and notes are, the content has both."""
    assert rules.notes_in(name, rules.place_content(name, notes)) == notes
    assert rules.notes_in(name, rules.place_content(name, None)) is None


def test_a_name_is_taken_off_as_a_whole() -> None:
    """A longer word that begins like the name is no name."""
    assert rules.notes_in("Home", "Homework club") == "Homework club"


@dataclass(frozen=True)
class _Row:
    id: str
    place_id: str | None
    content_hash: bytes = b"h"
    address: None = None


def test_places_are_one_by_place_id_alone() -> None:
    """Not by their words, which a merge would otherwise take for the same statement."""
    there = [_Row("a", "home"), _Row("b", None)]
    assert repeats([_Row("c", "home", b"f"), _Row("d", "work")], there) == {"c": "a"}


def test_a_refusal_names_the_field_of_the_place() -> None:
    """Content is what a place is stored as, not what was sent."""
    bare = PlaceCreate(place_id="x", place_name="Home")
    noted = PlaceCreate(place_id="x", place_name="Home", notes="here")
    wrong = InvalidInput("is wrong", field="content", guard=[1])
    assert places.place_error(wrong, bare).field == "place_name"
    assert places.place_error(wrong, noted).field == "notes"
    assert places.place_error(wrong, noted).extra == {"guard": [1]}


@pytest.mark.parametrize("place_id", ["", " ", "\x00", "\ud800", "x" * 256])
def test_what_cannot_be_a_place_id_is_no_place(place_id: str) -> None:
    """Before it comes to the database."""
    with pytest.raises(NotFound):
        places.check_place_id(place_id)
