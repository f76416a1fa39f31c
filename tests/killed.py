"""A server, a worker and Postgres under load, of which one is killed in each round."""

import asyncio
import itertools
import random
import re
import signal
import subprocess
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

import httpx2
import psutil
import psycopg
from scripted import Json, Reply, answer, fact

WRITERS: Final = 4
_LINE: Final = re.compile(r"^\[(\d+)\] \S+ \w+ (\w+): said (\S+) (\d+)$", re.MULTILINE)
_WORDS: Final = ("amber", "brass", "cedar", "denim", "ebony", "flint", "grain", "heather", "ivory")


def finds_facts(body: Json) -> Reply:
    """A model that finds a fact in the first two lines that it is shown."""
    asked = "\n".join(str(m["content"]) for m in body["messages"] if m["role"] == "user")
    found = _LINE.findall(asked)[:2]
    facts = [fact(f"{who} owns {what} of {n}.", who, int(line)) for line, who, what, n in found]
    return answer(f"{len(found)} things.", *facts)


@dataclass
class Load:
    """Writers that repeat a request until it is acknowledged, and note what was."""

    address: str
    key: str
    memories: dict[str, dict[str, str]] = field(default_factory=dict)
    """Content of the memories by user and id."""
    messages: dict[str, dict[str, int]] = field(default_factory=dict)
    """Positions of the messages by conversation and id."""
    forgotten: set[str] = field(default_factory=set)
    acknowledged: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    """Answers and errors after which a request was repeated."""
    _numbers: Iterator[int] = field(default_factory=itertools.count)
    _ended: asyncio.Event = field(default_factory=asyncio.Event)
    _client: httpx2.AsyncClient = field(init=False)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Write until the end. A failure of a writer is one of the test."""
        headers = {"Authorization": f"Bearer {self.key}"}
        self._ended = asyncio.Event()
        async with (
            httpx2.AsyncClient(
                base_url=self.address, headers=headers, trust_env=False, timeout=60
            ) as self._client,
            asyncio.TaskGroup() as group,
        ):
            for number in range(WRITERS):
                group.create_task(self._write(number))
            yield
            self._ended.set()

    async def _ask(self, method: str, path: str, body: Any = None, *, key: str = "") -> Any:
        """What the server answers in the end; anything but "try later" is a failure."""
        headers = {"Idempotency-Key": key} if key else {}
        while True:
            try:
                found = await self._client.request(method, path, json=body, headers=headers)
            except httpx2.TransportError as error:
                self.refused[type(error).__name__] += 1
            else:
                if found.status_code != 503:
                    assert found.is_success, f"{method} {path}: {found.status_code} {found.text}"
                    self.acknowledged += method != "GET"
                    return found.json()
                self.refused["503"] += 1
            await asyncio.sleep(0.1)

    async def _write(self, number: int) -> None:
        """Remember, say, change and forget, until the end."""
        name = f"Person{number}"
        who = {"platform": "app", "platform_user_id": name, "display_name": name}
        user = (await self._ask("POST", "/api/users/resolve", who))["id"]
        opened = {"user_id": user, "platform": "app", "platform_conversation_id": name}
        talk = (await self._ask("POST", "/api/conversations", opened))["id"]
        memories = self.memories.setdefault(user, {})
        messages = self.messages.setdefault(talk, {})
        while not self._ended.is_set():
            n = next(self._numbers)
            word = _WORDS[n % len(_WORDS)]
            told = {"user_id": user, "content": f"{name} has {word} number {n}."}
            made = (await self._ask("POST", "/api/memory/", told, key=f"memory {n}"))["memory"]
            memories[made["id"]] = made["content"]
            said = {"messages": [{"content": f"said {word} {n}"}]}
            path = f"/api/conversations/{talk}/messages?user_id={user}"
            added = await self._ask("POST", path, said, key=f"message {n}")
            messages.update((each["id"], each["position"]) for each in added["messages"])
            if n % 5 == 1:
                changed = {"content": f"{name} lost {word} number {n}."}
                await self._ask("PUT", f"/api/memory/{made['id']}?user_id={user}", changed)
                memories[made["id"]] = changed["content"]
            if n % 7 == 1:
                which = {"user_id": user, "memory_ids": [made["id"]]}
                await self._ask("POST", "/api/memory/forget", which, key=f"forget {n}")
                self.forgotten.add(made["id"])
            question = {"user_id": user, "query": f"Who has {word}?"}
            await self._ask("POST", "/api/memory/recall", question)

    async def progress(self) -> float:
        """Wait until something is acknowledged that begins now; return the seconds."""
        began = time.monotonic()
        target = self.acknowledged + WRITERS + 1  # what was under way does not count
        while self.acknowledged < target:
            assert time.monotonic() - began < 240, "the server takes no writes"
            await asyncio.sleep(0.01)
        return time.monotonic() - began


@dataclass
class Running:
    """What may be killed. ``server`` and ``worker`` start one; Postgres starts itself again."""

    database_url: str
    cluster: Path
    start_server: Callable[[], subprocess.Popen[str]]
    start_worker: Callable[[], subprocess.Popen[bytes]]

    def __post_init__(self) -> None:
        self.server = self.start_server()
        self.worker = self.start_worker()

    async def kill(self, what: str) -> None:
        await getattr(self, f"_kill_{what}")()

    async def _kill_server(self) -> None:
        self.server.kill()
        await asyncio.to_thread(self.server.communicate)
        self.server = await asyncio.to_thread(self.start_server)

    async def _kill_worker(self) -> None:
        self.worker.kill()
        self.worker.wait()
        self.worker = self.start_worker()

    async def _kill_postgres(self) -> None:
        self._postmaster().kill()

    async def _kill_backend(self) -> None:
        """Kill a process of Postgres: all others start anew too."""
        with suppress(psutil.NoSuchProcess, IndexError):
            random.choice(self._postmaster().children()).kill()

    async def _kill_connections(self) -> None:
        """Postgres ends all connections, as when it is told to restart."""
        with suppress(psycopg.Error), psycopg.connect(self.database_url) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE pid <> pg_backend_pid() AND datname = current_database()"
            )

    def _postmaster(self) -> psutil.Process:
        return psutil.Process(int((self.cluster / "postmaster.pid").read_text().split()[0]))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Leave nobody behind, whatever happened."""
        for process in (self.server, self.worker):
            process.kill()
            process.communicate()

    def stop(self) -> list[float]:
        """Tell server and worker to stop; return the seconds that each took."""
        took = []
        while self.worker.poll() is not None or not _is_stoppable(self.worker.pid):
            if self.worker.poll() is not None:
                # It began while Postgres was away. Whoever keeps a worker starts it again.
                self.worker = self.start_worker()
            time.sleep(0.05)
        for process in (self.server, self.worker):
            began = time.monotonic()
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)
            took.append(time.monotonic() - began)
        return took


def _is_stoppable(pid: int) -> bool:
    """Whether a process handles SIGTERM yet: one that is told sooner ends as any program does."""
    status = Path(f"/proc/{pid}/status")
    if not status.exists():  # not on Linux, or ended
        return True
    [caught] = re.findall(r"SigCgt:\s+(\w+)", status.read_text())
    return bool(int(caught, 16) >> (signal.SIGTERM - 1) & 1)


VICTIMS: Final = ("server", "postgres", "worker", "backend", "connections")
