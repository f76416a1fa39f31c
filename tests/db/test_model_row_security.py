"""The same lives with no rule in any statement: row-level security alone lets nothing out."""

import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]


def test_row_security_alone_shows_nothing_that_is_private_to_others(database_url: str) -> None:
    """Every path, after every step, shows what row-level security lets through, and no more."""
    # In a process of its own: the rule is taken out before any statement is made of it.
    ended = subprocess.run(
        [sys.executable, "-W", "error", str(TESTS / "run_state_machine.py"), database_url],
        cwd=TESTS,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr[-4000:]
