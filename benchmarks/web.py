"""What the server takes for the list of memories of somebody who has thousands of them.

The page is asked for as a browser does, signed in, through the application but not a network:
from the request to the last byte. Texts and vectors are made up, as in the latency benchmark.
"""

import asyncio
import re
import time
from typing import Annotated

import httpx2
import typer

from benchmarks.common import DATABASE_URL_HELP, percentile, show, store, write
from benchmarks.latency import Switched
from remembrancer import Actor, MemoryCreate, Remembrancer, ResolveUser, Role, as_actor
from remembrancer.api import create_app
from remembrancer.keys.schemas import KeyCreate

TARGET = 300
"""Milliseconds that the first paint of 2,000 memories may take."""

PAGES = {
    "list": "/memories",
    "list, next page": None,
    "list, searched": "/memories?text=number+19",
    "agents": "/agents",
    "conversations": "/conversations",
    "graph": "/graph",
    "review": "/review",
    "document": "/document",
    "playground": "/playground?query=number+19",
}


async def fill(memory: Remembrancer, count: int) -> tuple[str, str]:
    """Remember ``count`` statements of one person; return their id and an API key of theirs."""
    who = ResolveUser(platform="x", platform_user_id="1", display_name="Ada")
    user = await memory.users.resolve(as_actor(), who)
    for start in range(0, count, 500):
        statements = [
            MemoryCreate(content=f"Statement number {n} about Ada.", allow_similar=True)
            for n in range(start, min(start + 500, count))
        ]
        await memory.memories.remember_many(as_actor(user), statements)
    key = KeyCreate(name="benchmark", role=Role.USER, user_id=user.id)
    return str(user.id), (await memory.keys.create(Actor(Role.ADMIN), key)).secret


async def measure(count: int, repeat: int, database_url: str | None) -> dict[str, object]:
    """Ask for each page ``repeat`` times; return percentiles of the milliseconds it took."""
    async with store(database_url, wrap=Switched) as memory:
        user_id, secret = await fill(memory, count)
        transport = httpx2.ASGITransport(app=create_app(memory))
        async with httpx2.AsyncClient(
            transport=transport, base_url="http://localhost", headers={"Accept": "text/html"}
        ) as client:
            await client.post("/signin", data={"key": secret})
            pages: dict[str, dict[str, float]] = {}
            following = ""
            for name, path in PAGES.items():
                taken: list[float] = []
                for _ in range(repeat):
                    began = time.perf_counter()
                    where = f"/people/{user_id}{path}" if path else following
                    answer = await client.get(where)
                    taken.append(1000 * (time.perf_counter() - began))
                    assert answer.status_code == 200, answer.text
                if found := re.search(r'href="([^"]+cursor=[^"]+)" hx-get', answer.text):
                    following = following or found[1]
                pages[name] = {
                    "first": taken[0],
                    "p50": percentile(taken, 0.5),
                    "p95": percentile(taken, 0.95),
                    "bytes": len(answer.content),
                }
    return {"memories": count, "target_ms": TARGET, "pages": pages}


def main(
    count: Annotated[int, typer.Option(min=1, help="Memories of the person.")] = 2000,
    repeat: Annotated[int, typer.Option(min=5, help="Times each page is asked for.")] = 50,
    database_url: Annotated[str | None, typer.Option(help=DATABASE_URL_HELP)] = None,
) -> None:
    """Measure how long the server takes for the pages of somebody with many memories."""
    result = asyncio.run(measure(count, repeat, database_url))
    pages = result["pages"]
    assert isinstance(pages, dict)
    show(
        f"Pages with {count:,} memories, milliseconds",
        ["page", "first", "p50", "p95", "kB"],
        [
            [
                name,
                *(f"{one[key]:.1f}" for key in ("first", "p50", "p95")),
                f"{one['bytes'] / 1e3:.0f}",
            ]
            for name, one in pages.items()
        ],
    )
    write("web", result)


if __name__ == "__main__":
    typer.run(main)
