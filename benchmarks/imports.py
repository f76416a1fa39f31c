"""An import of a large export: messages a second, memory, and how fast the same again is.

Each format and size is imported by ``remembrancer import`` into a store of its own: once until it
is killed in the middle, then to the end, then once more. Memory is the most that the process of
the command held, and the most that any process of Postgres had for itself. ``--reading`` measures
the readers alone, without a store.
"""

import asyncio
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from typing import Annotated, Any, Final
from zoneinfo import ZoneInfo

import psycopg
import typer

from benchmarks.common import Quick, console, show, store, write
from benchmarks.latency import SwitchableEmbedder
from remembrancer import Settings, as_actor
from remembrancer.db.embedded import embedded_server
from remembrancer.importers import Format, Importer, Options, open_export

SPEAKERS: Final = ("Ada", "Bob", "Cid", "Dora", "Eve")
START: Final = datetime(2020, 1, 25, tzinfo=UTC)  # a day that is no month
_HERE: Final = [sys.executable, "-m", "benchmarks.imports"]
_RUN: Final = [sys.executable, "-c", "from remembrancer.cli import main; main()"]
_WORDS: Final = Path(__file__).with_name("words.txt").read_text("utf-8").split()


def said(count: int) -> Iterator[tuple[int, str, str, datetime]]:
    """Yield the number, speaker, words and time of each message: 3 to 20 words, the same always."""
    chance = random.Random(19)
    for number in range(count):
        words = chance.choices(_WORDS, k=chance.randint(3, 20))
        at = START + timedelta(minutes=number)
        yield number, SPEAKERS[chance.randrange(5)], f"{' '.join(words).capitalize()}.", at


def jsonl(path: Path, count: int) -> None:
    """One conversation."""
    _jsonl(path, count, 1)


def jsonl_mixed(path: Path, count: int) -> None:
    """A conversation for each 100 messages, all mixed in the file."""
    _jsonl(path, count, max(count // 100, 1))


def _jsonl(path: Path, count: int, chats: int) -> None:
    with path.open("w", encoding="utf-8") as file:
        for number, name, text, at in said(count):
            line = {
                "conversation": f"c{number % chats}",
                "sender": name,
                "content": text,
                "sent_at": at.isoformat(),
                "message_id": str(number),
            }
            file.write(f"{json.dumps(line)}\n")


def telegram(path: Path, count: int) -> None:
    """One group."""
    with path.open("w", encoding="utf-8") as file:
        file.write('{"name": "Big", "type": "private_supergroup", "id": 7, "messages": [\n')
        for number, name, text, at in said(count):
            message = {
                "id": number + 1,
                "type": "message",
                "date": at.replace(tzinfo=None).isoformat(),
                "date_unixtime": str(int(at.timestamp())),
                "from": name,
                "from_id": f"user{SPEAKERS.index(name) + 1}",
                "text": text,
                "text_entities": [{"type": "plain", "text": text}],
            }
            file.write(f"{',' if number else ''}{json.dumps(message)}\n")
        file.write("]}")


def whatsapp(path: Path, count: int) -> None:
    """One group."""
    with path.open("w", encoding="utf-8") as file:
        for _, name, text, at in said(count):
            file.write(f"{at:%d/%m/%Y, %H:%M} - {name}: {text}\n")


def chatgpt(path: Path, count: int) -> None:
    """A conversation for each 50 messages."""
    with path.open("w", encoding="utf-8") as file:
        mapping: dict[str, Any] = {}
        for number, _, text, at in said(count):
            key = f"m{number}"
            mapping[key] = {
                "id": key,
                "parent": f"m{number - 1}" if number % 50 else None,
                "message": {
                    "id": key,
                    "author": {"role": "assistant" if number % 2 else "user"},
                    "create_time": at.timestamp(),
                    "content": {"content_type": "text", "parts": [text]},
                },
            }
            if number % 50 == 49 or number == count - 1:
                chat = {
                    "conversation_id": f"c{number // 50}",
                    "title": "Chat",
                    "current_node": key,
                    "mapping": mapping,
                }
                file.write(f"{',' if number >= 50 else '['}{json.dumps(chat)}\n")
                mapping = {}
        file.write("]")


def mail(path: Path, count: int) -> None:
    """A thread for each ten messages, mixed."""
    threads = max(count // 10, 1)
    with path.open("w", encoding="utf-8") as file:
        for number, name, text, at in said(count):
            begun = f"References: <{number % threads}@x>\n" if number >= threads else ""
            file.write(
                f"From {name}@x Mon Jan  1 10:00:00 2020\nFrom: {name} <{name}@x>\n"
                f"Subject: Thread\nMessage-ID: <{number}@x>\n{begun}"
                f"Date: {at:%a, %d %b %Y %H:%M:%S} +0000\n\n{text}\n\n"
            )


FORMATS: Final[dict[str, tuple[str, Callable[[Path, int], None], tuple[str, ...]]]] = {
    "jsonl": ("chat.jsonl", jsonl, ()),
    "jsonl, mixed": ("mixed.jsonl", jsonl_mixed, ()),
    "telegram": ("result.json", telegram, ()),
    "whatsapp": ("WhatsApp Chat with Big.txt", whatsapp, ("--time-zone", "UTC", "--as", "Ada")),
    "chatgpt": ("conversations.json", chatgpt, ()),
    "mail": ("mail.mbox", mail, ()),
}
"""File, maker and options by name. WhatsApp and ChatGPT need the user of the import."""
_OF_USER: Final = ("whatsapp", "chatgpt")


class Memory:
    """The most that a process held, and the most that any process of Postgres had for itself."""

    def __init__(self, pid: int, store: Path) -> None:
        self.own = self.server = 0.0
        self._pid = pid
        self._store = store
        self._ended = threading.Event()
        self._watch = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> "Memory":
        self._watch.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._watch.join()

    def _look(self) -> None:
        while not self._ended.wait(0.5):
            self.own = max(self.own, _status(self._pid, "VmHWM"))
            for file in self._store.rglob("postmaster.pid"):
                for pid in _children(int(file.read_text("utf-8").split()[0])):
                    self.server = max(self.server, _status(pid, "RssAnon"))


def _status(pid: int, name: str) -> float:
    """Return a number of a process in megabytes."""
    try:
        text = Path(f"/proc/{pid}/status").read_text("utf-8")
    except OSError:
        return 0
    found = re.search(rf"^{name}:\s+(\d+) kB", text, re.MULTILINE)
    return int(found[1]) / 1024 if found else 0


def _children(pid: int) -> list[int]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text("utf-8")
    except OSError:
        return []
    return [int(child) for child in children.split()]


def measured(name: str, count: int, *, model: bool) -> dict[str, float]:
    """Import an export of so many messages, killed once in the middle, and then again."""
    file_name, make, options = FORMATS[name]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
        file, data = Path(directory, file_name), Path(directory, "store")
        make(file, count)
        server = embedded_server(Settings(data_dir=data))
        url = server.start()
        command = [*_RUN, "--data-dir", str(data)]
        try:
            user = [*command, "users", "resolve", "web", "ada", "--name", "Ada"]
            subprocess.run(user, check=True, capture_output=True)
            if name in _OF_USER:
                options = (*options, "--user", "Ada")
            command = [*command, "import", *options, str(file)]
            if not model:
                command = [*_HERE, "--without-model", str(file), "--database-url", url]
            _kill_amid(command, url, count)
            rest = _imported(command, data)
            again = _imported(command, data)
        finally:
            server.stop()
        assert (rest.added + rest.skipped, again.skipped) == (count, count)
        return {
            "messages": count,
            "file, MB": file.stat().st_size / 1e6,
            "stored when killed": rest.skipped,
            "stored, a second": rest.added / rest.seconds,
            "skipped, a second": count / again.seconds,
            "stored, a processor second": rest.added / rest.processor_seconds,
            "skipped, a processor second": count / again.processor_seconds,
            "command, MB": max(rest.own, again.own),
            "Postgres, MB": max(rest.server, again.server),
        }


@dataclass(frozen=True, slots=True)
class Run:
    """An import: its counts, the time of the command, and the most memory."""

    added: int
    skipped: int
    seconds: float
    processor_seconds: float
    own: float
    server: float


def _kill_amid(command: list[str], url: str, count: int) -> None:
    running = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    with psycopg.connect(url, autocommit=True) as connection:
        # The conversations count their messages; the messages take a second to count.
        query = "SELECT coalesce(sum(message_count), 0) FROM conversations"
        while running.poll() is None:
            [[stored]] = connection.execute(query).fetchall()
            if stored > count / 2:
                running.kill()
            time.sleep(0.1)


def _imported(command: list[str], data: Path) -> Run:
    began, before = time.monotonic(), getrusage(RUSAGE_CHILDREN)
    running = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    with Memory(running.pid, data) as memory:
        out, _ = running.communicate()
    seconds, after = time.monotonic() - began, getrusage(RUSAGE_CHILDREN)
    assert running.returncode == 0, out
    _, added, skipped, *_ = (int(line.split()[0].replace(",", "")) for line in out.splitlines())
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Run(added, skipped, seconds, used, memory.own, memory.server)


async def _without_model(file: Path, url: str) -> None:
    """Import as the command does, with random vectors."""
    async with store(url, wrap=SwitchableEmbedder) as memory:
        [user] = (await memory.users.list(as_actor(), limit=1)).items
        options = Options(me="Ada", time_zone=ZoneInfo("UTC"))
        export = open_export(file, options=options if file.suffix == ".txt" else None)
        of_user = file.suffix == ".txt" or file.name == "conversations.json"
        importer = Importer(memory, as_actor(user if of_user else None), lambda _: None)
        await importer.check(export)
        await importer.store(export)
        result = importer.result
        print(f"{result.conversations}\n{result.messages_added}\n{result.messages_skipped}")


def read(name: str, count: int) -> dict[str, float]:
    """Read an export to its end in a process of its own."""
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory, FORMATS[name][0])
        FORMATS[name][1](file, count)
        command = [*_HERE, "--one", str(file)]
        out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        seconds, megabytes = map(float, out.split())
        return {
            "messages": count,
            "file, MB": file.stat().st_size / 1e6,
            "read, a processor second": count / seconds,
            "command, MB": megabytes,
        }


def _one(file: Path) -> None:
    began = time.process_time()
    options = Options(me="Ada", time_zone=ZoneInfo("UTC"))
    for transcript in open_export(file, Format.AUTO, options).transcripts():
        for _ in transcript.messages():
            pass
    print(time.process_time() - began, _status(os.getpid(), "VmHWM"))


def main(
    messages: Annotated[
        list[int] | None, typer.Option(help="Sizes; repeat it for several.")
    ] = None,
    format: Annotated[  # noqa: A002
        list[str] | None, typer.Option(help=f"Of {', '.join(FORMATS)}; all unless given.")
    ] = None,
    model: Annotated[
        bool, typer.Option(help="Without, vectors are random: for memory at large sizes.")
    ] = True,
    reading: Annotated[bool, typer.Option(help="The readers alone, without a store.")] = False,
    quick: Quick = False,
    one: Annotated[Path | None, typer.Option(hidden=True)] = None,
    without_model: Annotated[Path | None, typer.Option(hidden=True)] = None,
    database_url: Annotated[str | None, typer.Option(hidden=True)] = None,
) -> None:
    """Measure imports of large exports."""
    if one is not None:
        _one(one)
        return
    if without_model is not None:
        asyncio.run(_without_model(without_model, database_url or ""))
        return
    sizes = messages or ([2_000] if quick else [1_000_000])
    runs = []
    for name in format or FORMATS:
        for count in sizes:
            run = read(name, count) if reading else measured(name, count, model=model)
            console.print(name, run)
            runs.append({"format": name, **run})
    for run in runs:
        show(f"{run['format']}, {run['messages']:,}", ("", ""), [*run.items()][2:])
    write("imports-read" if reading else "imports", {"benchmark": "imports", "runs": runs})


if __name__ == "__main__":
    typer.run(main)
