"""Tests of Ctrl-C work where the shell that runs them ignores it."""

import logging
import subprocess
import sys
from pathlib import Path

import pytest

import remembrancer.db.engine  # noqa: F401 - it sets up the log

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


def test_case_61_the_driver_reports_no_second_error(caplog: pytest.LogCaptureFixture) -> None:
    """An interrupted pipeline has a reason of its own; the rest of its log is kept."""
    driver = logging.getLogger("psycopg")
    driver.warning("error ignored terminating %r: %s", "a pipeline", "pipeline aborted")
    driver.warning("something else")
    assert caplog.messages == ["something else"]
