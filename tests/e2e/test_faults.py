"""What breaks beneath and beside the server: processes, disks, clocks, endpoints."""

import asyncio
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import httpx2
import psutil
import psycopg
import pytest
from endpoint import Answer, listening
from helpers import Store, free_port, rows
from killed import VICTIMS, Load, Running, finds_facts
from scripted import Scripted
from sqlalchemy import make_url
from test_cli_serve import COMMAND, QUIET, address_in, processes_in, start

import remembrancer
from remembrancer import (
    ConversationCreate,
    MemoryUpdate,
    MessageCreate,
    Remembrancer,
    User,
    as_actor,
)
from remembrancer.cli import main
from remembrancer.cli.http_server import STOP_SECONDS
from remembrancer.db.embedded import EmbeddedPostgres
from remembrancer.db.engine import Database
from remembrancer.errors import DatabaseUnavailable
from remembrancer.integrity import check
from remembrancer.jobs.queue import SUMMARISE
from remembrancer.jobs.worker import Worker
from remembrancer.settings import JobSettings

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")

OURS: Final = {
    "REMEMBRANCER_LOG_LEVEL": "error",
    "REMEMBRANCER_EMBEDDING__THREADS": "1",
    "REMEMBRANCER_BUDGET__TOKENS": "0",
    "REMEMBRANCER_JOBS__IN_SERVER": "false",
    "REMEMBRANCER_JOBS__HEARTBEAT": "0.2",
    "REMEMBRANCER_JOBS__FIRST_WAIT": "0.1",
    "REMEMBRANCER_JOBS__SWEEP": "1",
    "REMEMBRANCER_SUMMARIES__BATCH": "4",
    "REMEMBRANCER_LLM__MODEL": "openai:scripted",
}
STOP: Final = 60
"""Seconds in which everything stops on a slow machine, where a signal comes late."""
CHECKED: Final = 25
"""Rounds after which all that was acknowledged is looked for."""


@pytest.fixture
def postgres(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A Postgres that loses nothing, its cluster and address."""
    with EmbeddedPostgres(tmp_path / "store", shared_buffers="64MB") as server:
        yield tmp_path / "store" / "postgres", server.start()


# Killed -------------------------------------------------------------------------------------


@pytest.mark.parametrize("rounds", [10, pytest.param(200, marks=pytest.mark.soak)])
def test_whatever_is_killed_under_load_nothing_is_lost(
    postgres: tuple[Path, str],
    tmp_path: Path,
    model: Scripted,
    rounds: int,
) -> None:
    """Server, worker, Postgres: each write that was acknowledged is there, once; rows are whole."""
    cluster, url = postgres
    model.said = finds_facts
    port = str(free_port())
    ours = OURS | {"REMEMBRANCER_LLM__BASE_URL": model.base_url}
    options = ["--database-url", url]
    data = tmp_path / "data"

    def server() -> subprocess.Popen[str]:
        return start(data, "--port", port, options=options, **ours)[0]

    def worker() -> subprocess.Popen[bytes]:
        command = [*COMMAND, "--data-dir", str(data), *options, "worker"]
        return subprocess.Popen(command, env=QUIET | ours, stdout=subprocess.DEVNULL)

    with Running(url, cluster, server, worker) as running:
        load = Load(f"http://127.0.0.1:{port}", (data / "admin.key").read_text().strip())
        asyncio.run(_rounds(running, load, rounds))
        took = running.stop()
    with pytest.raises(SystemExit) as checked:
        main(["--data-dir", str(data), *options, "doctor", "--check"])
    print(f"acknowledged: {load.acknowledged:,} writes; repeated: {dict(load.refused)}")
    print(f"stopped: server in {took[0]:.1f} s, worker in {took[1]:.1f} s")
    assert not checked.value.code
    assert max(took) < STOP
    assert (running.server.returncode, running.worker.returncode) == (0, 0)


async def _rounds(running: Running, load: Load, rounds: int) -> None:
    victims = [VICTIMS[n % len(VICTIMS)] for n in range(rounds)]
    random.shuffle(victims)
    for first in range(0, rounds, CHECKED):
        async with load.running():
            await load.progress()
            for number, victim in enumerate(victims[first : first + CHECKED], first + 1):
                await asyncio.sleep(random.uniform(0, 0.2))
                began = time.monotonic()
                await running.kill(victim)
                await load.progress()
                back = time.monotonic() - began
                print(f"round {number}: {victim} killed, writes after {back:.1f} s", flush=True)
        await _all_work_done(running.database_url)
        await _nothing_lost(load, running.database_url)


async def _all_work_done(url: str) -> None:
    """The worker goes on with what its predecessors left."""
    left = (
        "SELECT (SELECT count(*) FROM jobs.procrastinate_jobs WHERE status IN ('todo', 'doing'))"
        " + (SELECT count(*) FROM conversations WHERE message_count - summarised_to > 30)"
    )
    deadline = time.monotonic() + 120
    while await asyncio.to_thread(_ask, url, left) != [(0,)]:
        assert time.monotonic() < deadline, "the worker leaves something undone"
        await asyncio.sleep(0.1)


async def _nothing_lost(load: Load, url: str) -> None:
    """Each acknowledged write is there, once, in its last state; and every row is whole."""
    memories = "SELECT CAST(owner_id AS text), id, content, status FROM memories"
    found = {(owner, id_): (text, status) for owner, id_, text, status in _ask(url, memories)}
    for owner, contents in load.memories.items():
        for id_, content in contents.items():
            text, status = found[owner, id_]
            assert text == content
            assert (status == "forgotten") == (id_ in load.forgotten)
    twice = Counter((owner, text) for (owner, _), (text, _) in found.items())
    assert max(twice.values()) == 1
    messages = "SELECT CAST(conversation_id AS text), CAST(id AS text), position FROM messages"
    positions = {(talk, id_): position for talk, id_, position in _ask(url, messages)}
    for talk, said in load.messages.items():
        assert {id_: positions[talk, id_] for id_ in said} == said
    gaps = (
        "SELECT 1 FROM messages GROUP BY conversation_id"
        " HAVING min(position) <> 1 OR max(position) <> count(*)"
        " OR count(DISTINCT content) <> count(*)"
    )
    assert _ask(url, gaps) == []
    database = Database(url)
    try:
        assert await check(database) == []
    finally:
        await database.close()


# Stopped ------------------------------------------------------------------------------------


def _stopped(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Tell a process to stop, which it does after STOP_SECONDS; return its code and words."""
    assert STOP_SECONDS < 10  # what a container has
    process.send_signal(signal.SIGTERM)
    try:
        _, told = process.communicate(timeout=STOP)
    finally:
        process.kill()
    return process.returncode, told


@contextmanager
def _asking(address: str, key: str, *requests: tuple[str, Any]) -> Iterator[None]:
    """Requests that nobody answers, each with its connection."""
    with ExitStack() as stack:
        for path, body in requests:
            host, _, port = address.removeprefix("http://").partition(":")
            connection = stack.enter_context(socket.create_connection((host, int(port))))
            sent = json.dumps(body).encode()
            connection.sendall(
                f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(sent)}\r\n\r\n".encode()
                + sent
            )
        yield


def test_case_56_a_server_stops_while_its_models_hang(tmp_path: Path) -> None:
    """Embeddings and language model take requests and never answer: a job and requests wait."""
    hanging, released = threading.Event(), threading.Event()

    def vectors(body: dict[str, Any]) -> Answer:
        if hanging.is_set():
            released.wait(60)
        rows = [{"index": n, "embedding": [1, n] + 6 * [0]} for n in range(len(body["input"]))]
        return 200, {}, {"data": rows}

    def silence(_: dict[str, Any]) -> Answer:
        released.wait(60)
        return 500, {}, {}

    with listening(vectors) as embeddings, listening(silence) as model:
        process, said = start(
            tmp_path / "data",
            REMEMBRANCER_EMBEDDING__PROVIDER="openai",
            REMEMBRANCER_EMBEDDING__MODEL="m",
            REMEMBRANCER_EMBEDDING__DIMENSIONS="8",
            REMEMBRANCER_EMBEDDING__BASE_URL=embeddings.url,
            REMEMBRANCER_LLM__MODEL="openai:m",
            REMEMBRANCER_LLM__BASE_URL=model.url,
        )
        address, key = address_in(said), (tmp_path / "data" / "admin.key").read_text().strip()
        with httpx2.Client(
            base_url=address,
            headers={"Authorization": f"Bearer {key}"},
            trust_env=False,
            timeout=120,
        ) as client:
            who = {"platform": "app", "platform_user_id": "ada", "display_name": "Ada"}
            user = client.post("/api/users/resolve", json=who).json()["id"]
            talk = client.post("/api/conversations", json={"user_id": user}).json()["id"]
            messages = {"messages": [{"content": f"word {n}"} for n in range(40)]}
            path = f"/api/conversations/{talk}/messages?user_id={user}"
            assert client.post(path, json=messages).is_success
        _until(lambda: len(model.bodies) == 1)  # the job
        hanging.set()
        embedded = len(embeddings.bodies)
        told = {"user_id": user, "content": "Ada drinks tea."}
        asked = {"user_id": user, "query": "What does Ada drink?"}
        with _asking(
            address,
            key,
            ("/api/memory/", told),
            ("/api/memory/recall", asked),
            (f"/api/conversations/{talk}/summarize?user_id={user}", {}),
        ):
            _until(lambda: len(embeddings.bodies) >= embedded + 2 and len(model.bodies) >= 2)
            code, said = _stopped(process)
        released.set()
    assert (code, "Traceback" in said) == (0, False), said
    assert not processes_in(tmp_path / "data")


def test_case_56_a_server_stops_while_its_database_is_frozen(tmp_path: Path) -> None:
    """No process of Postgres does anything: neither requests nor the last writes get an answer."""
    process, said = start(tmp_path / "data")
    key = (tmp_path / "data" / "admin.key").read_text().strip()
    postmaster = psutil.Process(_postmaster(tmp_path / "data"))
    frozen = [postmaster, *postmaster.children()]
    for each in frozen:
        each.suspend()
    try:
        with _asking(address_in(said), key, ("/api/memory/recall", {"query": "tea"})):
            code, told = _stopped(process)
    finally:
        for each in frozen:
            with suppress(psutil.NoSuchProcess):
                each.resume()
    assert code in {0, 1}
    assert "Traceback" not in told
    _until(lambda: not processes_in(tmp_path / "data"))


def test_case_56_a_start_that_waits_for_a_database_is_stopped(tmp_path: Path) -> None:
    """Something takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"postgresql://nobody@127.0.0.1:{silent.getsockname()[1]}/none"
        process = subprocess.Popen(
            [*COMMAND, "--data-dir", str(tmp_path), "--database-url", address, "serve"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=QUIET,
        )
        with silent.accept()[0]:
            code, told = _stopped(process)
    assert code in {0, 1}
    assert "Traceback" not in told


def _postmaster(data_dir: Path) -> int:
    return int((data_dir / "postgres" / "postmaster.pid").read_text().split()[0])


def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.02)


# Disks --------------------------------------------------------------------------------------


class Disk:
    """A small file system that only its own processes see: it goes with the last of them."""

    def __init__(self, place: Path, megabytes: int) -> None:
        place.mkdir()
        self.place = place
        mount = f'mount -t tmpfs -o size={megabytes}m,mode=755 none "$0" && echo ready'
        unshare = ["unshare", "--mount", "--propagation", "private", "/bin/sh", "-c"]
        self._holder = subprocess.Popen(
            [*unshare, f"{mount} && exec sleep 3600", str(place)], stdout=subprocess.PIPE, text=True
        )
        assert self._holder.stdout
        self.is_there = self._holder.stdout.readline() == "ready\n"
        self.inside = ["nsenter", "--mount", "--target", str(self._holder.pid), "--"]

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self.inside, *command],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            env=_ANYWHERE,
        )

    def remembrancer(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.run(*COMMAND, "--data-dir", str(self.place), *arguments)

    def fill(self) -> None:
        self.run("dd", "if=/dev/zero", f"of={self.place}/fill", "bs=64k")

    def clear(self) -> None:
        self.run("rm", f"{self.place}/fill")

    def close(self) -> None:
        self._holder.kill()
        self._holder.communicate()


_ANYWHERE: Final = QUIET | {"PYTHONPATH": str(Path(remembrancer.__file__).parents[1])}
"""For commands whose working directory is another one."""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    if os.geteuid() != 0 or not shutil.which("unshare") or not shutil.which("nsenter"):
        pytest.skip("NOT TESTED: a full disk and a read-only one; that needs root and util-linux")
    disk = Disk(tmp_path / "disk", megabytes=128)
    try:
        if not disk.is_there:
            pytest.skip("NOT TESTED: a full disk and a read-only one; nothing may be mounted here")
        yield disk
    finally:
        disk.close()


def test_a_full_disk_and_a_read_only_one_lose_nothing(disk: Disk) -> None:
    """Writes are refused, reads answered; with room again all goes on. A start names the disk."""
    ours = _ANYWHERE | {"REMEMBRANCER_DATABASE__SHARED_BUFFERS": "16MB"}
    process, said = start(disk.place, inside=disk.inside, **ours)
    key = disk.run("cat", f"{disk.place}/admin.key").stdout.strip()
    with httpx2.Client(
        base_url=address_in(said),
        headers={"Authorization": f"Bearer {key}"},
        trust_env=False,
        timeout=120,
    ) as client:
        who = {"platform": "app", "platform_user_id": "ada", "display_name": "Ada"}
        user = client.post("/api/users/resolve", json=who).json()["id"]
        talk = client.post("/api/conversations", json={"user_id": user}).json()["id"]
        path = f"/api/conversations/{talk}/messages?user_id={user}"
        stored = []

        def say() -> int:
            content = f"{len(stored)} {random.randbytes(3000).hex()}"
            answer = client.post(path, json={"messages": [{"content": content}]})
            if answer.is_success:
                stored.append(content)
            return answer.status_code

        assert say() == 201
        disk.fill()
        refused = next(status for status in (say() for _ in range(3000)) if status != 201)
        assert refused == 503
        assert client.get(path).status_code == 200
        disk.clear()
        _until(lambda: say() == 201)
        last = client.get(path, params={"last": 2}).json()["items"]
        assert [each["content"] for each in last] == stored[-2:]
        disk.fill()
    code, told = _stopped(process)
    assert code == 0, told
    full = disk.remembrancer("serve", "--port", "0")
    assert (full.returncode, "No space left on device" in full.stderr) == (2, True), full.stderr
    disk.clear()
    assert disk.run("mount", "-o", "remount,ro", str(disk.place)).returncode == 0
    read_only = disk.remembrancer("serve", "--port", "0")
    assert read_only.returncode == 2, read_only.stderr
    assert "read-only file system" in read_only.stderr.lower()
    assert disk.run("mount", "-o", "remount,rw", str(disk.place)).returncode == 0
    checked = disk.remembrancer("doctor", "--check")
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_a_command_that_cannot_write_says_so() -> None:
    """What it prints goes to a full disk."""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*COMMAND, "--version"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    told = "error: cannot write: no space left on device\n"
    assert (done.returncode, done.stderr) == (2, told)


# Clocks -------------------------------------------------------------------------------------


def _shift(step: str) -> None:
    """Move every moment in the store, as if all had been written by a clock that went wrong."""
    moments = rows(
        "SELECT quote_ident(table_schema) || '.' || quote_ident(table_name),"
        " array_agg(CAST(column_name AS text))"
        " FROM information_schema.columns JOIN information_schema.tables AS t"
        " USING (table_schema, table_name) WHERE data_type = 'timestamp with time zone'"
        " AND table_schema IN ('public', 'jobs') AND t.table_type = 'BASE TABLE'"
        " AND table_name NOT LIKE 'audit_log%' GROUP BY 1"
    )
    with psycopg.connect(Store.url, autocommit=True) as owner:
        owner.execute("SET session_replication_role = replica")
        for table, columns in moments:
            changes = ", ".join(f"{name} = {name} + interval '{step}'" for name in columns)
            owner.execute(f"UPDATE {table} SET {changes}")


@pytest.mark.parametrize("step", ["1 day", "-1 day"], ids=["set back", "set forward"])
async def test_a_clock_that_is_set_loses_and_hides_nothing(
    memory: Remembrancer, ada: User, step: str
) -> None:
    """What was written by a clock a day ahead, or a day behind, is recalled, changed and done."""
    actor = as_actor(ada)
    made = await memory.remember("Ada plays the theremin.", user=ada)
    said = [MessageCreate(content=f"word {n}") for n in range(40)]
    talks = [await memory.conversations.open(actor, ConversationCreate()) for _ in range(2)]
    for talk in talks:
        await memory.conversations.append(actor, talk.id, said)
    # A worker died with one job, and the other waits for its next try.
    rows("UPDATE jobs.procrastinate_jobs SET scheduled_at = now()")
    [(worker,)] = rows("INSERT INTO jobs.procrastinate_workers DEFAULT VALUES RETURNING id")
    taken = "UPDATE jobs.procrastinate_jobs SET status = 'doing', worker_id = %s WHERE lock LIKE %s"
    rows(taken, worker, f"%{talks[0].id}")
    _shift(step)
    question = "Which instrument does Ada play?"
    assert (await memory.recall(question, user=ada)).hits[0].content == "Ada plays the theremin."
    change = MemoryUpdate(content="Ada plays the cello.")
    assert (await memory.memories.update(actor, made.memory.id, change)).version == 2
    hits = (await memory.recall(question, user=ada)).hits
    assert [hit.content for hit in hits if "play" in hit.content] == [change.content]
    assert [each.content for each in (await memory.memories.list(actor)).items] == [change.content]
    more = await memory.conversations.append(actor, talk.id, [MessageCreate(content="at last")])
    assert more.messages[0].position == 41
    settings = JobSettings(first_wait=0, heartbeat=0.5)
    tasks = {SUMMARISE: memory.summaries.job}
    await Worker(memory.database, settings, tasks, {}).run(once=True)
    await asyncio.sleep(2.5)  # a worker is silent for four heartbeats
    await Worker(memory.database, settings, tasks, {}).run(once=True)
    left = rows("SELECT CAST(status AS text), count(*) FROM jobs.procrastinate_jobs GROUP BY 1")
    assert [status for status, _ in left] == ["succeeded"]
    assert await check(memory.database) == []


async def test_a_database_that_only_reads_is_unavailable(memory: Remembrancer, ada: User) -> None:
    """As after a switch to a standby: reads are answered, writes may be tried again."""
    await memory.remember("Ada plays the theremin.", user=ada)
    name = make_url(Store.url).database
    database = Database(memory.database.url)
    standby = Remembrancer(memory.settings, database, memory.embedder)
    try:
        rows(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        assert (await standby.recall("instrument", user=ada)).hits
        with pytest.raises(DatabaseUnavailable, match="cannot be written"):
            await standby.remember("Ada plays the cello.", user=ada)
    finally:
        rows(f"ALTER DATABASE {name} RESET default_transaction_read_only")
        await database.close()


def _ask(url: str, statement: str) -> list[Any]:
    with psycopg.connect(url) as connection:
        return connection.execute(statement).fetchall()
