"""The times of single writes and bulk writes without embedding, and of the start.

``--against`` names the source tree of another version. Then both are measured alternately, each
part in a process of its own, and the ratio counts: milliseconds depend on the machine.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import typer

from benchmarks.common import Quick, console, percentile, show, store, write
from benchmarks.latency import BenchmarkStore, SwitchableEmbedder
from benchmarks.probes import round_trips
from remembrancer import MemoryCreate, MessageCreate, Remembrancer, as_actor

OWN_ITEMS = 500
BATCH = 500
PORT = 18_765
HERE = Path(__file__).parents[1]

_RUN = [sys.executable, "-c", "from remembrancer.cli import main; main()"]


async def writes(repeat: int, bulk: int) -> dict[str, float]:
    """Measure a user with some items, on a new store without a token budget."""
    async with store(None, wrap=SwitchableEmbedder) as memory:
        bench = BenchmarkStore(memory, repeat)
        user, talk = await bench.user("writes")
        actor, chat = as_actor(user), bench.chat
        await bench.fill(user, talk, OWN_ITEMS, lambda _: None)
        await bench.settle()
        result = {
            "remember p50, ms": percentile(await bench.remember_ms(user), 0.5),
            "append p50, ms": percentile(await bench.append_ms(user, talk), 0.5),
        }
        messages = [MessageCreate(content=line) for line in chat.lines(bulk)]
        statements = [MemoryCreate(content=line) for line in chat.lines(bulk // 4)]

        async def append(memory: Remembrancer) -> None:
            for start in range(0, bulk, BATCH):
                await memory.conversations.append(actor, talk, messages[start : start + BATCH])

        async def remember(memory: Remembrancer) -> None:
            for start in range(0, len(statements), BATCH):
                await memory.memories.remember_many(actor, statements[start : start + BATCH])

        result["append in bulk, a second"] = bulk / await _seconds(append(memory))
        result["remember in bulk, a second"] = len(statements) / await _seconds(remember(memory))
        single: dict[str, Callable[[Remembrancer], Awaitable[Any]]] = {
            "remember": lambda m: m.remember(chat.line(), user=user),
            "append": lambda m: m.conversations.append(
                actor, talk, [MessageCreate(content=chat.line())]
            ),
        }
        for name, work in single.items():
            result[f"{name}, round trips"] = await round_trips(memory, work)
        return result


async def _seconds(work: Awaitable[None]) -> float:
    began = time.perf_counter()
    await work
    return time.perf_counter() - began


def starts(data_dir: Path) -> dict[str, float]:
    """Measure the help, and a server and MCP from the launch to the first answer."""
    environment = {**os.environ, "REMEMBRANCER_DATA_DIR": str(data_dir)}

    def launch(*arguments: str, **pipes: Any) -> "subprocess.Popen[bytes]":
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **pipes}
        return subprocess.Popen([*_RUN, *arguments], env=environment, **quiet)

    def answer_of_help() -> float:
        began = time.perf_counter()
        launch("--help").wait()
        return time.perf_counter() - began

    def answer_of_server() -> tuple[float, float]:
        began = time.perf_counter()
        server = launch("serve", "--port", str(PORT))
        while not _is_up():
            time.sleep(0.005)
        seconds = time.perf_counter() - began
        time.sleep(2)
        status = Path(f"/proc/{server.pid}/status").read_text("utf-8")
        [resident] = [line for line in status.splitlines() if line.startswith("VmRSS")]
        server.send_signal(signal.SIGTERM)
        server.wait()
        return seconds, int(resident.split()[1]) / 1024

    def answer_of_mcp() -> float:
        began = time.perf_counter()
        server = launch("mcp", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert server.stdin
        assert server.stdout
        for request in _MCP:
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **request}).encode() + b"\n")
        server.stdin.flush()
        server.stdout.readline()
        server.stdout.readline()
        seconds = time.perf_counter() - began
        server.stdin.close()
        server.wait()
        return seconds

    answer_of_server()  # makes the store
    help_seconds = answer_of_help()
    seconds, megabytes = answer_of_server()
    return {
        "help, s": help_seconds,
        "serve, s": seconds,
        "mcp, s": answer_of_mcp(),
        "serve idle, MB": megabytes,
    }


_MCP = (
    {
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "benchmark", "version": "1"},
        },
    },
    {"method": "notifications/initialized"},
    {"id": 2, "method": "tools/list"},
)


def _is_up() -> bool:
    try:
        urllib.request.urlopen(f"http://127.0.0.1:{PORT}/healthz", timeout=30)
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
    return True


def measured(source: Path, repeat: int, bulk: int) -> dict[str, float]:
    """Measure one version in processes of its own."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(source), str(HERE)]),
        # A start with modules that nobody has compiled is that of no installation.
        "PYTHONDONTWRITEBYTECODE": "",
    }
    command = [sys.executable, "-m", "benchmarks.writes", "--one", f"{repeat},{bulk}"]
    output = subprocess.run(command, env=environment, check=True, capture_output=True)
    result: dict[str, float] = json.loads(output.stdout.splitlines()[-1])
    return result


def main(
    against: Annotated[
        Path | None, typer.Option(help="The directory src of another version.")
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Runs of each version.")] = 3,
    repeat: Annotated[int, typer.Option(min=5, help="Single writes of a run.")] = 100,
    bulk: Annotated[int, typer.Option(min=500, help="Messages of the bulk.")] = 5000,
    quick: Quick = False,
    one: Annotated[str | None, typer.Option(hidden=True)] = None,
) -> None:
    """Measure writes and starts; with another version, both alternately, and their ratio."""
    if one is not None:
        repeat, bulk = map(int, one.split(","))
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
            result = {**asyncio.run(writes(repeat, bulk)), **starts(Path(directory))}
        typer.echo(json.dumps(result))
        return
    if quick:
        rounds, repeat, bulk = 1, 20, 1000
    sources = {"old": against} if against else {}
    sources["new"] = HERE / "src"
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in sources}
    for _ in range(rounds):
        for name, source in sources.items():
            runs[name].append(measured(source, repeat, bulk))
    medians = {
        name: {row: median(run[row] for run in each) for row in each[0]}
        for name, each in runs.items()
    }
    rows = [
        [row, *(medians[name][row] for name in medians), medians["new"][row] / medians[first][row]]
        for first in list(medians)[:1]
        for row in medians["new"]
    ]
    show("Writes and start", ["", *medians, "ratio"], rows)
    console.print(f"medians of {rounds} runs each, alternately")
    write("writes", {"benchmark": "writes", "rounds": rounds, "runs": runs, "medians": medians})


if __name__ == "__main__":
    typer.run(main)
