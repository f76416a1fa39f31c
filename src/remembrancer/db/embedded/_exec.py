"""Exec a command as another user, in a process that ends with its parent.

Run by path in a bare interpreter: ``python -I -S _exec.py PARENT UID GID COMMAND...``, where
an empty UID keeps the current user. It is a separate program because none of this is safe between
fork and exec in a process with threads. Dropping privileges clears the parent-death signal, so the
order matters. It imports nothing of this package.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
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
        sys.exit("the parent process of the database server has ended")
    os.umask(0o077)
    os.execv(command[0], command)  # noqa: S606 - without a shell on purpose


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        sys.exit(f"cannot run {sys.argv[4]}: {error}")
