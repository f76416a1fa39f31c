"""Many users at once, then far too many: times, errors, memory, and how soon all is well again.

`remembrancer serve` with its embedded database, `remembrancer worker` and Locust are processes of
their own, on this machine: they share its cores. First the users of `benchmarks.load_users` send
contexts, messages and edits with pauses. Then the server gets a limit of requests per key, and a
crowd writes its first messages in one moment and goes on without a pause. At the end
`remembrancer doctor --check` looks at every row. Exit code 1 means that something did not hold.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from threading import Event, Thread
from typing import Annotated, Any

import psutil
import typer

from benchmarks.common import console, percentile, show, write
from benchmarks.words import Chat
from remembrancer import ContextQuery, ConversationCreate, MemoryCreate, Role
from remembrancer.client import Client, Retries
from remembrancer.errors import RemembrancerError
from remembrancer.keys.schemas import KeyCreate

HERE = Path(__file__).parent
LOCUST = Path(os.environ.get("LOCUST", HERE.parent / ".venv" / "load" / "bin" / "locust"))
"""In an environment of its own, which `make load` makes."""
MEMORIES = 20
"""Memories of each user at the start."""
CROWD_LIMIT = 2000
"""Requests per minute of the crowd's key."""
SAMPLE_SECONDS = 2
WARM_SHARE = 0.25
"""Share of the run in which caches and pools may still fill."""
ITEM_BYTES = 2048
"""What a search entry takes in a server that knows its owner (decision 46)."""
GROWTH_MB, GROWTH_SHARE = 8, 0.05
"""Growth that still counts as flat: the higher of the two."""
RECOVERY_SECONDS = 10
IN_A_ROW = 10

RECOVERED = "seconds from its last request until it is like that again"
ALL = "all"
ANSWERED, STORED = "first messages answered with 201", "first messages stored"

Figures = dict[str, dict[str, float]]


class Installation:
    """A data directory with its server and its worker."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self._port}"

    @contextmanager
    def running(self, **settings: str) -> Iterator["Installation"]:
        """Run the server, and beside it the worker."""
        settings = {"REMEMBRANCER_JOBS__IN_SERVER": "false"} | settings
        with ExitStack() as stack:
            server = stack.enter_context(
                self._process(["serve", "--port", str(self._port)], settings)
            )
            self._wait()
            self.admin = self.client((self.directory / "admin.key").read_text().strip())
            worker = stack.enter_context(self._process(["worker"], settings))
            self.processes = {"server": server.pid, "worker": worker.pid}
            yield self

    @contextmanager
    def _process(
        self, arguments: Sequence[str], settings: dict[str, str]
    ) -> Iterator["subprocess.Popen[bytes]"]:
        process = subprocess.Popen(
            self._command(*arguments),
            env=os.environ | settings,
            stdout=subprocess.DEVNULL,
        )
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=30)

    def _command(self, *arguments: str) -> list[str]:
        run = "from remembrancer.cli import main; main()"
        return [sys.executable, "-c", run, "--data-dir", str(self.directory), *arguments]

    def _wait(self) -> None:
        for _ in range(600):
            try:
                socket.create_connection(("127.0.0.1", self._port)).close()
            except OSError:
                time.sleep(0.1)
            else:
                return
        raise RuntimeError("the server does not start")

    def client(self, key: str) -> Client:
        """Return a client that does not try again."""
        return Client(self.url, key, retries=Retries(most=0), timeout=120)

    def is_whole(self) -> bool:
        """Say whether `doctor --check` finds nothing, and print what it finds."""
        found = subprocess.run(
            self._command("doctor", "--check"), capture_output=True, text=True, check=False
        )
        if found.returncode:
            console.print(found.stdout)
        return found.returncode == 0

    def megabytes(self) -> dict[str, float]:
        """Return the memory of each process; of Postgres without what its processes share."""
        sizes = {
            name: psutil.Process(pid).memory_info().rss / 2**20
            for name, pid in self.processes.items()
        }
        file = (self.directory / "postgres" / "postmaster.pid").read_text()
        postgres = psutil.Process(int(file.split()[0]))
        private = 0.0
        for process in [postgres, *postgres.children()]:
            try:
                private += process.memory_full_info().uss
            except psutil.NoSuchProcess:
                continue
        return sizes | {"Postgres": private / 2**20}


def fill(installation: Installation, people: int) -> dict[str, Any]:
    """Store people with their memories and a conversation, and return what Locust needs."""
    admin, chat = installation.admin, Chat(11)
    key = admin.keys.create(KeyCreate(name="load", role=Role.SERVICE)).secret
    client = installation.client(key)
    stored = []
    for number in range(people):
        name = f"User {number}"
        user = client.users.resolve(platform="load", platform_user_id=name, display_name=name).id
        talk = client.conversations.open(ConversationCreate(), user=user).id
        told = [MemoryCreate(content=chat.line()) for _ in range(MEMORIES)]
        memories = [
            result.memory.id for result in client.memories.remember_many(told, user=user).items
        ]
        stored.append({"user": str(user), "talk": str(talk), "memories": memories})
    group = ConversationCreate(platform="load", platform_conversation_id="group")
    owner = stored[0]["user"]
    talk = client.conversations.open(group, user=owner).id
    return {"url": installation.url, "key": key, "people": stored, "group": str(talk)}


def locust(store: Path, users: str, count: int, rate: int, seconds: float, pause: float) -> Figures:
    """Run users, and return the figures of each request."""
    ended = subprocess.run(
        [
            LOCUST, "-f", HERE / "load_users.py", users,
            "--headless", "--json", "--skip-log", "--reset-stats", "--stop-timeout", "300",
            "-u", str(count), "-r", str(rate), "-t", f"{seconds:.0f}s",
        ],
        env=os.environ
        | {
            "LOAD_STORE": str(store),
            "LOAD_STOPPED": str(store.with_name("stopped")),
            "LOAD_PAUSE": str(pause),
            "PYTHONPATH": str(HERE.parent),
        },
        stdout=subprocess.PIPE, check=False,
    )  # fmt: skip
    entries = json.loads(ended.stdout)
    return {entry["name"]: figures([entry]) for entry in entries} | {ALL: figures(entries)}


def figures(entries: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Return the figures of some kinds of requests together."""
    times = [
        float(ms)
        for entry in entries
        for ms, count in entry["response_times"].items()
        for _ in range(count)
    ]
    began = min(entry["start_time"] for entry in entries)
    seconds = max(entry["last_request_timestamp"] for entry in entries) - began
    requests = sum(entry["num_requests"] for entry in entries)
    return {
        "requests": requests,
        "a second": requests / max(seconds, 1),
        "p50": percentile(times, 0.5),
        "p95": percentile(times, 0.95),
        "p99": percentile(times, 0.99),
        "errors": sum(entry["num_failures"] for entry in entries),
    }


@contextmanager
def sampled(installation: Installation) -> Iterator[list[dict[str, float]]]:
    """Sample the memory of all processes meanwhile."""
    samples: list[dict[str, float]] = []
    done = Event()

    def sample() -> None:
        while not done.wait(SAMPLE_SECONDS):
            samples.append(installation.megabytes())

    thread = Thread(target=sample)
    thread.start()
    try:
        yield samples
    finally:
        done.set()
        thread.join()


def growth(samples: Sequence[dict[str, float]], entries: float) -> Figures:
    """Compare the first and the last third of the samples, after the start."""
    warm = samples[int(len(samples) * WARM_SHARE) :]
    third = max(len(warm) // 3, 1)
    result = {}
    for name in warm[0]:
        sizes = [sample[name] for sample in warm]
        first, last = median(sizes[:third]), median(sizes[-third:])
        # Between the middles of the thirds lie two thirds of the time that is left.
        known = entries * (1 - WARM_SHARE) * 2 / 3 * ITEM_BYTES / 2**20
        more = last - first - (known if name == "server" else 0)
        allowed = max(GROWTH_MB, GROWTH_SHARE * first)
        result[name] = {
            "at the start": samples[0][name], "first third": first, "last third": last,
            "most": max(sizes), "more": more, "allowed": allowed,
        }  # fmt: skip
    return result


def context_ms(client: Client, user: str) -> float:
    """Return the milliseconds of a context."""
    began = time.perf_counter()
    client.conversations.context(ContextQuery(message="Who sails on Sundays?"), user=user)
    return (time.perf_counter() - began) * 1e3


def recovery(client: Client, user: str, usual: float) -> float:
    """Return the seconds until some contexts in a row take less than twice what is usual."""
    began, good = time.perf_counter(), 0
    while good < IN_A_ROW and time.perf_counter() - began < 10 * RECOVERY_SECONDS:
        try:
            good = good + 1 if context_ms(client, user) < 2 * usual else 0
        except RemembrancerError:
            good = 0
            time.sleep(0.1)
    return time.perf_counter() - began


def busy_day(
    installation: Installation, store: Path, users: int, minutes: float, pause: float
) -> tuple[Figures, Figures]:
    """Run users with pauses: the figures of their requests, and of the memory."""
    with sampled(installation) as samples:
        requests = locust(store, "Talker", users, max(users // 10, 1), minutes * 60, pause)
    entries = sum(requests[name]["requests"] for name in ("message", "edit") if name in requests)
    return requests, growth(samples, entries)


def overload(
    installation: Installation, store: Path, crowd: int, seconds: float
) -> tuple[Figures, dict[str, float]]:
    """Run a crowd: the figures of its requests; how it was before, at the most, and after."""
    kept = json.loads(store.read_text())
    user = kept["people"][0]["user"]
    other = installation.client(
        installation.admin.keys.create(KeyCreate(name="other", role=Role.SERVICE)).secret
    )
    usual = percentile([context_ms(other, user) for _ in range(50)], 0.95)
    stopped = store.with_name("stopped")
    stopped.unlink(missing_ok=True)
    with sampled(installation) as samples, ThreadPoolExecutor() as pool:
        running = pool.submit(locust, store, "Crowd", crowd, crowd, seconds, 0)
        while not stopped.exists() and not running.done():
            time.sleep(0.02)
        recovered = recovery(other, user, usual)
        requests = running.result()
    group = other.conversations.get(kept["group"], user=user)
    return requests, {
        "p95 of a context before, ms": usual,
        RECOVERED: recovered,
        "most memory of the server, MB": max(sample["server"] for sample in samples),
        ANSWERED: requests.get("first message", {"requests": 0})["requests"],
        STORED: group.message_count,
    }


def main(
    users: Annotated[int, typer.Option(help="Users at once.", min=1)] = 200,
    minutes: Annotated[float, typer.Option(help="Minutes of the first part.")] = 20,
    pause: Annotated[float, typer.Option(help="Mean seconds between two requests of a user.")] = 4,
    crowd: Annotated[int, typer.Option(help="Users of the overload.", min=1)] = 1000,
    crowd_seconds: Annotated[float, typer.Option(help="Seconds of the overload.")] = 30,
) -> None:
    """Measure a server under load and under far too much; exit code 1 if a thing does not hold."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        installation = Installation(Path(name) / "data")
        store = Path(name) / "store.json"
        with installation.running():
            store.write_text(json.dumps(fill(installation, users)))
            day, memory = busy_day(installation, store, users, minutes, pause)
        with installation.running(REMEMBRANCER_LIMITS__REQUESTS_PER_MINUTE=str(CROWD_LIMIT)):
            flood, after = overload(installation, store, crowd, crowd_seconds)
            is_whole = installation.is_whole()
    table(f"{users} users, {minutes:g} minutes, a request of each every {pause:g} s", day)
    table("Memory, MB", memory)
    table(f"{crowd} users without a pause, {crowd_seconds:g} s", flood)
    show(
        "Before, in and after it", ["", ""], [[name, _short(each)] for name, each in after.items()]
    )
    verdicts = {
        "no errors": day[ALL]["errors"] == flood[ALL]["errors"] == 0,
        "memory is flat": all(row["more"] <= row["allowed"] for row in memory.values()),
        "first messages are stored or refused": after[ANSWERED] == after[STORED],
        f"it recovers within {RECOVERY_SECONDS} s": after[RECOVERED] <= RECOVERY_SECONDS,
        "doctor --check finds nothing": is_whole,
    }
    for text, holds in verdicts.items():
        console.print(f"[green]holds[/green]  {text}" if holds else f"[bold red]FAILS[/]  {text}")
    write("load", {"day": day, "memory": memory, "overload": flood, "after": after})
    raise typer.Exit(0 if all(verdicts.values()) else 1)


def table(title: str, rows: Figures) -> None:
    """Print a table with a line for each row."""
    columns = list(next(iter(rows.values())))
    show(title, ["", *columns], [[name, *map(_short, row.values())] for name, row in rows.items()])


def _short(value: float) -> str:
    return f"{value:,.1f}" if value < 100 and value != int(value) else f"{value:,.0f}"


if __name__ == "__main__":
    typer.run(main)
