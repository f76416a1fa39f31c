"""Share the server of another process on the same data directory."""

import time
from pathlib import Path

import psycopg

from remembrancer.db.embedded.endpoint import Endpoint, is_ours
from remembrancer.db.embedded.lock import DirectoryLock, DirectoryTaken

PATIENCE = 10.0
"""Seconds to wait for a starting or stopping server."""


def lock_or_share(directory: Path, database: str) -> DirectoryLock | str:
    """Lock the directory, or return the URL of the server of the process that has the lock."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return DirectoryLock(directory)
        except DirectoryTaken as taken:
            url = _url(taken.line, database)
            if url and _answers(url):
                return url
            if time.monotonic() > until:
                raise
        time.sleep(0.05)


def _url(line: str, database: str) -> str | None:
    # another socket directory could belong to anybody
    return Endpoint(line, 5432).url(database) if is_ours(line) and Path(line).is_dir() else None


def _answers(url: str) -> bool:
    try:
        with psycopg.connect(url, connect_timeout=5):
            return True
    except psycopg.Error:
        return False
