"""Run Postgres' programs as the server's user, ended with this process, with bounded output."""

import os
import signal
import subprocess
import sys
import threading
from collections import deque
from contextlib import suppress
from functools import partial
from pathlib import Path

from remembrancer.db.embedded import _exec
from remembrancer.db.embedded.account import Account
from remembrancer.errors import DatabaseSetupError

LOG_LIMIT = 1 << 20
"""Bytes after which the log moves to ``postgres.log.1`` and replaces it."""


def run(command: list[str], account: Account | None, cwd: Path) -> None:
    with _start(command, account, cwd) as process:
        output = process.communicate()[0].decode(errors="replace").strip()
    if process.returncode != 0:
        raise DatabaseSetupError(f"{Path(command[0]).name} failed in {cwd}:\n{output}")


class ServerLog:
    """The server's log: two files of bounded size, and the last lines in memory."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._recent: deque[bytes] = deque(maxlen=20)

    def write(self, line: bytes) -> None:
        self._recent.append(line)
        # the server blocks without a reader of its output, so no error may stop the reader
        with suppress(OSError):
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
            with os.fdopen(os.open(self._path, flags, 0o600), "ab") as file:
                file.write(line)
                full = file.tell() > LOG_LIMIT
            if full:
                self._path.replace(self._path.with_name(f"{self._path.name}.1"))

    def tail(self) -> str:
        return b"".join(self._recent).decode(errors="replace").strip()


class ServerProcess:
    """A running server, with the thread that starts it and reads its log."""

    def __init__(
        self, command: list[str], account: Account | None, cwd: Path, log: ServerLog
    ) -> None:
        self._command = command
        self._account = account
        self._cwd = cwd
        self._log = log
        self._popen: subprocess.Popen[bytes] | None = None
        self._failure: OSError | None = None
        self._forked = threading.Event()
        # the parent-death signal comes when the forking *thread* ends, so it is not the caller's;
        # daemonic, since the interpreter joins other threads before it calls atexit
        self._thread = threading.Thread(target=self._run, name="postgres-keeper", daemon=True)
        self._thread.start()
        self._forked.wait()
        if self._failure:
            raise self._failure

    @property
    def pid(self) -> int:
        assert self._popen
        return self._popen.pid

    def stop(self) -> None:
        """Stop the server within seconds, with stronger signals over time.

        The WAL has all commits; a server that is not given the time to flush the rest recovers.
        """
        assert self._popen
        for mode, times in (("INT", 5), ("QUIT", 1)):
            for _ in range(times):
                # Repeated, since a signal is lost while the program is loading.
                self._signal(mode)
                if self.ends_within(1.0):
                    return
        self._popen.kill()
        self.ends_within(5.0)

    def wait(self) -> None:
        """Wait for the end of the server and of all its processes, which share its log."""
        self._thread.join()

    def ends_within(self, seconds: float) -> bool:
        assert self._popen
        try:
            self._popen.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        self._thread.join(1.0)  # for the rest of the log
        return True

    def _run(self) -> None:
        try:
            self._popen = _start(self._command, self._account, self._cwd)
        except OSError as error:
            self._failure = error
            return
        finally:
            self._forked.set()
        with self._popen as popen:
            assert popen.stdout
            for line in iter(partial(popen.stdout.readline, 1 << 16), b""):
                self._log.write(line)

    def _signal(self, mode: str) -> None:
        assert self._popen
        if sys.platform == "win32":
            pg_ctl = Path(self._command[0]).with_name("pg_ctl.exe")
            subprocess.run([pg_ctl, "kill", mode, str(self.pid)], check=False)  # noqa: S603 - a fixed command
        else:
            self._popen.send_signal(signal.SIGINT if mode == "INT" else signal.SIGQUIT)


def _start(command: list[str], account: Account | None, cwd: Path) -> subprocess.Popen[bytes]:
    if sys.platform != "win32":
        ids = [str(account.uid), str(account.gid)] if account else ["", ""]
        bare = [sys.executable, "-I", "-S", _exec.__file__, str(os.getpid()), *ids]
        command = [*bare, *command]
    # PGPORT, PGDATA and others are for other servers; TZ saves initdb a long search
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    return subprocess.Popen(  # noqa: S603 - a fixed command
        command,
        cwd=cwd,
        env=inherited | {"LC_ALL": "C", "TZ": "UTC"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,  # Ctrl-C is for this process, which stops the server
        creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
    )
