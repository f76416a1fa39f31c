"""A question taken apart, and what a text shows at a glance."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remembrancer.analysis import query_terms, speech, take_apart
from remembrancer.analysis.questions import MOST_NAMES


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("What did she do on 7 May 2023?", date(2023, 5, 7), date(2023, 5, 7)),
        ("What did she do on the 7th of May, 2023?", date(2023, 5, 7), date(2023, 5, 7)),
        ("What did she do on May 7, 2023?", date(2023, 5, 7), date(2023, 5, 7)),
        ("And on 2023-05-07?", date(2023, 5, 7), date(2023, 5, 7)),
        ("What did Ada read in February 2024?", date(2024, 2, 1), date(2024, 2, 29)),
        ("Who came in Dec, 2022?", date(2022, 12, 1), date(2022, 12, 31)),
        ("Was haben wir am 7. März 2023 gekauft?", date(2023, 3, 7), date(2023, 3, 7)),
        ("¿Qué hicimos el 7 de mayo de 2023?", date(2023, 5, 7), date(2023, 5, 7)),
        ("Что было 7 мая 2023?", date(2023, 5, 7), date(2023, 5, 7)),
    ],
)
def test_a_date_is_days_and_no_words(text: str, first: date, last: date) -> None:
    """The days of a date, and no term of it."""
    question = take_apart(text)
    assert question.days == (first, last)
    assert not {"2023", "2024", "may", "7", "februari"} & question.terms.keys()


@pytest.mark.parametrize(
    "text", ["31 February 2023", "May I come in 2023 ways?", "2023-13-01", "0000-01-01", "9999-12"]
)
def test_what_is_no_date(text: str) -> None:
    """Days that do not exist, and words that only look like a date."""
    assert take_apart(f"What of {text} then?").days is None


def test_only_a_date() -> None:
    """A question of nothing but a date keeps its words."""
    assert take_apart("2023-05-07").terms == query_terms("2023-05-07")


def test_names_are_words_with_a_capital() -> None:
    """Not the first word, not the words of a date, each once, and not too many."""
    assert take_apart("What does Ada think of Bob's boat, Ada?").names == ("Ada", "Bob")
    assert take_apart("when did ada quit smoking?").names == ("ada",)
    assert take_apart("what is ada's boat called, and bob's?").names == ("ada", "bob")
    assert take_apart("what's new, and what did you do?").names == ()
    assert take_apart("Ada sails?").names == ()
    assert take_apart("Did she sail in May 2023?").names == ()
    assert len(take_apart("Do Ann, Bob, Cid, Dan, Eve sail?").names) == MOST_NAMES
    assert take_apart("She met Ann and Bob.").names == ()
    assert take_apart("Hat sie dir von Anna und ihrem Boot in Kiel erzählt?").names == ()


@pytest.mark.parametrize(
    "text", ["When did she go?", "Since when?", "On what day?", "Wann kommt er?", "когда он был"]
)
def test_asks_when(text: str) -> None:
    """Questions for a time, with a word before it or not."""
    assert take_apart(text).asks_when


@pytest.mark.parametrize("text", ["What did she do when it rained?", "Whenever", "Where?", ""])
def test_does_not_ask_when(text: str) -> None:
    """Other questions."""
    assert not take_apart(text).asks_when


def test_speech() -> None:
    """Who speaks, when, and whether the text asks."""
    assert speech("I\u2019ve been to Oslo") == (4, True, False, False, False)
    assert speech("She went yesterday! Did you?") == (5, False, True, True, True)
    assert speech("Gestern war ich da? Ja") == (5, True, True, True, False)
    assert speech("") == (0, False, False, False, False)
    assert speech("in 3 days").tells_time


@given(st.text(max_size=200))
def test_any_text(text: str) -> None:
    """Every text can be taken apart, and the same one in the same way."""
    assert take_apart(text) == take_apart(text)
    assert speech(text).words <= len(text)
