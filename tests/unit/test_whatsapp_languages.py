"""WhatsApp chats as phones of many languages export them. No store is involved."""

import tomllib
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path

import pytest
from exports import saved

from remembrancer.importers import DateOrder, Options, open_export
from remembrancer.importers.formats import whatsapp

HEADS = {
    "en": "3/1/24, 9:06\u202fPM - ",
    "de": "01.03.24, 21:06 - ",
    "fr": "01/03/2024 à 21:06 - ",
    "es": "1/3/24 9:06 p.\u00a0m. - ",
    "pt": "01/03/2024 21:06 - ",
    "it": "01/03/24, 21:06 - ",
    "nl": "01-03-2024 21:06 - ",
    "sv": "2024-03-01 21:06 - ",
    "da": "01.03.2024 21.06 - ",
    "nb": "01.03.2024, 21:06 - ",
    "fi": "1.3.2024 klo 21.06 - ",
    "pl": "1.03.2024, 21:06 - ",
    "cs": "01.03.24 21:06 - ",
    "sk": "1. 3. 2024 21:06 - ",
    "hu": "2024. 03. 01. 21:06 - ",
    "ro": "01.03.2024, 21:06 - ",
    "hr": "01.03.2024. 21:06 - ",
    "ca": "1/3/24 21:06 - ",
    "el": "1/3/24, 9:06 μ.μ. - ",
    "tr": "1.03.2024 ÖS 9:06 - ",
    "ru": "01.03.2024, 21:06 - ",
    "uk": "01.03.24, 21:06 - ",
    "ar": "\u200f\u0661\u200f/٣\u200f/٢٠٢٤، ٩:٠٦ م - ",
    "he": "1.3.2024, 21:06 - ",
    "fa": "۲۰۲۴/۳/\u06f1،\u200f ۲۱:۰۶ - ",
    "ur": "1/3/24, 9:06 PM - ",
    "hi": "01/03/24, 9:06 pm - ",
    "bn": "১/৩/২৪, ৯:০৬ PM - ",
    "mr": "१/३/२४, ९:०६ म.उ. - ",
    "id": "01/03/24 21.06 - ",
    "ms": "01/03/2024, 9:06 PTG - ",
    "vi": "21:06, 1/3/2024 - ",
    "th": "1/3/2567 21:06 - ",
    "zh": "2024/3/1 下午9:06 - ",
    "ja": "2024/03/01 21:06 - ",
    "ko": "2024. 3. 1. 오후 9:06 - ",
}
"""The evening of 1 March 2024, as a phone in each language writes it."""
AT = datetime(2024, 3, 1, 21, 6, tzinfo=UTC)
WORDS = tomllib.loads(files("remembrancer.importers.formats").joinpath("whatsapp.toml").read_text())
NAMES = {"fr": "Discussion WhatsApp avec Bob.txt", "tr": "Bob ile WhatsApp Sohbeti.txt"}


def order_of(language: str) -> DateOrder:
    years_first = {"sv", "hu", "fa", "zh", "ja", "ko"}
    return (
        DateOrder.MDY
        if language == "en"
        else DateOrder("ymd" if language in years_first else "dmy")
    )


def android(language: str) -> str:
    """A chat with one of each thing that the application writes into it."""
    words, head = WORDS[language], HEADS[language]
    said = [
        f"Ada: Bob bakes rye. <{words.get('edited', ['x'])[0]}>" if "edited" in words
        else "Ada: Bob bakes rye.",
        *(f"Bob: {deleted}" for deleted in words["deleted"]),
        *(f"Bob: <{media}>" for media in words["media"]),
        f"Bob: \u200eIMG-20240301-WA0001.jpg ({words['attached'][0]})\nthe loaf",
        "Ada\u00a0: 2 < 3: yes",
    ]  # fmt: skip
    return "".join(f"{head}{line}\n" for line in [*words["notice"], *said])


def ios(language: str) -> str:
    words, head = WORDS[language], f"[{HEADS[language][:-3]}] "
    kinds = ("photo", "video", "audio", "sticker", "gif", "file", "contact")
    said = [
        f"Bob: \u200e{words['notice'][0]}",
        "Ada: Bob bakes rye. \u200e<any words in any language>",
        *(f"Bob: \u200e{deleted}." for deleted in words["deleted"]),
        *(f"Bob: \u200e{words[kind][0]}" for kind in kinds),
        f"Bob: menu.pdf • \u200e1 x \u200e{words['file'][0]}",
        "Ada: \u200e<x\u00a0: 00000012-PHOTO-2024.jpg>",
    ]
    return "".join(f"{head}{line}\n" for line in said)


def test_the_languages_are_those_of_the_table() -> None:
    """At least 25, each with a head of its own here."""
    assert WORDS.keys() - {"times"} == HEADS.keys()
    assert len(HEADS) >= 25


@pytest.mark.parametrize("language", HEADS)
def test_case_57_whatsapp_in_many_languages(tmp_path: Path, language: str) -> None:
    """What people said and when; notices, deleted messages and files in the words of the phone."""
    words = WORDS[language]
    options = Options(time_zone=UTC, date_order=order_of(language))
    for text, pictures in ((android(language), 0), (ios(language), 1)):
        assert whatsapp.looks_like(text)
        export = open_export(
            saved(tmp_path / NAMES.get(language, "WhatsApp Chat with Bob.txt"), text),
            options=options,
        )
        [chat] = export.transcripts()
        said = [(turn.platform_user_id, turn.content) for turn in chat.turns]
        assert {turn.sent_at for turn in chat.turns} == {AT}
        assert said[0] == (None, "Bob bakes rye.")
        notices = 1 if pictures else len(words["notice"])
        assert export.notes.skipped == {
            "system message": notices,
            "deleted message": len(words["deleted"]),
        }
        if pictures:
            kinds = ("photo", "video", "audio", "sticker", "gif", "file", "contact")
            assert said[1:] == [
                *(("Bob", f"[{kind}]") for kind in kinds),
                ("Bob", "[file: menu.pdf]"),
                (None, "[photo: 00000012-PHOTO-2024.jpg]"),
            ]
        else:
            assert said[1:] == [
                *[("Bob", "[media]")] * len(words["media"]),
                ("Bob", "[photo: IMG-20240301-WA0001.jpg]\nthe loaf"),
                (None, "2 < 3: yes"),
            ]


@pytest.mark.parametrize(
    "text",
    [
        "I read: this message was deleted",
        "image omitted",
        "<3",
        "see menu.pdf (the new one)",
        "a <b> c",
        "x <This is mine>",
        "Missed voice call from mum, did you see?",
        "<div class=a>\nis a tag",
    ],
)
def test_what_only_resembles_a_mark_is_said(text: str) -> None:
    """Words of the application are its own only in its form."""
    assert whatsapp._content(text) == (text, None)


@pytest.mark.parametrize(
    ("text", "content"),
    [
        (
            "\u200eANKET:\nWhere to?\n\u200eOPTION: Rome (2 votes)",
            "[poll]\nWhere to?\nOPTION: Rome (2 votes)",
        ),
        (
            "\u200eKonum: https://maps.google.com/?q=1.5,2.5",
            "[location]\nhttps://maps.google.com/?q=1.5,2.5",
        ),
    ],
)
def test_polls_and_locations_are_said(text: str, content: str) -> None:
    """On iOS they begin like a notice, in the words of the phone."""
    assert whatsapp._content(text) == (content, None)


@pytest.mark.parametrize("date", ["1/3/1999", "1402/12/11", "1/3/3024"])
def test_a_year_without_whatsapp_is_no_date(tmp_path: Path, date: str) -> None:
    """Years of other calendars are refused, not stored as another time."""
    file = saved(tmp_path / "WhatsApp Chat with Bob.txt", f"{date}, 21:06 - Bob: Hi\n")
    with pytest.raises(Exception, match="date"):
        list(open_export(file, options=Options(time_zone=UTC, me="Bob")).transcripts())
