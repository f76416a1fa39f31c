"""A lock for one process per data directory; other processes share its server."""

import os
import sys
import time
from contextlib import suppress
from pathlib import Path

import psycopg

from remembrancer.db.embedded.endpoint import Endpoint, is_ours
from remembrancer.errors import DatabaseSetupError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

PATIENCE = 10.0
"""Seconds to wait for a starting or stopping server."""


class DirectoryTaken(DatabaseSetupError):
    """Another process has the lock; ``line`` is its note for others."""

    def __init__(self, directory: Path, holder: str, line: str) -> None:
        who = f"process {holder}" if holder else "another process"
        super().__init__(
            f"The data directory {directory} is in use by {who}, and its database cannot be "
            "shared. Use that server at its URL, stop it "
            "first, or choose another data directory."
        )
        self.line = line


class DirectoryLock:
    """An exclusive lock that ends with the process, also after a crash."""

    def __init__(self, directory: Path) -> None:
        # Never through a link: another user may write to the directory that root works in.
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
        self._fd = os.open(directory / "lock", flags, 0o600)
        try:
            _lock(self._fd)
        except OSError:
            holder, line = _read(self._fd)
            os.close(self._fd)
            raise DirectoryTaken(directory, holder, line) from None
        self.left_behind = _read(self._fd)[1]
        """The line of the last holder; empty after an orderly release."""
        self.leave("")

    def leave(self, line: str) -> None:
        """Write the pid, and a line for the next holder after a crash."""
        os.ftruncate(self._fd, 0)
        os.lseek(self._fd, 0, os.SEEK_SET)
        os.write(self._fd, f"{os.getpid()}\n{line}\n".encode())

    def release(self) -> None:
        """Release the lock. The file stays, since its removal would race with the next holder."""
        os.ftruncate(self._fd, 0)
        _unlock(self._fd)
        os.close(self._fd)


def lock_or_share(directory: Path, database: str) -> DirectoryLock | str:
    """Lock the directory, or return the URL of the server of the process that has the lock."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return DirectoryLock(directory)
        except DirectoryTaken as taken:
            # Another socket directory could belong to anybody.
            if is_ours(taken.line) and Path(taken.line).is_dir():
                url = Endpoint(taken.line, 5432).url(database)
                if _answers(url):
                    return url
            if time.monotonic() > until:
                raise
        time.sleep(0.05)


def _answers(url: str) -> bool:
    try:
        with psycopg.connect(url, connect_timeout=5):
            return True
    except psycopg.Error:
        return False


def _read(fd: int) -> tuple[str, str]:
    with suppress(OSError):  # Windows also locks the bytes for readers
        os.lseek(fd, 0, os.SEEK_SET)
        lines = os.read(fd, 4096).decode(errors="replace").splitlines()
        return (*lines, "", "")[0], (*lines, "", "")[1]
    return "", ""


def _lock(fd: int) -> None:
    if sys.platform == "win32":
        os.lseek(fd, 1 << 20, os.SEEK_SET)  # after the note, which stays readable
        msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
    else:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _unlock(fd: int) -> None:
    # explicit, since a forked child has a copy of the descriptor
    if sys.platform == "win32":
        os.lseek(fd, 1 << 20, os.SEEK_SET)
        msvcrt.locking(fd, msvcrt.LK_UNLCK, 1)
    else:
        fcntl.flock(fd, fcntl.LOCK_UN)
