"""Whatever happens, everybody is shown what the visibility rule lets them see, and no more."""

import pytest
from helpers import Store
from hypothesis import Phase, settings
from rule_removal import row_security_off
from run_state_machine import LIVES, run_lives

FEW = 150
MANY = pytest.param(2000, marks=pytest.mark.soak)


@pytest.mark.parametrize("steps", [FEW, MANY])
def test_what_is_shown_is_what_the_rule_lets_through(database_url: str, steps: int) -> None:
    """Every path, after every step, shows exactly the items that the pure predicate allows."""
    run_lives(database_url, steps)


@pytest.mark.parametrize("steps", [FEW, MANY])
def test_row_security_alone_shows_nothing_that_is_private_to_others(
    database_url: str, steps: int
) -> None:
    """With no rule in any statement, row-level security alone lets nothing out."""
    run_lives(database_url, steps, row_security_alone=True)


def test_without_both_locks_the_machine_sees_foreign_rows(database_url: str) -> None:
    """The counter-proof: with row-level security off as well, the first life fails."""
    Store.url = database_url
    first = settings(LIVES, max_examples=1, phases=[Phase.generate])
    with row_security_off(), pytest.raises(AssertionError):
        run_lives(database_url, 1, row_security_alone=True, lives=first)
