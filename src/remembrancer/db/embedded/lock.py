"""One process per data directory."""

import os
import sys
from contextlib import suppress
from pathlib import Path

from remembrancer.errors import DatabaseSetupError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


class DirectoryLock:
    """An exclusive lock that ends with the process, however it ends.

    The file keeps a note of its holder: the pid, and one line the holder may leave for
    whoever comes next.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._fd = _open(directory / "lock")
        try:
            _lock(self._fd)
        except OSError:
            holder = self._read()[0]
            os.close(self._fd)
            raise self._taken(holder) from None
        self.left_behind = self._read()[1]
        """The line of the last holder, empty if it left none or went in order."""
        self.leave("")

    def leave(self, line: str) -> None:
        """Note who we are and what to leave to the next holder, should we die."""
        os.ftruncate(self._fd, 0)
        os.lseek(self._fd, 0, os.SEEK_SET)
        os.write(self._fd, f"{os.getpid()}\n{line}\n".encode())

    def release(self) -> None:
        """Let the next process in. The file stays, since removing it would race with them."""
        os.ftruncate(self._fd, 0)
        _unlock(self._fd)
        os.close(self._fd)

    def _read(self) -> tuple[str, str]:
        with suppress(OSError):  # Windows locks the bytes against reading, too
            os.lseek(self._fd, 0, os.SEEK_SET)
            lines = os.read(self._fd, 4096).decode(errors="replace").splitlines()
            return (*lines, "", "")[0], (*lines, "", "")[1]
        return "", ""

    def _taken(self, holder: str) -> DatabaseSetupError:
        who = f"process {holder}" if holder else "another process"
        return DatabaseSetupError(
            f"The data directory {self._directory} is in use by {who}. Talk to that server at "
            "its URL instead of starting a second one, stop it first, or choose another data "
            "directory."
        )


def _open(path: Path) -> int:
    # never through a link: root may be working in a directory that somebody else can write
    return os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)


def _lock(fd: int) -> None:
    if sys.platform == "win32":
        os.lseek(fd, 1 << 20, os.SEEK_SET)  # beyond the note, which stays readable
        msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
    else:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _unlock(fd: int) -> None:
    # said aloud, since a forked child keeps a copy of the descriptor
    if sys.platform == "win32":
        os.lseek(fd, 1 << 20, os.SEEK_SET)
        msvcrt.locking(fd, msvcrt.LK_UNLCK, 1)
    else:
        fcntl.flock(fd, fcntl.LOCK_UN)
