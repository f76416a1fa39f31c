"""Whoever shares spaces, chats and agents: nobody hears what is not theirs to hear."""

import pytest
from circles import run_circles

FEW = 120
MANY = pytest.param(2000, marks=pytest.mark.soak)


@pytest.mark.parametrize("steps", [FEW, MANY])
def test_nobody_is_told_what_is_not_for_them(database_url: str, steps: int) -> None:
    """Recall, lists, context and extraction requests of everybody, after every step."""
    run_circles(database_url, steps)
