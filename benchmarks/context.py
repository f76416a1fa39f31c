"""The time of a context, compared with a recall of the same question, and of rendering alone.

A user has thousands of items, a tenth of them memories, in a conversation with a frozen stable
block. Recalls and contexts alternate, to run under the same load. Texts and vectors are random, as
in the latency benchmark. Compare figures within one run.
"""

import asyncio
import time
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Annotated, Any

import typer

from benchmarks.common import DatabaseUrl, console, percentile, progress, show, store, write
from benchmarks.latency import BenchmarkStore, SwitchableEmbedder, spread
from benchmarks.words import Chat
from remembrancer import ContextQuery, RecallQuery, as_actor
from remembrancer.context.lines import Reader
from remembrancer.context.renderer import Renderer
from remembrancer.context.template_files import Templates

ALLOWED = 1.3
"""Maximum ratio of context to recall time, at the 95th percentile."""
MEMORIES = 2000
LONGEST_RENDERING = 20.0
"""Milliseconds."""


def rendering(repeat: int) -> dict[str, float]:
    """Return the time to render a block of ``MEMORIES`` lines, without omissions."""
    renderer = Renderer(Templates())
    start = datetime(2026, 1, 1, tzinfo=UTC)
    rows = [
        SimpleNamespace(
            memory_owner_id="owner",
            memory_id=f"id{n:06}",
            content=line,
            subject=f"Subject {n % 50}",
            category=("person", "preference", "project", "context")[n % 4],
            kind="place" if n % 20 == 0 else "fact",
            shared=n % 7 == 0,
            quoted=False,
            created_at=start + timedelta(minutes=n),
            space_id=None,
        )
        for n, line in enumerate(Chat(1).lines(MEMORIES))
    ]
    # Processor time, since nothing waits.
    from_rows, from_lines = [], []
    for _ in range(repeat):
        began = time.process_time()
        entries = list(renderer.entries(rows, Reader("Europe/Paris")))
        from_rows.append((time.process_time() - began) * 1e3)
        began = time.process_time()
        assert renderer.stable(entries, 0).count("[id:") == MEMORIES
        from_lines.append((time.process_time() - began) * 1e3)
    both = [sum(pair) for pair in zip(from_rows, from_lines, strict=True)]
    return {
        "lines_ms": percentile(from_rows, 0.5),
        "block_ms": percentile(from_lines, 0.5),
        "all_ms": percentile(both, 0.5),
    }


async def measure_calls(bench: BenchmarkStore, items: int) -> dict[str, Any]:
    """Return the times of recalls and contexts for a user with ``items``."""
    user, conversation = await bench.user("Asker")
    with progress() as bar:
        task = bar.add_task("filling", total=items)
        await bench.fill(user, conversation, items, lambda n: bar.advance(task, n))
    await bench.settle()
    memory, actor = bench.memory, as_actor(user)
    times: dict[str, list[float]] = {"recall": [], "context": [], "no_conversation": []}
    began = time.perf_counter()
    await memory.conversations.context(actor, ContextQuery(conversation_id=conversation))
    first = (time.perf_counter() - began) * 1e3
    for n, question in enumerate(bench.chat.lines(bench.repeat + 5)):
        calls = {
            "recall": memory.memories.recall(actor, RecallQuery(query=question, limit=10)),
            "context": memory.conversations.context(
                actor, ContextQuery(conversation_id=conversation, message=question, window=20)
            ),
            "no_conversation": memory.conversations.context(actor, ContextQuery(message=question)),
        }
        for name, call in calls.items():
            began = time.perf_counter()
            await call
            if n >= 5:
                times[name].append((time.perf_counter() - began) * 1e3)
    return {"first_ms": first, **{name: spread(values) for name, values in times.items()}}


async def measure(database_url: str | None, items: int, repeat: int, *, embed: bool) -> None:
    rendered = rendering(max(repeat // 5, 5))
    async with store(database_url, wrap=SwitchableEmbedder) as memory:
        bench = BenchmarkStore(memory, repeat)
        calls = await measure_calls(bench, items) if not embed else await _embedded(bench, items)
    ratio = calls["context"]["p95"] / calls["recall"]["p95"]
    show(
        f"{items:,} items, {repeat} questions",
        ["", "p50 ms", "p95 ms"],
        [
            [name, calls[name]["p50"], calls[name]["p95"]]
            for name in ("recall", "context", "no_conversation")
        ],
    )
    console.print(f"context / recall at p95: {ratio:.2f} (allowed {ALLOWED})")
    console.print(f"the first context of the conversation: {calls['first_ms']:.1f} ms")
    console.print(
        f"rendering {MEMORIES:,} memories: {rendered['all_ms']:.1f} ms, of them lines "
        f"{rendered['lines_ms']:.1f} (allowed {LONGEST_RENDERING:.0f})"
    )
    write("context", {"items": items, "ratio_p95": ratio, **calls, "rendering": rendered})


async def _embedded(bench: BenchmarkStore, items: int) -> dict[str, Any]:
    """Measure with the bundled model, as in a server."""
    original_fill = bench.fill

    async def fill(*arguments: Any) -> None:
        await original_fill(*arguments)
        bench.embedder.real = True

    bench.fill = fill  # type: ignore[method-assign]
    return await measure_calls(bench, items)


def main(
    items: Annotated[int, typer.Option(help="Items of the user who asks.")] = 5000,
    repeat: Annotated[int, typer.Option(help="Questions.")] = 100,
    embed: Annotated[bool, typer.Option(help="Embed questions with the bundled model.")] = False,
    quick: Annotated[bool, typer.Option(help="A small run, as a check.")] = False,
    database_url: DatabaseUrl = None,
) -> None:
    """Measure contexts."""
    if quick:
        items, repeat = 500, 20
    asyncio.run(measure(database_url, items, repeat, embed=embed))


if __name__ == "__main__":
    typer.run(main)
