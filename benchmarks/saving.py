"""The time to save a message with summaries and extraction, compared with neither.

A job does the work, so this measures the save that queues it. Two services on one store alternate,
each in a conversation in which every message needs a summary. No worker runs, so no job takes
processor time. Includes embedding.
"""

import asyncio
import time
from typing import Annotated, Any

import typer

from benchmarks.common import DatabaseUrl, console, progress, show, store, write
from benchmarks.latency import spread
from benchmarks.words import Chat
from remembrancer import ConversationCreate, MessageCreate, Remembrancer, ResolveUser, as_actor
from remembrancer.access import Actor, Role
from remembrancer.settings import LanguageModelSettings, Settings, SummarySettings

ALLOWED = 1.3
"""Maximum ratio of the median times, on to off."""
BEFORE = 60
"""Messages of a conversation at the start: more than the window, and enough for a summary."""
_MODEL = LanguageModelSettings(model="openai:none", base_url="http://127.0.0.1:9/v1")


async def conversation(memory: Remembrancer, name: str, chat: Chat) -> tuple[Actor, Any]:
    """Return a new user's actor and a conversation with messages."""
    request = ResolveUser(platform="benchmark", platform_user_id=name, display_name=name)
    actor = as_actor(await memory.users.resolve(as_actor(), request))
    opened = await memory.conversations.open(actor, ConversationCreate())
    messages = [MessageCreate(content=line) for line in chat.lines(BEFORE)]
    await memory.conversations.append(actor, opened.id, messages)
    return actor, opened.id


async def measure(database_url: str | None, repeat: int) -> dict[str, Any]:
    """Return milliseconds of saving, off and on, for one message and for ten."""
    chat = Chat(1)
    on = Settings(llm=_MODEL)
    off = on.model_copy(update={"summaries": SummarySettings(automatic=False)})
    async with store(database_url, settings=on) as everything:
        services = {
            "off": Remembrancer(off, everything.database, everything.embedder),
            "on": everything,
        }
        conversations = {
            name: await conversation(service, name, chat) for name, service in services.items()
        }
        result: dict[str, Any] = {}
        for size in (1, 10):
            times: dict[str, list[float]] = {name: [] for name in services}
            with progress() as bar:
                for n in bar.track(range(repeat + 5), description=f"saving {size} at once"):
                    # Alternate the order, so that neither always has a cold cache.
                    for name in sorted(services, reverse=bool(n % 2)):
                        actor, conversation_id = conversations[name]
                        messages = [MessageCreate(content=line) for line in chat.lines(size)]
                        began = time.perf_counter()
                        await services[name].conversations.append(actor, conversation_id, messages)
                        if n >= 5:
                            times[name].append((time.perf_counter() - began) * 1e3)
            result[str(size)] = {name: spread(values) for name, values in times.items()}
        page = await everything.jobs.list(Actor(Role.ADMIN), limit=1)
        assert page.items, "nothing was queued"
    return result


def main(
    repeat: Annotated[int, typer.Option(min=20, help="Measurements behind each figure.")] = 200,
    database_url: DatabaseUrl = None,
) -> None:
    """Compare saving messages with summaries and extraction on and off, in one run."""
    result = asyncio.run(measure(database_url, repeat))
    show(
        "Milliseconds to save, embedding included",
        ["messages at once", "off p50", "off p95", "on p50", "on p95", "on / off p50"],
        [
            [
                size,
                *(row[name][p] for name in ("off", "on") for p in ("p50", "p95")),
                row["on"]["p50"] / row["off"]["p50"],
            ]
            for size, row in result.items()
        ],
    )
    console.print(f"allowed: {ALLOWED} times")
    write("saving", result)


if __name__ == "__main__":
    typer.run(main)
