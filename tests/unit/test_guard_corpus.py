"""The guard on its corpus: what it found stays found."""

import pytest

from benchmarks.guard.__main__ import is_false, is_found, table
from benchmarks.guard.corpus import Case, cases

CASES = cases()
ADAPTED = [case for case in CASES if not case.held_out]


def test_the_corpus_is_large_and_varied() -> None:
    """200 secrets, 300 innocent texts; a third of each is held out."""
    secret = [case for case in CASES if case.secrets]
    assert len(secret) >= 200
    assert len(CASES) - len(secret) >= 300
    assert all(0.2 < sum(c.held_out for c in part) / len(part) < 0.4 for part in (secret, CASES))


def test_the_same_texts_are_made_each_time() -> None:
    """Seeds are fixed, so that two runs can be compared."""
    assert cases() == CASES


@pytest.mark.parametrize("case", ADAPTED, ids=lambda case: case.group)
def test_case_49_secrets_are_found_and_innocent_texts_are_left_alone(case: Case) -> None:
    """Whole; and in no innocent text is anything found."""
    assert is_found(case)
    assert not is_false(case)


def test_case_49_texts_that_the_guard_is_not_adapted_to() -> None:
    """It finds most of what it was not made for; a change must not lose that."""
    _, total = table([case for case in CASES if case.held_out])
    assert total["recall"] >= 0.86
    assert total["precision"] >= 0.98
