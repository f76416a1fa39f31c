"""What it costs to save a message with summaries and extraction on, against both off.

The work itself is in a job, so what is compared is the saving that queues it. Two services on one
store save in turn, each into a conversation in which every message calls for a summary; nobody
works on the queue meanwhile, so that no job takes the processor from either. Embedding included.
"""

import asyncio
import time
from typing import Annotated, Any

import typer

from benchmarks.common import DATABASE_URL_HELP, console, progress, show, store, write
from benchmarks.latency import spread
from benchmarks.words import Chat
from remembrancer import ConversationCreate, MessageCreate, Remembrancer, ResolveUser, as_actor
from remembrancer.access import Actor, Role
from remembrancer.settings import LanguageModelSettings, Settings, SummarySettings

ALLOWED = 1.3
"""How many times as long saving may take with everything on, at the median."""
BEFORE = 60
"""Messages that a conversation has already: enough to be due, and not all of it is a window."""
_MODEL = LanguageModelSettings(model="openai:none", base_url="http://127.0.0.1:9/v1")


async def conversation(memory: Remembrancer, name: str, chat: Chat) -> tuple[Actor, Any]:
    """Return somebody and a conversation of theirs with messages in it."""
    who = ResolveUser(platform="benchmark", platform_user_id=name, display_name=name)
    actor = as_actor(await memory.users.resolve(as_actor(), who))
    opened = await memory.conversations.open(actor, ConversationCreate())
    said = [MessageCreate(content=line) for line in chat.lines(BEFORE)]
    await memory.conversations.append(actor, opened.id, said)
    return actor, opened.id


async def measure(database_url: str | None, repeat: int) -> dict[str, Any]:
    """Return milliseconds of saving, off and on, for one message and for ten at once."""
    chat = Chat(1)
    on = Settings(llm=_MODEL)
    off = on.model_copy(update={"summaries": SummarySettings(automatic=False)})
    async with store(database_url, settings=on) as everything:
        services = {
            "off": Remembrancer(off, everything.database, everything.embedder),
            "on": everything,
        }
        places = {name: await conversation(one, name, chat) for name, one in services.items()}
        result: dict[str, Any] = {}
        for size in (1, 10):
            times: dict[str, list[float]] = {name: [] for name in services}
            with progress() as bar:
                for n in bar.track(range(repeat + 5), description=f"saving {size} at once"):
                    # Who is first changes, so that neither always meets a cold cache.
                    for name in sorted(services, reverse=bool(n % 2)):
                        actor, where = places[name]
                        said = [MessageCreate(content=line) for line in chat.lines(size)]
                        began = time.perf_counter()
                        await services[name].conversations.append(actor, where, said)
                        if n >= 5:
                            times[name].append((time.perf_counter() - began) * 1e3)
            result[str(size)] = {name: spread(found) for name, found in times.items()}
        page = await everything.jobs.list(Actor(Role.ADMIN), limit=1)
        assert page.items, "nothing was queued"
    return result


def main(
    repeat: Annotated[int, typer.Option(min=20, help="Measurements behind each figure.")] = 200,
    database_url: Annotated[str | None, typer.Option(help=DATABASE_URL_HELP)] = None,
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
