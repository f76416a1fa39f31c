"""Start and stop the embedded server."""

import atexit
import logging
import os
import threading
import time
from pathlib import Path
from typing import Final, Self

import psycopg

from remembrancer.db.embedded import cluster
from remembrancer.db.embedded.account import Account, server_account, user_name
from remembrancer.db.embedded.binaries import binaries_for
from remembrancer.db.embedded.endpoint import Endpoint, clear_left_behind, open_endpoint
from remembrancer.db.embedded.lock import DirectoryLock, lock_or_share
from remembrancer.db.embedded.process import ServerLog, ServerProcess
from remembrancer.errors import DatabaseSetupError

logger = logging.getLogger(__name__)

DATABASE = "remembrancer"

SETTINGS = {
    # an acknowledged write survives kill -9 and power cuts
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "autovacuum": "on",
    "max_connections": "100",
    "max_wal_size": "1GB",
    # a workspace can be moved to another server
    "wal_level": "logical",
    "jit": "off",
    "timezone": "UTC",
    # the log goes to our pipe, without texts of users: no statements, no parameters, and (terse) no
    # DETAIL, which quotes the values of a violated constraint
    "logging_collector": "off",
    "log_destination": "stderr",
    "log_timezone": "UTC",
    "log_error_verbosity": "terse",
    "log_min_error_statement": "panic",
    "log_statement": "none",
    "log_min_duration_statement": "-1",
    "log_min_duration_sample": "-1",
    "log_parameter_max_length": "0",
    "log_parameter_max_length_on_error": "0",
}

# the text of an ERROR may quote a value; the client gets it, the log does not. For sessions only,
# so that the checkpointer can still report a full disk
QUIET_SESSIONS = "ALTER ROLE ALL SET log_min_messages = 'log'"

FIRST_PAUSE = 0.1
LONGEST_PAUSE = 10.0
"""Seconds between two tries to start a server again that ended by itself; doubled each time."""

TEMPORARY = ("pre-existing shared memory block", 'lock file "postmaster.pid" already exists')
"""Errors of a server that starts while processes of the last one still run."""


class EmbeddedPostgres:
    """One Postgres server on one data directory, owned by this process or shared with its owner.

    The cluster is in ``data_dir/postgres``, the log (about 2 MB at most) in
    ``data_dir/postgres.log``. The directory is locked while the server runs. The server stops
    when the interpreter exits, on Linux also when this process is killed. If root starts it, it
    runs as ``remembrancer``, ``postgres`` or ``nobody``, the first that exists. A server that ends
    by itself, after a full disk or a signal, is started again at the same address.

    ``shared_buffers`` is in Postgres' notation; ``start_timeout`` is in seconds and includes
    crash recovery. All methods block; use ``asyncio.to_thread`` in async code.
    """

    def __init__(
        self, data_dir: Path, *, shared_buffers: str = "256MB", start_timeout: float = 300.0
    ) -> None:
        self._data_dir = data_dir.expanduser().absolute()
        self._cluster = self._data_dir / "postgres"
        self._shared_buffers = shared_buffers
        self._start_timeout = start_timeout
        self._guard = threading.RLock()
        self._is_unwanted = threading.Event()
        self._starter = 0
        self._url: str | None = None
        self._lock: DirectoryLock | None = None
        self._endpoint: Endpoint | None = None
        self._process: ServerProcess | None = None

    def start(self) -> str:
        """Start the server, unless it runs, and return its libpq URL.

        The first start creates the database. Raises ``DatabaseSetupError`` if the directory
        belongs to another user, if another process uses it without a server to share, or if the
        server does not start; the message then ends with the last lines of its log.
        """
        with self._guard:
            if self._url is None:
                self._is_unwanted = threading.Event()
                self._starter = os.getpid()
                atexit.register(self.stop)
                try:
                    self._url = self._start(time.monotonic() + self._start_timeout)
                except BaseException as error:
                    self.stop()
                    if isinstance(error, OSError | psycopg.Error):
                        raise self._start_error(error) from error
                    raise
            return self._url

    def stop(self) -> None:
        """Stop the server and wait for its end; do nothing if it is not running."""
        if self._starter != os.getpid():  # the exit of a forked child must not stop the server
            return
        self._is_unwanted.set()  # a start that is under way ends
        with self._guard:
            if self._process:
                self._process.stop()
                logger.info("Postgres stopped")
            if self._endpoint:
                self._endpoint.close()
            if self._lock:
                self._lock.release()
            self._url = self._process = self._endpoint = self._lock = None
            atexit.unregister(self.stop)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self.stop()

    def _start(self, deadline: float) -> str:
        began = time.monotonic()
        self._make_directory()
        lock = lock_or_share(self._data_dir, DATABASE)
        if isinstance(lock, str):
            logger.info("sharing the running server")
            return lock
        self._lock = lock
        clear_left_behind(self._lock.left_behind)
        account = server_account(self._cluster)
        binaries = binaries_for(account)
        cluster.ensure_cluster(self._cluster, binaries, account)
        self._endpoint = open_endpoint(self._data_dir, account)
        self._lock.leave(self._endpoint.host)
        while not self._try_launch(binaries, account, deadline):
            time.sleep(0.1)
        url = self._endpoint.url(DATABASE)
        _ensure_database(self._endpoint.url("postgres"))
        keep = (account, binaries, self._is_unwanted)
        threading.Thread(target=self._keep, args=keep, daemon=True).start()
        logger.info("Postgres is ready after %.2f s", time.monotonic() - began)
        return url

    def _keep(self, account: Account | None, binaries: Path, is_unwanted: threading.Event) -> None:
        """Start the server again whenever it ends by itself, until it is stopped."""
        pause = FIRST_PAUSE
        while (process := self._process) and not is_unwanted.wait(pause):
            process.wait()
            with self._guard:
                if is_unwanted.is_set():
                    return
                logger.warning("Postgres ended by itself; starting it again")
                try:
                    self._try_launch(binaries, account, time.monotonic() + self._start_timeout)
                except (OSError, DatabaseSetupError) as error:
                    logger.warning("it does not start: %s", error)
                    pause = min(2 * pause, LONGEST_PAUSE)
                else:
                    pause = FIRST_PAUSE

    def _try_launch(self, binaries: Path, account: Account | None, deadline: float) -> bool:
        """Start the server; return False if processes of the last one block it."""
        cluster.clear_leftover(self._cluster, binaries, deadline)
        log = ServerLog(self._data_dir / "postgres.log")
        command = self._command(binaries, account)
        self._process = ServerProcess(command, account, self._cluster, log)
        if self._becomes_ready(self._process, log, deadline):
            return True
        output = log.tail()
        if time.monotonic() < deadline and any(reason in output for reason in TEMPORARY):
            return False
        raise DatabaseSetupError(f"Postgres did not start on {self._cluster}:\n{output}")

    def _becomes_ready(self, process: ServerProcess, log: ServerLog, deadline: float) -> bool:
        """Wait until the server accepts connections; return False if it ends instead."""
        while not process.ends_within(0.01):
            # the same status that pg_ctl waits for: recovery would refuse connections
            postmaster = cluster.read_postmaster(self._cluster)
            if postmaster and (postmaster.pid, postmaster.status) == (process.pid, "ready"):
                return True
            if self._is_unwanted.is_set():
                raise DatabaseSetupError("Postgres was stopped during its start.")
            if time.monotonic() > deadline:
                raise DatabaseSetupError(
                    f"Postgres was not ready on {self._cluster} after {self._start_timeout:g} s. "
                    "If it is recovering from a crash, raise "
                    f"REMEMBRANCER_DATABASE__START_TIMEOUT. Its log ends:\n{log.tail()}"
                )
        return False

    def _command(self, binaries: Path, account: Account | None) -> list[str]:
        assert self._endpoint
        settings = SETTINGS | self._endpoint.options() | {"shared_buffers": self._shared_buffers}
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        program = str(binaries / "bin" / "postgres")
        return [program, "-D", cluster.data_argument(self._cluster, account), *options]

    def _make_directory(self) -> None:
        try:
            self._data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        except PermissionError:
            raise
        except FileExistsError as error:
            reason = f"{self._data_dir} is a file, not a directory"
            raise DatabaseSetupError(f"{reason}; {_OTHER_DIRECTORY}") from error
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise DatabaseSetupError(
                f"the directory {self._data_dir} cannot be made: {reason}; {_OTHER_DIRECTORY}"
            ) from error

    def _start_error(self, error: Exception) -> DatabaseSetupError:
        advice = (
            " If another user made the directory, run as that user, choose another data "
            "directory, or hand it over with chown -R."
        )
        return DatabaseSetupError(
            f"The database in {self._data_dir} cannot be started by {user_name()}: {error}."
            f"{advice if isinstance(error, PermissionError) else ''}"
        )


_OTHER_DIRECTORY: Final = "name another as data_dir (--data-dir, REMEMBRANCER_DATA_DIR)"


def _ensure_database(admin_url: str) -> None:
    with psycopg.connect(admin_url, autocommit=True, connect_timeout=30) as connection:
        exists = "SELECT FROM pg_database WHERE datname = %s"
        if connection.execute(exists, [DATABASE]).fetchone() is None:
            connection.execute(QUIET_SESSIONS)
            connection.execute(f"CREATE DATABASE {DATABASE}")
