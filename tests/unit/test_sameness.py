"""Which statements are the same, measured on pairs in nine languages."""

import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remembrancer.memories.sameness import canonical, says_the_same

PAIRS = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "data/sameness.jsonl").read_text("utf-8").splitlines()
]


def test_the_pairs_are_half_alike_and_half_not_in_six_languages_and_more() -> None:
    """One is written without spaces, one from right to left."""
    alike = sum(pair["same"] for pair in PAIRS)
    assert (len(PAIRS), alike) == (355, 177)
    languages = {pair["language"] for pair in PAIRS}
    assert {"en", "de", "fr", "es", "zh", "ar"} <= languages
    for language in languages - {"hi"}:
        assert {p["same"] for p in PAIRS if p["language"] == language} == {True, False}


@pytest.mark.parametrize(
    "pair", [p for p in PAIRS if not p["same"]], ids=lambda p: f"{p['language']}-{p['kind']}"
)
def test_case_28_nothing_that_carries_meaning_is_lost(pair: dict[str, str]) -> None:
    """No false merge, whichever is written first."""
    assert not says_the_same(pair["statement"], pair["other"])
    assert not says_the_same(pair["other"], pair["statement"])


def test_of_177_true_repeats_160_are_recognised() -> None:
    """All but paraphrases, another order, and other words or marks."""
    repeats = [pair for pair in PAIRS if pair["same"]]
    missed = [pair for pair in repeats if not says_the_same(pair["statement"], pair["other"])]
    assert (len(repeats), len(missed)) == (177, 17)
    assert {pair["kind"] for pair in missed} == {"paraphrase"}


@given(st.text())
def test_a_canonical_form_is_its_own(statement: str) -> None:
    """So that forms compare, whatever was stored."""
    assert canonical(canonical(statement)) == canonical(statement)


@given(st.text(min_size=1))
def test_what_has_a_visible_character_keeps_one(statement: str) -> None:
    """No two statements are the same because nothing is left of them."""
    visible = any(c.isprintable() and not c.isspace() for c in statement)
    assert bool(canonical(statement)) or not visible


@pytest.mark.parametrize(
    "unit", [" ", "\n", "a ", ".", "\u2013", "\u2212", "n't ", "THE ", "\r", " ."]
)
def test_a_canonical_form_takes_linear_time(unit: str) -> None:
    """Twice the text takes about twice as long."""

    def seconds(count: int) -> float:
        text = "x" + unit * count + "x"
        return min(_timed(text) for _ in range(3))

    assert seconds(40_000) < 4 * seconds(20_000) + 0.02


def _timed(text: str) -> float:
    began = time.process_time()
    canonical(text)
    return time.process_time() - began
