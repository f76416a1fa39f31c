import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

import remembrancer
from remembrancer.db.embedded import (
    EmbeddedPostgres,
    account,
    binaries,
    cluster,
    process,
)
from remembrancer.db.embedded.cluster import read_postmaster
from remembrancer.db.embedded.lock import DirectoryLock
from remembrancer.errors import DatabaseSetupError

SOURCE = Path(remembrancer.__file__).parents[1]
AS_ROOT = os.geteuid() == 0
ORDINARY = "daemon"  # a user that root would not choose by itself

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="looks for processes in /proc, which only Linux has"
)
needs_root = pytest.mark.skipif(not AS_ROOT, reason="only root steps down to another user")

HOLD = """
import sys, time, psycopg
from pathlib import Path
from remembrancer.db.embedded import EmbeddedPostgres
server = EmbeddedPostgres(Path(sys.argv[1]), shared_buffers="16MB")
url = server.start()
with psycopg.connect(url, autocommit=True) as connection:
    connection.execute("CREATE TABLE IF NOT EXISTS note (body text)")
    connection.execute("INSERT INTO note VALUES ('kept')")
print(url, flush=True)
"""


def make(data_dir: Path) -> EmbeddedPostgres:
    return EmbeddedPostgres(data_dir, shared_buffers="16MB", start_timeout=120)


def ask(url: str, sql: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(sql)
        return cursor.fetchall() if cursor.description else []


def servers_on(data_dir: Path) -> list[int]:
    """Pids of all processes at work in the cluster."""
    target, found = str(data_dir / "postgres"), []
    for entry in Path("/proc").glob("[0-9]*/cwd"):
        try:
            if str(entry.readlink()) == target:
                found.append(int(entry.parts[2]))
        except OSError:
            continue
    return found


def owners_of(pids: list[int]) -> set[int]:
    """Users that run these processes; those that have ended meanwhile (Postgres starts and ends
    workers all the time) have none."""
    found = set()
    for pid in pids:
        with suppress(FileNotFoundError):
            found.add(Path(f"/proc/{pid}").stat().st_uid)
    assert found, "none of the processes is alive"
    return found


def eventually(holds: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 60
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def python(code: str, data_dir: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, str(data_dir)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A data directory and the URL of the server on it, for tests that only look."""
    data_dir = tmp_path_factory.mktemp("running") / "data"
    with make(data_dir) as server:
        yield data_dir, server.start()


@pytest.fixture(scope="module")
def seed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory whose server has run and stopped."""
    data_dir = tmp_path_factory.mktemp("seed") / "data"
    with make(data_dir):
        return data_dir


@pytest.fixture
def used_dir(seed: Path, tmp_path: Path) -> Path:
    """A copy of the seed, to save the time of making a cluster."""
    subprocess.run(["/bin/cp", "-a", seed, tmp_path / "used"], check=True)
    return tmp_path / "used"


@pytest.fixture
def open_dir() -> Iterator[Path]:
    """A directory of an ordinary user's, beneath directories everybody can walk."""
    path = Path(tempfile.mkdtemp(dir="/tmp"))
    yield path
    shutil.rmtree(path)


def test_a_directory_that_cannot_be_made_says_what_to_do(tmp_path: Path) -> None:
    """A file in its place, or a place that takes none."""
    (tmp_path / "file.py").touch()
    for place, reason in (
        (tmp_path / "file.py", "is a file, not a directory; name another as data_dir"),
        (tmp_path / "file.py" / "x", "cannot be made: not a directory; name another as data_dir"),
        (Path("/proc/x"), "cannot be made: no such file or directory; name another as data_dir"),
    ):
        with pytest.raises(DatabaseSetupError, match=reason):
            EmbeddedPostgres(place).start()


def test_a_restart_keeps_the_data(tmp_path: Path) -> None:
    """What was committed before a stop is there after the next start."""
    server = make(tmp_path / "new" / "data")
    url = server.start()
    ask(url, "CREATE TABLE note AS SELECT 'kept' AS body")
    server.stop()
    server.stop()
    assert not servers_on(tmp_path / "new" / "data")
    with server:
        assert ask(server.start(), "SELECT body FROM note") == [("kept",)]


def test_the_data_directory_is_private(running: tuple[Path, str]) -> None:
    """Nobody else can enter the data directory, the cluster or the socket directory."""
    data_dir, _ = running
    postmaster = read_postmaster(data_dir / "postgres")
    assert postmaster
    for path in (data_dir, data_dir / "postgres", Path(postmaster.host)):
        assert path.stat().st_mode & 0o077 == 0
    assert (data_dir / "postgres.log").stat().st_mode & 0o077 == 0


def test_the_socket_directory_goes_with_the_server(used_dir: Path) -> None:
    """A stop removes the socket directory, and each start makes a fresh one."""
    server, seen = make(used_dir), []
    for _ in range(2):
        with server:
            postmaster = read_postmaster(used_dir / "postgres")
            assert postmaster
            seen.append(Path(postmaster.host))
            assert seen[-1].is_dir()
        assert not seen[-1].exists()
    assert seen[0] != seen[1]


def test_writes_are_durable_and_nothing_listens_on_the_network(running: tuple[Path, str]) -> None:
    """The server syncs every commit and has no TCP address."""
    for name, value in (("fsync", "on"), ("synchronous_commit", "on"), ("listen_addresses", "")):
        assert ask(running[1], f"SHOW {name}") == [(value,)]


def test_text_is_unicode(running: tuple[Path, str]) -> None:
    """Letters outside ASCII have a case."""
    assert ask(running[1], "SELECT lower('ÄÉПЋΩ')") == [("äéпћω",)]
    assert ask(running[1], "SHOW server_encoding") == [("UTF8",)]


def test_pgvector_can_be_loaded(running: tuple[Path, str]) -> None:
    """The extension that holds the vectors comes with the server."""
    ask(running[1], "CREATE EXTENSION vector")
    assert ask(running[1], "SELECT '[1,2]'::halfvec(2) <-> '[1,2]'::halfvec(2)") == [(0.0,)]


def test_the_terminal_does_not_reach_the_server(running: tuple[Path, str]) -> None:
    """The server is in a session of its own, so Ctrl-C is ours to handle."""
    postmaster = read_postmaster(running[0] / "postgres")
    assert postmaster
    assert os.getsid(postmaster.pid) != os.getsid(0)


def test_the_log_holds_no_content(running: tuple[Path, str]) -> None:
    """Neither a violated constraint, a bad value nor a broken statement leaves content behind."""
    data_dir, url = running
    ask(url, "CREATE TABLE secret (body text UNIQUE, CHECK (body <> 'xyzzy-checked'))")
    ask(url, "INSERT INTO secret VALUES ('xyzzy-unique')")
    for body in ("xyzzy-unique", "xyzzy-checked"):
        with psycopg.connect(url) as connection, pytest.raises(psycopg.errors.IntegrityError):
            connection.execute("INSERT INTO secret VALUES (%s)", [body])
    for sql in ("SELECT 'xyzzy-number'::int", "SELECT xyzzy-syntax syntax error"):
        with pytest.raises(psycopg.Error):
            ask(url, sql)
    ask(url, "CHECKPOINT")
    log = data_dir / "postgres.log"
    assert eventually(lambda: "checkpoint complete" in log.read_text())
    assert "xyzzy" not in log.read_text()


def test_the_log_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However much the server says, two files of limited size hold it."""
    monkeypatch.setattr(process, "LOG_LIMIT", 1000)
    log = process.ServerLog(tmp_path / "postgres.log")
    for number in range(1000):
        log.write(b"line %d\n" % number)
    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == ["postgres.log", "postgres.log.1"]
    assert all(file.stat().st_size <= 1010 for file in files)
    assert log.tail().endswith("line 999")


def test_a_log_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    """A write that fails is passed over, and the last lines are still at hand."""
    log = process.ServerLog(tmp_path / "absent" / "postgres.log")
    log.write(b"said\n")
    assert log.tail() == "said"


def test_a_second_process_shares_the_server(running: tuple[Path, str]) -> None:
    """A second process gets the running server's URL, and its end leaves the server alone."""
    second = python(HOLD, running[0])
    url, stderr = second.communicate(timeout=180)
    assert (second.returncode, url.strip()) == (0, running[1]), stderr
    assert ask(running[1], "SELECT count(*) > 0 FROM note") == [(True,)]


def test_sharing_ends_with_the_owner(used_dir: Path) -> None:
    """Stopping a share stops nothing; once the owner stops, the other has no server."""
    owner, other = make(used_dir), make(used_dir)
    with owner:
        url = other.start()
        assert url == owner.start()
        other.stop()
        assert ask(url, "SELECT 1") == [(1,)]
        other.start()
    with pytest.raises(psycopg.OperationalError):
        ask(other.start(), "SELECT 1")
    other.stop()
    with other:
        assert ask(other.start(), "SELECT 1") == [(1,)]


def test_a_server_that_cannot_be_shared_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the holder of the directory runs no server, we are told who it is and what to do."""
    monkeypatch.setattr("remembrancer.db.embedded.lock.PATIENCE", 0.2)
    lock = DirectoryLock(tmp_path)
    with pytest.raises(DatabaseSetupError, match=f"in use by process {os.getpid()}.*its URL"):
        make(tmp_path).start()
    lock.release()


def test_an_address_that_is_not_ours_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A socket directory that this package did not make is never connected to."""
    monkeypatch.setattr("remembrancer.db.embedded.lock.PATIENCE", 0.0)
    lock = DirectoryLock(tmp_path)
    lock.leave(str(tmp_path))
    with pytest.raises(DatabaseSetupError, match="in use"):
        make(tmp_path).start()
    lock.release()


@pytest.mark.parametrize("patient", [True, False])
def test_a_killed_parent_leaves_no_server_and_loses_nothing(used_dir: Path, patient: bool) -> None:
    """After kill -9 all processes go, and the next start, however soon, has what was committed."""
    with python(HOLD + "time.sleep(60)", used_dir) as parent:
        assert parent.stdout
        assert parent.stdout.readline()
        old = read_postmaster(used_dir / "postgres")
        assert old
        parent.kill()
        parent.wait()
    if patient:
        assert eventually(lambda: not servers_on(used_dir))
    with make(used_dir) as server:
        assert ask(server.start(), "SELECT body FROM note") == [("kept",)]
        assert old.pid not in servers_on(used_dir)
        assert not Path(old.host).exists()


def test_a_killed_postmaster_is_recovered_from(used_dir: Path) -> None:
    """When Postgres itself is killed, the same object can stop and start it again."""
    server = make(used_dir)
    ask(server.start(), "CREATE TABLE note AS SELECT 'kept' AS body")
    postmaster = read_postmaster(used_dir / "postgres")
    assert postmaster
    os.kill(postmaster.pid, signal.SIGKILL)
    server.stop()
    with server:
        assert ask(server.start(), "SELECT body FROM note") == [("kept",)]


def test_a_server_that_ends_by_itself_is_started_again(used_dir: Path) -> None:
    """At the same address, until it is told to stop: also while it is being started again."""

    def kill() -> int:
        postmaster = read_postmaster(used_dir / "postgres")
        assert postmaster
        os.kill(postmaster.pid, signal.SIGKILL)
        return postmaster.pid

    def is_ready_after(pid: int) -> bool:
        postmaster = read_postmaster(used_dir / "postgres")
        return bool(postmaster and postmaster.pid != pid and postmaster.status == "ready")

    with make(used_dir) as server:
        ask(server.start(), "CREATE TABLE note AS SELECT 'kept' AS body")
        for _ in range(2):
            killed = kill()
            assert eventually(lambda killed=killed: is_ready_after(killed))  # type: ignore[misc]
            assert ask(server.start(), "SELECT body FROM note") == [("kept",)]
        kill()
    assert not servers_on(used_dir)


def test_a_pid_that_is_now_anothers_is_no_obstacle(used_dir: Path) -> None:
    """A stale pid file that names a living stranger is put aside, and the stranger left alone."""
    with make(used_dir):
        owner = (used_dir / "postgres").stat().st_uid
        stale = (used_dir / "postgres" / "postmaster.pid").read_text().split("\n", 1)[1]
    user = owner if AS_ROOT else None
    with subprocess.Popen(["/bin/sleep", "60"], user=user) as stranger:
        (used_dir / "postgres" / "postmaster.pid").write_text(f"{stranger.pid}\n{stale}")
        try:
            with make(used_dir) as server:
                assert ask(server.start(), "SELECT 1") == [(1,)]
            assert stranger.poll() is None
        finally:
            stranger.kill()


def test_the_server_outlives_the_thread_that_started_it(used_dir: Path) -> None:
    """A worker thread may start the server and end."""
    server = make(used_dir)
    worker = threading.Thread(target=server.start)
    worker.start()
    worker.join()
    with server:
        time.sleep(0.2)  # the death signal, if it came, would come at once
        assert ask(server.start(), "SELECT 1") == [(1,)]


def test_leaving_the_interpreter_stops_the_server(used_dir: Path) -> None:
    """A program that forgets to stop leaves an orderly shut-down cluster and no process."""
    forgetful = python(HOLD, used_dir)
    _, stderr = forgetful.communicate(timeout=180)
    assert (forgetful.returncode, stderr) == (0, "")
    assert not servers_on(used_dir)
    assert not (used_dir / "postgres" / "postmaster.pid").exists()
    assert "database system is shut down" in (used_dir / "postgres.log").read_text()


def test_a_forked_childs_exit_leaves_the_server_alone(used_dir: Path) -> None:
    """Only the process that started the server stops it."""
    code = """
import os
if (child := os.fork()) == 0:
    sys.exit()
os.waitpid(child, 0)
with psycopg.connect(url) as connection:
    print(connection.execute("SELECT 'still here'").fetchone()[0])
"""
    forking = python(HOLD + code, used_dir)
    stdout, _ = forking.communicate(timeout=180)
    assert "still here" in stdout


def test_an_interrupted_first_start_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failed initdb leaves no cluster, and the remains of a killed one are cleared away."""

    def interrupted(*args: object, **options: object) -> None:
        raise KeyboardInterrupt

    (tmp_path / f"{cluster.TEMPORARY_PREFIX}killed").mkdir()
    with monkeypatch.context() as patch:
        patch.setattr(cluster, "run", interrupted)
        with pytest.raises(KeyboardInterrupt):
            make(tmp_path).start()
    assert [path.name for path in tmp_path.iterdir()] == ["lock"]
    with make(tmp_path) as server:
        assert ask(server.start(), "SELECT 1") == [(1,)]


def test_a_corrupt_cluster_fails_at_once_with_the_log(used_dir: Path) -> None:
    """A server that ends while starting raises an error that says what it said.

    It is not waited for as long as for one that starts, which is two minutes here.
    """
    (used_dir / "postgres" / "global" / "pg_control").unlink()
    began = time.monotonic()
    with pytest.raises(DatabaseSetupError, match="could not find the database system"):
        make(used_dir).start()
    assert time.monotonic() - began < 60
    assert not servers_on(used_dir)


def test_a_cluster_of_another_version_is_named(tmp_path: Path) -> None:
    """The error says which Postgres made the database, and which is installed."""
    (tmp_path / "postgres").mkdir()
    if AS_ROOT:
        shutil.chown(tmp_path / "postgres", account._unprivileged()[0].uid)
    with pytest.raises(DatabaseSetupError, match="has no database"):
        make(tmp_path).start()
    (tmp_path / "postgres" / "PG_VERSION").write_text("17\n")
    with pytest.raises(DatabaseSetupError, match=r"of Postgres 17, and Postgres 18"):
        make(tmp_path).start()


def test_a_start_that_takes_too_long_is_ended(used_dir: Path) -> None:
    """Past the timeout the error says how to allow more, and no server stays behind."""
    with pytest.raises(DatabaseSetupError, match="START_TIMEOUT"):
        EmbeddedPostgres(used_dir, start_timeout=0.0).start()
    assert not servers_on(used_dir)


@needs_root
def test_root_works_beneath_closed_directories(
    open_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither data nor programs need be reachable for the server's user; no parent is changed."""
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    data_dir = closed / "data"
    data_dir.mkdir(mode=0o700)
    for part in binaries._parts(binaries.installed()):
        binaries._copy_part(binaries.installed() / part, closed / part)
    monkeypatch.setattr(binaries, "installed", lambda: closed)
    open_dir.chmod(0o755)
    monkeypatch.setattr(binaries, "CACHE", open_dir / "cache")
    parents = [closed / binaries.HOME, data_dir, *data_dir.parents]
    before = [(p.stat().st_mode, p.stat().st_uid, p.stat().st_gid) for p in parents]
    for _ in range(2):
        with make(data_dir) as server:
            assert ask(server.start(), "SELECT 1") == [(1,)]
            assert 0 not in owners_of(servers_on(data_dir))
    assert [(p.stat().st_mode, p.stat().st_uid, p.stat().st_gid) for p in parents] == before
    [copy] = (open_dir / "cache").iterdir()
    (copy / binaries.HOME / "bin" / "postgres").chmod(0o777)
    with pytest.raises(DatabaseSetupError, match="other users than root can change"):
        make(data_dir).start()


@needs_root
def test_root_refuses_an_ordinary_users_cluster(tmp_path: Path) -> None:
    """Root does not guess: a cluster that belongs to somebody else is an error that names them."""
    (tmp_path / "postgres").mkdir()
    shutil.chown(tmp_path / "postgres", ORDINARY)
    with pytest.raises(DatabaseSetupError, match=f"belongs to {ORDINARY}.*runs as root"):
        make(tmp_path).start()


def reachable_python() -> str | None:
    """An interpreter of our version that the ordinary user can run with our packages."""
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for candidate in (sys.executable, f"/usr/bin/{name}", f"/usr/local/bin/{name}"):
        try:
            tried = subprocess.run(
                [candidate, "-c", "import psycopg, remembrancer.db.embedded"],
                **as_ordinary(),
                capture_output=True,
                check=False,
            )
        except OSError:
            continue
        if tried.returncode == 0:
            return candidate
    return None


def as_ordinary() -> dict[str, Any]:
    packages = Path(psycopg.__file__).parents[1]
    user = pwd.getpwnam(ORDINARY)
    return {
        "user": user.pw_uid,
        "group": user.pw_gid,
        "extra_groups": [],
        "cwd": "/",
        "env": {"PYTHONPATH": f"{SOURCE}:{packages}", "PYTHONDONTWRITEBYTECODE": "1"},
    }


@needs_root
def test_an_ordinary_user_needs_no_privileges(open_dir: Path) -> None:
    """An ordinary user starts a server, and is told plainly when the directory was root's."""
    if (interpreter := reachable_python()) is None:
        pytest.skip(f"no Python here that {ORDINARY} can run with our packages")
    for name in ("own", "roots"):
        (open_dir / name).mkdir()
    for path in (open_dir, open_dir / "own"):
        shutil.chown(path, ORDINARY)
    with make(open_dir / "roots"):
        pass

    def start(name: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [interpreter, "-c", HOLD, str(open_dir / name)],
            **as_ordinary(),
            capture_output=True,
            text=True,
            check=False,
        )

    own, roots = start("own"), start("roots")
    assert (own.returncode, own.stderr) == (0, "")
    assert (open_dir / "own" / "postgres").owner() == ORDINARY
    assert f"cannot be started by {ORDINARY}" in roots.stderr
    assert "chown" in roots.stderr
