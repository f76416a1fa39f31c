"""What pages say of times, names and matches, in words."""

from collections.abc import Callable
from contextvars import copy_context
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from fastapi import Request

from remembrancer.web import labels, languages
from remembrancer.web.languages import ago, name_of_day, when
from remembrancer.web.marks import Marker

NOW = datetime(2026, 5, 14, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("before", "words"),
    [
        (timedelta(seconds=5), "just now"),
        (timedelta(minutes=3), "3 min ago"),
        (timedelta(minutes=61), "1 hour ago"),
        (timedelta(hours=5), "5 hours ago"),
        (timedelta(hours=13), "yesterday"),
        (timedelta(days=3), "3 days ago"),
        (timedelta(days=30), "14 Apr"),
        (timedelta(days=400), "9 Apr 2025"),
        (timedelta(hours=-2), "in 2 hours"),
        (timedelta(hours=-13), "tomorrow"),
        (timedelta(days=-3), "in 3 days"),
    ],
)
def test_a_time_is_told_as_people_tell_it(before: timedelta, words: str) -> None:
    assert ago(NOW - before, NOW) == words


def test_a_day_begins_where_the_person_lives() -> None:
    late = datetime(2026, 5, 13, 22, 30, tzinfo=UTC)
    assert name_of_day(late, NOW, "UTC") == "Yesterday"
    assert name_of_day(late, NOW, "Europe/Riga") == "Today"
    assert name_of_day(NOW - timedelta(days=4), NOW, "UTC") == "Sunday 10 May"


def read_in(asked: str, say: Callable[[], str]) -> str:
    """What is said to a browser that asks for these languages."""
    headers = [(b"accept-language", asked.encode())] if asked else []

    def said() -> str:
        languages.use(Request({"type": "http", "headers": headers}))
        return say()

    return copy_context().run(said)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("", "14 May 2026, 15:05"),
        ("de-AT,de;q=0.9,en;q=0.5", "14.05.2026, 15:05"),
        ("en-GB", "14 May 2026, 15:05"),
        ("en-US,en;q=0.9", "May 14, 2026, 3:05\u202fPM"),
        ("zh-Hans-SG", "14 May 2026, 15:05"),
        ("*", "14 May 2026, 15:05"),
        ("x" * 5000 + "-US", "14 May 2026, 15:05"),
    ],
)
def test_a_time_is_written_as_its_reader_writes_it(asked: str, told: str) -> None:
    at = NOW + timedelta(hours=3, minutes=5)
    assert read_in(asked, lambda: when(at)) == told


@pytest.mark.parametrize(
    ("say", "told"),
    [
        (lambda: ago(NOW - timedelta(minutes=61), NOW), "vor 1 Stunde"),
        (lambda: ago(NOW - timedelta(hours=13), NOW), "gestern"),
        (lambda: ago(NOW + timedelta(days=3), NOW), "in 3 Tagen"),
        (lambda: name_of_day(NOW, NOW), "Heute"),
        (lambda: languages.number(12345), "12.345"),
        (lambda: languages.counted("%(count)s memory", "%(count)s memories", 1), "1 Erinnerung"),
        (
            lambda: languages.counted("%(count)s memory", "%(count)s memories", 2000),
            "2.000 Erinnerungen",
        ),
        (lambda: labels.names(["Ada", "Bob", "Cleo", "Dan"]), "Ada, Bob und 2 mehr"),
    ],
)
def test_words_and_numbers_are_those_of_the_language(say: Callable[[], str], told: str) -> None:
    assert read_in("de", say) == told


def test_names_are_counted_from_the_third_on() -> None:
    assert labels.names(["Ada"]) == "Ada"
    assert labels.names(["Ada", "Bob"]) == "Ada and Bob"
    assert labels.names(["Ada", "Bob", "Cleo", "Dan"]) == "Ada, Bob and 2 more"


@pytest.mark.parametrize(
    ("text", "query", "marked"),
    [
        ("Ada drinks three espressos.", "espresso", ["espressos"]),
        ("Ada drinks three espressos.", "drinking", ["drinks"]),
        ("Ada drinks three espressos.", "spres", ["spres"]),
        ("Straße, STRASSE", "strasse", ["Straße", "STRASSE"]),
        ("The tea of the day", "the tea", ["The tea"]),
        ("Ada was offered a job", "What does Ada drink?", ["Ada"]),
        ("Nothing here", "x", []),
        ("", "tea", []),
        ("<b>tea</b>", "b", ["b", "b"]),
    ],
)
def test_the_words_that_match_are_marked(text: str, query: str, marked: list[str]) -> None:
    """In any form, or letter by letter; the parts are the text."""
    parts = Marker(query).parts(text)
    assert "".join(part.text for part in parts) == text
    assert [part.text for part in parts if part.matches] == marked


@pytest.mark.parametrize(
    ("vanish", "appear", "words"),
    [
        (0, 0, "nothing vanishes or appears"),
        (1, 0, "1 vanishes"),
        (0, 2, "2 appear"),
        (1_200, 1, "1,200 vanish and 1 appears"),
    ],
)
def test_a_change_of_scope_is_told_in_numbers(vanish: int, appear: int, words: str) -> None:
    """One memory and many, on both sides."""
    assert labels.scope_change(vanish, appear) == words


def test_who_is_invited_has_a_name_only_if_it_is_known() -> None:
    """An id of somebody unknown says nothing about them; a platform id stays as it was typed."""
    ada, other = uuid4(), uuid4()
    assert labels.invitee_name(str(ada), {ada: "Ada"}) == "Ada"
    assert labels.invitee_name(str(other), {ada: "Ada"}) == "Somebody by id"
    assert labels.invitee_name("discord:1844", {}) == "discord:1844"
