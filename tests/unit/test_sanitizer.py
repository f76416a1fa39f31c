"""Hidden characters reach no label, prompt, transcript or tool output."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remembrancer.extraction.transcript import transcript_of
from remembrancer.sanitizer import prompt_line, visible, visible_line
from remembrancer.text import one_line
from remembrancer.tools.json_text import to_json_line

HIDDEN = {
    "soft hyphen": "\u00ad",
    "grapheme joiner": "\u034f",
    "Arabic letter mark": "\u061c",
    "Hangul filler": "\u3164",
    "Hangul initial filler": "\u115f",
    "half-width Hangul filler": "\uffa0",
    "zero-width space": "\u200b",
    "zero-width joiner": "\u200d",
    "direction mark": "\u200e",
    "direction override": "\u202e",
    "direction isolate": "\u2066",
    "word joiner": "\u2060",
    "byte order mark": "\ufeff",
    "variation selector": "\ufe01",
    "emoji style": "\ufe0f",
    "annotation": "\ufff9",
    "tag": "\U000e0041",
    "further variation selector": "\U000e0155",
}


def _transcript(text: str) -> str:
    message: Any = SimpleNamespace(
        id=uuid4(),
        owner_id=uuid4(),
        role="user",
        sender_name=text,
        content=text,
        sent_at=datetime(2026, 1, 1, tzinfo=UTC),
    )
    return transcript_of(uuid4(), 1, 1, [message]).text


@pytest.mark.parametrize("way", [one_line, prompt_line, _transcript, to_json_line])
@pytest.mark.parametrize("character", HIDDEN.values(), ids=HIDDEN)
def test_no_way_lets_a_hidden_character_through(way: Any, character: str) -> None:
    """One list of characters is used by labels, prompts, transcripts and tool output."""
    shown = way(f"Ada{character} lives{character * 2}here{character}")
    assert character not in shown
    assert "Ada" in shown
    assert "here" in shown


@pytest.mark.parametrize("way", [one_line, prompt_line, _transcript, to_json_line])
@pytest.mark.parametrize(
    "text",
    [
        "\U0001f468\u200d\U0001f469\u200d\U0001f467",  # a family
        "\U0001f44d\U0001f3fd",  # a thumb with a skin tone
        "\u2764\ufe0f\u200d\U0001f525",  # a burning heart
        "1\ufe0f\u20e3",  # a keycap
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",  # Persian
        "\u0d28\u0d4d\u200d\u0d31\u0d46",  # Malayalam
    ],
)
def test_characters_that_join_what_is_seen_stay(way: Any, text: str) -> None:
    """Emoji and scripts that need joiners read as before."""
    assert text in way(text)


def test_a_run_of_selectors_carries_no_hidden_text() -> None:
    """Each selector could stand for a byte; one at most stays, after an emoji."""
    payload = "".join(chr(0xFE00 + n) for n in range(16))
    assert visible(f"\u2764{payload}!") == "\u2764!"
    assert visible("\u2764\ufe0f\ufe0f\ufe0e!") == "\u2764\ufe0f!"


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=100))
def test_doing_it_again_changes_nothing(text: str) -> None:
    """The result has nothing left to remove."""
    assert visible(visible(text)) == visible(text)
    assert visible_line(visible_line(text)) == visible_line(text)
