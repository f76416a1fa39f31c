"""MCP: the time to the first answer of a tool, and the resources after thousands of calls.

Both use the official client. The start is of a process on an existing data directory; its processor
time is the time on an idle machine.
"""

import asyncio
import os
import resource
import socket
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

import httpx2
import psutil
import psycopg
import typer
import uvicorn
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from sqlalchemy import make_url

from benchmarks.common import console, percentile, progress, show, write
from remembrancer import Actor, Remembrancer, ResolveUser, Role, as_actor
from remembrancer.api import create_app
from remembrancer.keys.schemas import KeyCreate

REQUESTS = (
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",'
    b'"capabilities":{},"clientInfo":{"name":"benchmark","version":"1"}}}\n'
    b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
    b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"memory_recall",'
    b'"arguments":{"query":"Where does Ada live?"}}}\n'
)


async def first_answer(data_dir: Path) -> dict[str, float]:
    """Start ``remembrancer mcp``; return the times of its answers and of the processor."""
    began = time.perf_counter()
    process = await asyncio.create_subprocess_exec(
        str(Path(sys.executable).with_name("remembrancer")),
        "--data-dir",
        str(data_dir),
        "mcp",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin
    assert process.stdout
    process.stdin.write(REQUESTS)
    await process.stdout.readline()
    greeted = time.perf_counter() - began
    answer = await process.stdout.readline()
    answered = time.perf_counter() - began
    assert b'"found"' in answer, answer
    spent = psutil.Process(process.pid).cpu_times()
    process.stdin.close()
    await process.wait()
    return {"greeted": greeted, "answered": answered, "processor": spent.user + spent.system}


async def starts(count: int) -> list[dict[str, float]]:
    """Start several times on one data directory; the first start does not count."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        data_dir = Path(scratch) / "data"
        await first_answer(data_dir)
        return [await first_answer(data_dir) for _ in range(count)]


@asynccontextmanager
async def serving(memory: Remembrancer) -> AsyncIterator[str]:
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(create_app(memory), log_config=None, access_log=False))
    running = asyncio.create_task(server.serve(sockets=[listener]))
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    server.should_exit = True
    await running


def resources(url: str) -> dict[str, Any]:
    """Return the resources of this process and its database."""
    with psycopg.connect(url) as connection:
        [[sessions]] = connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
            " AND pid <> pg_backend_pid()"
        ).fetchall()
    process = psutil.Process()
    return {
        "RSS, MiB": round(process.memory_info().rss / 2**20, 1),
        "Postgres sessions": sessions,
        "tasks": len(asyncio.all_tasks()),
        "threads": process.num_threads(),
        "open files": process.num_fds(),
    }


async def many_calls(count: int) -> list[dict[str, Any]]:
    """Call tools ``count`` times over HTTP; return the resources in between."""
    samples = []
    times = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        async with Remembrancer.open(scratch) as memory, serving(memory) as url:
            request = ResolveUser(platform="x", platform_user_id="1", display_name="Ada")
            ada = await memory.users.resolve(as_actor(), request)
            key = KeyCreate(name="benchmark", role=Role.USER, user_id=ada.id)
            created = await memory.keys.create(Actor(Role.ADMIN), key)
            headers = {"Authorization": f"Bearer {created.secret}"}
            await memory.remember("Ada lives in Lisbon", user=ada)
            with progress() as bar:
                task = bar.add_task("calls", total=count)
                calls = 0
                while calls < count:
                    async with (
                        httpx2.AsyncClient(headers=headers) as http,
                        Client(streamable_http_client(f"{url}/mcp", http_client=http)) as client,
                    ):
                        for _ in range(min(500, count - calls)):
                            began = time.perf_counter()
                            # One write of a known statement for nine reads.
                            if calls % 10:
                                await client.call_tool(
                                    "memory_recall", {"query": f"Ada {calls % 97}"}
                                )
                            else:
                                statement = {"content": "Ada lives in Lisbon", "category": "person"}
                                await client.call_tool("add_to_memory", statement)
                            times.append(time.perf_counter() - began)
                            calls += 1
                            bar.advance(task)
                    samples.append({"calls": calls} | resources(_plain(memory.database.url)))
    console.print(f"a call takes {percentile(times, 0.5) * 1000:.1f} ms (median)")
    return samples


def _plain(address: Any) -> str:
    return make_url(address).set(drivername="postgresql").render_as_string(hide_password=False)


def main(
    calls: Annotated[int, typer.Option(help="Tool calls in a row; 0 for none.")] = 4000,
    count: Annotated[int, typer.Option("--starts", help="Cold starts; 0 for none.")] = 5,
) -> None:
    """Measure cold starts of `remembrancer mcp`, and what tool calls in a row leave behind."""
    results: dict[str, Any] = {"load": os.getloadavg()[0]}
    if count:
        results["starts"] = asyncio.run(starts(count))
        rows = [
            [name, min(found), percentile(found, 0.5)]
            for name in ("greeted", "answered", "processor")
            for found in [[row[name] for row in results["starts"]]]
        ]
        show(f"Start, seconds; load {results['load']:.1f}", ["", "best", "median"], rows)
    if calls:
        results["calls"] = asyncio.run(many_calls(calls))
        columns = list(results["calls"][0])
        rows = [[str(row[name]) for name in columns] for row in results["calls"]]
        show("Resources", columns, rows)
    results["peak RSS, MiB"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)
    write("mcp", results)


if __name__ == "__main__":
    typer.run(main)
