"""The server's time for pages of a user with thousands of memories, and for those of admins.

Requests are like those of a signed-in browser, without a network: from the request to the last
byte. Texts and vectors are random, as in the latency benchmark.
"""

import asyncio
import re
import time
from typing import Annotated

import httpx2
import typer

from benchmarks.common import DatabaseUrl, percentile, show, store, write
from benchmarks.latency import SwitchableEmbedder, settle
from remembrancer import Actor, AgentCreate, MemoryCreate, Remembrancer, ResolveUser, Role, as_actor
from remembrancer.api import create_app
from remembrancer.keys.schemas import KeyCreate

TARGET = 150
"""Maximum milliseconds at the median, with 5,000 memories, 50 people and 30 agents."""

PAGES = {
    "home": "",
    "home, asked": "?q=number+19",
    "list": "/memories",
    "list, next page": None,
    "list, searched": "/memories?text=number+19",
    "agents": "/agents",
    "conversations": "/conversations",
    "timeline": "/timeline",
    "timeline, a day": "/timeline?as_of=2026-01-01",
    "a memory": "/memories/{memory}",
    "agents compared": "/agents/compare",
    "graph": "/graph",
    "review": "/review",
    "places": "/places",
    "spaces": "/spaces",
    "document": "/document",
    "profile": "/profile",
    "playground": "/playground?query=number+19",
}
ADMIN_PAGES = ("", "/usage", "/people", "/agents", "/shared", "/keys", "/audit", "/jobs")


async def fill(
    memory: Remembrancer, count: int, people: int = 1, agents: int = 0
) -> tuple[str, str]:
    """Store ``count`` memories of a user among others; return the user's id and API key."""
    for number in range(people):
        request = ResolveUser(platform="x", platform_user_id=str(number), display_name="Ada")
        user = await memory.users.resolve(as_actor(), request)
    for number in range(agents):
        await memory.agents.create(as_actor(), AgentCreate(name=f"Agent {number}"))
    for start in range(0, count, 500):
        statements = [
            MemoryCreate(content=f"Statement number {n} about Ada.", allow_similar=True)
            for n in range(start, min(start + 500, count))
        ]
        await memory.memories.remember_many(as_actor(user), statements)
    await settle(memory)
    key = KeyCreate(name="benchmark", role=Role.USER, user_id=user.id)
    return str(user.id), (await memory.keys.create(Actor(Role.ADMIN), key)).secret


async def measure(
    count: int, people: int, agents: int, repeat: int, database_url: str | None
) -> dict[str, object]:
    """Request each page ``repeat`` times; return percentiles in milliseconds."""
    async with store(database_url, wrap=SwitchableEmbedder) as memory:
        user_id, secret = await fill(memory, count, people, agents)
        transport = httpx2.ASGITransport(app=create_app(memory))
        async with httpx2.AsyncClient(
            transport=transport, base_url="http://localhost", headers={"Accept": "text/html"}
        ) as client:
            await client.post("/signin", data={"key": secret})
            pages: dict[str, dict[str, float]] = {}
            following = first = ""
            for name, path in PAGES.items():
                page = f"/people/{user_id}{path}".replace("{memory}", first)
                url = following if path is None else page
                pages[name], text = await _measure_page(client, url, repeat)
                if not first and (found := re.search(r'/memories/(\w+)" data-stop', text)):
                    first = found[1]
                if link := re.search(r'href="([^"]+cursor=[^"]+)" hx-get', text):
                    following = following or link[1]
            key = KeyCreate(name="benchmark of admins", role=Role.ADMIN)
            admin = (await memory.keys.create(Actor(Role.ADMIN), key)).secret
            await client.post("/signin", data={"key": admin})
            for path in ADMIN_PAGES:
                pages[f"admin{path}"], _ = await _measure_page(client, f"/admin{path}", repeat)
    return {
        "memories": count, "people": people, "agents": agents, "target_ms": TARGET, "pages": pages
    }  # fmt: skip


async def _measure_page(
    client: httpx2.AsyncClient, url: str, repeat: int
) -> tuple[dict[str, float], str]:
    """Request a page several times; return percentiles in milliseconds, and the page."""
    times: list[float] = []
    for _ in range(repeat):
        began = time.perf_counter()
        answer = await client.get(url)
        times.append(1000 * (time.perf_counter() - began))
        assert answer.status_code == 200, answer.text
    figures = {
        "first": times[0],
        "p50": percentile(times, 0.5),
        "p95": percentile(times, 0.95),
        "bytes": len(answer.content),
    }
    return figures, answer.text


def main(
    count: Annotated[int, typer.Option(min=1, help="Memories of the person.")] = 5000,
    people: Annotated[int, typer.Option(min=1, help="People in the store.")] = 50,
    agents: Annotated[int, typer.Option(min=0, help="Agents in the store.")] = 30,
    repeat: Annotated[int, typer.Option(min=5, help="Requests per page.")] = 50,
    database_url: DatabaseUrl = None,
) -> None:
    """Measure the server's time for the pages of a user with many memories, and of admins."""
    result = asyncio.run(measure(count, people, agents, repeat, database_url))
    pages = result["pages"]
    assert isinstance(pages, dict)
    show(
        f"Pages with {count:,} memories, milliseconds",
        ["page", "first", "p50", "p95", "kB"],
        [
            [
                name,
                *(f"{row[key]:.1f}" for key in ("first", "p50", "p95")),
                f"{row['bytes'] / 1e3:.0f}",
            ]
            for name, row in pages.items()
        ],
    )
    write("web", result)


if __name__ == "__main__":
    typer.run(main)
