"""A small SQLite file that the processes of one server share."""

import sqlite3
from pathlib import Path


def shared_file(directory: Path | None, name: str, schema: str) -> sqlite3.Connection:
    """Open a file and make its tables; without a directory, in the memory of this process.

    It holds what a restart may forget: a killed process leaves it whole, a power cut need not.
    """
    place = ":memory:" if directory is None else directory / name
    file = sqlite3.connect(place, isolation_level=None, check_same_thread=False)
    file.execute("PRAGMA journal_mode = WAL")
    file.execute("PRAGMA synchronous = OFF")
    file.execute("PRAGMA foreign_keys = ON")
    file.executescript(schema)
    return file
