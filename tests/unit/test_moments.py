"""Words for a time, as they are meant where and when they were said."""

from datetime import UTC, datetime

import pytest

from remembrancer.extraction.dates import DatedText, interval, resolve
from remembrancer.llm.json_output import json_object

# A Sunday; in Auckland it is Monday already.
SAID = datetime(2023, 5, 7, 13, 56, tzinfo=UTC)


@pytest.mark.parametrize(
    ("words", "resolved", "begins", "ends"),
    [
        ("Ada moved last year.", "Ada moved last year (2022).", "2022-01-01", "2023-01-01"),
        ("Ada swam yesterday.", "Ada swam yesterday (6 May 2023).", "2023-05-06", "2023-05-07"),
        (
            "Ada met Bob in Rome yesterday.",
            "Ada met Bob in Rome yesterday (6 May 2023).",
            "2023-05-06",
            "2023-05-07",
        ),
        (
            "Ada sings since last month.",
            "Ada sings since last month (April 2023).",
            "2023-04-01",
            None,
        ),
        (
            "Ada is away until tomorrow.",
            "Ada is away until tomorrow (8 May 2023).",
            None,
            "2023-05-09",
        ),
        ("Ada sailed two weeks ago.", None, "2023-04-17", "2023-04-24"),
        ("Ada ran last Friday.", "Ada ran last Friday (5 May 2023).", "2023-05-05", "2023-05-06"),
        ("Ada flies next month.", "Ada flies next month (June 2023).", "2023-06-01", "2023-07-01"),
        ("Ada likes tea.", "Ada likes tea.", None, None),
        ("The last yearbook is lost.", "The last yearbook is lost.", None, None),
    ],
)
def test_words_for_a_time_get_the_time_they_mean(
    words: str, resolved: str | None, begins: str | None, ends: str | None
) -> None:
    """In the text and as an interval; what happened ends with its day, "since" stays open."""
    found = resolve(words, SAID, "UTC")
    if resolved is not None:
        assert found.text == resolved
    days = [day and day.date().isoformat() for day in (found.valid_from, found.valid_to)]
    assert days == [begins, ends]


@pytest.mark.parametrize(
    ("today", "words", "day"),
    [
        (8, "last Monday", "1 May 2023"),
        (8, "next Monday", "15 May 2023"),
        (7, "last Monday", "1 May 2023"),
        (7, "next Monday", "8 May 2023"),
        (9, "last Monday", "8 May 2023"),
        (9, "next Monday", "15 May 2023"),
    ],
)
def test_last_and_next_weekday_are_never_today(today: int, words: str, day: str) -> None:
    """On a Monday, "last Monday" is a week ago and "next Monday" a week away."""
    assert (
        resolve(words, datetime(2023, 5, today, 12, tzinfo=UTC), "UTC").text == f"{words} ({day})"
    )


@pytest.mark.parametrize(
    ("zone", "day"),
    [
        ("Pacific/Auckland", "8 May 2023"),
        ("UTC", "7 May 2023"),
        ("Pacific/Pago_Pago", "7 May 2023"),
    ],
)
def test_a_day_is_that_of_the_speakers_zone(zone: str, day: str) -> None:
    """One instant, two days; the interval begins when the day does there."""
    found = resolve("today", SAID, zone)
    assert found.text == f"today ({day})"
    assert found.valid_from is not None
    assert found.valid_from <= SAID


@pytest.mark.parametrize(
    "words",
    [
        'Ada likes the song called "Yesterday".',
        "Ada likes the song \u201cYesterday\u201d.",
        "Ada sang \u00abTomorrow\u00bb.",
        "Ada watches The Last Week Tonight show.",
        "Last Week Tonight is Ada's show.",
        "Ada reads USA Today.",
        "Ada saw The Day After Tomorrow.",
        "Ada said 'see you tomorrow' to Bob.",
        "Ada kauft das Buch \u201eGestern und heute\u201c.",
        "Ada sagt guten morgen.",
        "Ada wohnt hier und arbeitet.",
        "Ada corre por la ma\u00f1ana.",
        "\u827e\u8fbe\u8bfb\u300a\u4eca\u5929\u300b",
        "Ada swam yesterday (6 May 2023).",
    ],
)
def test_case_44_names_and_quotations_stay_as_they_were_said(words: str) -> None:
    """No date is added to them, and no interval made of them."""
    assert resolve(words, SAID, "UTC") == DatedText(words)


@pytest.mark.parametrize(
    ("words", "dated"),
    [
        ("Yesterday Ada swam.", "Yesterday (6 May 2023) Ada swam."),
        ("Ada ran last Friday.", "Ada ran last Friday (5 May 2023)."),
        ("Ada kommt morgen.", "Ada kommt morgen (2023-05-08)."),
        ("Gestern war Ada da.", "Gestern (2023-05-06) war Ada da."),
        ("Ada nada ayer.", "Ada nada ayer (2023-05-06)."),
        ("Ada viaja pasado ma\u00f1ana.", "Ada viaja pasado ma\u00f1ana (2023-05-09)."),
        ("Ada est venue hier.", "Ada est venue hier (2023-05-06)."),
        ("Ada viaggia domani.", "Ada viaggia domani (2023-05-08)."),
        (
            "\u827e\u8fbe\u6628\u5929\u6765\u4e86",
            "\u827e\u8fbe\u6628\u5929 (2023-05-06)\u6765\u4e86",
        ),
        ("\u660e\u65e5\u6765\u308b", "\u660e\u65e5 (2023-05-08)\u6765\u308b"),
        (
            "\u0431\u044b\u043b\u0430 \u0432\u0447\u0435\u0440\u0430",
            "\u0431\u044b\u043b\u0430 \u0432\u0447\u0435\u0440\u0430 (2023-05-06)",
        ),
        (
            "\u0633\u0628\u062d\u062a \u0623\u0645\u0633",
            "\u0633\u0628\u062d\u062a \u0623\u0645\u0633 (2023-05-06)",
        ),
        ("Ada zog letztes Jahr um.", "Ada zog letztes Jahr (2022) um."),
    ],
)
def test_case_44_the_word_stays_and_the_day_is_added(words: str, dated: str) -> None:
    """In other languages as digits, which all of them read."""
    assert resolve(words, SAID, "UTC").text == dated


def test_a_written_year_month_or_day_is_an_interval_and_nothing_else_is() -> None:
    """Half-open, in the zone that was named."""

    def days(written: str) -> list[str] | None:
        found = interval(written, "UTC")
        return found and [one.date().isoformat() for one in found]

    assert days("2023") == ["2023-01-01", "2024-01-01"]
    assert days("2023-12") == ["2023-12-01", "2024-01-01"]
    assert days("2024-02-29") == ["2024-02-29", "2024-03-01"]
    assert [days(w) for w in ("2023-02-30", "0000", "soon", "", "2023-13")] == [None] * 5


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ('{"a": 1}', '{"a": 1}'),
        ('```json\n{"a": "``` in it"}\n```', '{"a": "``` in it"}'),
        ('Here you are: {"a": {"b": 2}} I hope it helps {:', '{"a": {"b": 2}}'),
        ('Sure. {"a": [{"b": 1}, {"b": ', '{"a": [{"b": 1}, {"b": '),
        ("no object", "no object"),
    ],
)
def test_the_object_is_found_in_whatever_is_around_it(written: str, found: str) -> None:
    """One that is cut off is seen to be cut off, not taken for one of its parts."""
    assert json_object(written) == found


DRAFT, RIGHT = '{"summary": "draft", "facts": [1, 2, 3, 4]}', '{"summary": "x"}'


@pytest.mark.parametrize(
    "written",
    [
        f"draft {DRAFT} and so on </think> {RIGHT}",
        f"<think>{DRAFT}</think>\n{RIGHT}",
        f"<analysis>{DRAFT}</analysis>{RIGHT}",
        f"<think>a</think> {DRAFT} <reasoning>b</reasoning> {RIGHT}",
        f"[THINK]{DRAFT}[/THINK]{RIGHT}",
        f"<|channel|>analysis<|message|>{DRAFT}<|channel|>final<|message|>{RIGHT}",
        f"First {DRAFT}, or rather {RIGHT}",
        f'{{"summary": "cut off </think> {RIGHT}',
        f'{DRAFT} {RIGHT} {{"other": 1}}',
    ],
)
def test_case_42_the_last_object_that_fits_after_the_reasoning_is_the_answer(written: str) -> None:
    """Never the largest, and none of the drafts."""
    assert json_object(written, lambda text: "summary" in text) == RIGHT


def test_case_42_a_mark_of_reasoning_inside_of_the_answer_is_text() -> None:
    """Somebody may have written it."""
    written = '{"summary": "Ada writes </think> at the end"}'
    assert json_object(f"so </think> {written}") == written
    assert json_object(f"{DRAFT} </think> nothing") == " nothing"
