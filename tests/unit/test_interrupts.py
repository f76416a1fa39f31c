"""Tests of Ctrl-C work where the shell that runs them ignores it."""

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import signal, subprocess, sys
from interrupts import let_children_be_interrupted
signal.signal(signal.SIGINT, signal.SIG_IGN)
let_children_be_interrupted()
show = "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
print(subprocess.check_output([sys.executable, "-c", show], text=True))
"""


def test_children_of_a_background_job_heed_an_interrupt() -> None:
    """A process that ignores SIGINT starts children that do not."""
    tests = Path(__file__).parents[1]
    output = subprocess.check_output([sys.executable, "-c", PROGRAM], cwd=tests, text=True)
    assert output.split() == ["True"]
