"""Tie this process's life to its parent's, become another user, and exec a command.

Run by path in a bare interpreter: ``python -I -S _exec.py PARENT UID GID COMMAND...``, where
UID is empty to stay who we are. It is a program of its own because none of this is safe
between fork and exec in a process with threads, and because dropping privileges clears the
parent-death signal, so the order matters. It imports nothing of ours.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Exec the command, or exit with a message."""
    parent, uid, gid, *command = sys.argv[1:]
    # loaded first: the new user may be unable to read Python's own files
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None
    if uid:
        os.setgroups([])
        os.setgid(int(gid))
        os.setuid(int(uid))
    if libc:
        # "immediate shutdown": Postgres takes its children with it, and the WAL keeps the data
        libc.prctl(PR_SET_PDEATHSIG, int(signal.SIGQUIT), 0, 0, 0)
    if os.getppid() != int(parent):
        sys.exit("the process that wanted a database server is gone")
    os.umask(0o077)
    os.execv(command[0], command)  # noqa: S606 - there is no shell, and that is the point


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        sys.exit(f"cannot run {sys.argv[4]}: {error}")
