"""Whatever happens, everybody is shown what the visibility rule lets them see, and no more."""

from run_state_machine import lived


def test_what_is_shown_is_what_the_rule_lets_through(database_url: str) -> None:
    """Every path, after every step, shows exactly the items that the pure predicate allows."""
    lived(database_url)
