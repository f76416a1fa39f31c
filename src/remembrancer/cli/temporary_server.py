"""A server process on a free port, with a temporary data directory."""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from remembrancer.cli.admin_key import FILE
from remembrancer.errors import ConfigurationError

_ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")


@dataclass(frozen=True)
class Server:
    address: str
    admin_key: str


@contextmanager
def temporary_server() -> Iterator[Server]:
    """Run ``remembrancer serve`` as a process; stop it and delete its data at the end."""
    with tempfile.TemporaryDirectory(prefix="remembrancer-demo-") as directory:
        process = _start(directory)
        try:
            address = _address(process)
            yield Server(address, (Path(directory) / FILE).read_text(encoding="ascii").strip())
        finally:
            _stop(process)


def _start(directory: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "remembrancer", "--data-dir", directory]
    return subprocess.Popen(  # noqa: S603 - the command is ours
        [*command, "serve", "--host", "127.0.0.1", "--port", "0"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=_environment(),
        start_new_session=True,  # Ctrl-C must reach only this process, which stops the server
    )


def _environment() -> dict[str, str]:
    # Settings of the real server must not apply: its database, its paid models.
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.upper().startswith("REMEMBRANCER_")
    }
    own = {
        "REMEMBRANCER_SETTINGS": os.devnull,
        "REMEMBRANCER_LOG_LEVEL": "error",
        "REMEMBRANCER_DATABASE__SHARED_BUFFERS": "32MB",
    }
    return inherited | own | {"PYTHONUNBUFFERED": "1", "PYTHONIOENCODING": "utf-8"}


def _address(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    for line in process.stdout:
        if match := _ADDRESS.search(line):
            return match[0]
    assert process.stderr
    output = process.stderr.read().strip().splitlines()
    raise ConfigurationError(f"the server did not start: {output[-1] if output else 'no output'}")


def _stop(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.communicate(timeout=15)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
