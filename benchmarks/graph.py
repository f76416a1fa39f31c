"""The time of recall with a popular memory of tens of thousands of associations.

All users' memories lead to one shared memory by every relation, and it leads back to them, so the
asker may not see most of its associations. Each question finds it. The same questions run before,
with and after the associations. Texts and vectors are random, as in the latency benchmark. Compare
figures within one run.
"""

import asyncio
import time
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from sqlalchemy import text

from benchmarks.common import DatabaseUrl, Quick, console, percentile, progress, show, store, write
from benchmarks.latency import BenchmarkStore, SwitchableEmbedder, spread
from remembrancer import MemoryCreate, User, as_actor
from remembrancer.ids import SHARED_OWNER

POPULAR = "Zanzibar"
"""A word of every question, and of the popular memory alone."""
BACK_SHARE = 0.1
"""Share of associations from the popular memory to memories of others."""

# From the asker's memories and from those of all others to the popular one, by each relation in
# turn until there are enough; then back to the others' memories.
_ASSOCIATE = text("""
    INSERT INTO associations (owner_id, memory_id, target_owner_id, target_id, relation, weight)
    SELECT m.owner_id, m.id, :hub_owner, CAST(:hub AS text), r.relation, random()
      FROM unnest(ARRAY['related_to', 'part_of', 'caused_by', 'result_of', 'updates',
                        'contradicts']) WITH ORDINALITY AS r (relation, rank)
     CROSS JOIN memories AS m
     WHERE m.owner_id <> :hub_owner AND (m.owner_id = :asker) = :own
     ORDER BY r.rank, m.id
     LIMIT :count
""")
_LEAD_BACK = text("""
    INSERT INTO associations (owner_id, memory_id, target_owner_id, target_id, relation, weight)
    SELECT :hub_owner, :hub, m.owner_id, m.id, 'related_to', random()
      FROM memories AS m
     WHERE m.owner_id NOT IN (:hub_owner, :asker)
     ORDER BY m.id
     LIMIT :count
""")


class PopularMemory:
    """A store with one popular memory, and a user who asks."""

    def __init__(self, bench: BenchmarkStore, asker: User, hub: Any) -> None:
        self.bench = bench
        self.asker = asker
        self.hub = hub

    async def associate(self, edges: int, own: int) -> int:
        """Create ``edges`` associations of the popular memory, ``own`` of them the asker's."""
        request = {"hub": self.hub, "hub_owner": SHARED_OWNER, "asker": self.asker.id}
        back = round(edges * BACK_SHARE)
        async with self.bench.memory.database.system() as connection:
            created = 0
            for is_own, count in ((True, own), (False, edges - own - back)):
                created += (
                    await connection.execute(_ASSOCIATE, {**request, "own": is_own, "count": count})
                ).rowcount
            created += (await connection.execute(_LEAD_BACK, {**request, "count": back})).rowcount
        await self.bench.settle()
        return created

    async def forget_associations(self) -> None:
        """Delete all associations."""
        async with self.bench.memory.database.system() as connection:
            await connection.execute(text("DELETE FROM associations"))
        await self.bench.settle()

    async def ask(self, questions: Sequence[str]) -> dict[str, Any]:
        """Return the times of the questions, and the share with a graph arm."""
        times, walked = [], 0
        for n, question in enumerate([*questions[:5], *questions]):
            began = time.perf_counter()
            answer = await self.bench.memory.recall(question, user=self.asker, limit=10)
            if n >= 5:
                times.append((time.perf_counter() - began) * 1e3)
                walked += any("graph" in hit.reasons.arms for hit in answer.hits)
        plans = [await self.bench.recorder.explain() for _ in range(5)]
        executing = percentile([executing for _, executing in plans], 0.5)
        return {**spread(times), "walked": walked / len(questions), "executing_ms": executing}


async def measure(
    own: int, others: int, people: int, edges: int, own_edges: int, repeat: int, url: str | None
) -> dict[str, Any]:
    """Run the benchmark and return the result."""
    async with store(url, wrap=SwitchableEmbedder) as memory:
        bench = BenchmarkStore(memory, repeat)
        with progress() as bar:
            task = bar.add_task("items", total=own + others)
            asker, conversation = await bench.user("asks")
            await bench.fill(asker, conversation, own, lambda n: bar.advance(task, n))
            for number in range(people):
                user, opened = await bench.user(f"other {number}")
                count = others // people
                await bench.fill(user, opened, count, lambda n: bar.advance(task, n))
        messages = MemoryCreate(content=f"{POPULAR} is where all of it leads to.", shared=True)
        hub = (await memory.memories.remember(as_actor(), messages)).memory.id
        popular = PopularMemory(bench, asker, hub)
        await bench.settle()
        questions = [f"{POPULAR} {bench.chat.question()}" for _ in range(repeat)]
        result: dict[str, Any] = {
            "benchmark": "graph",
            "own_items": own,
            "all_items": bench.stored,
            "people": people,
            "repeat": repeat,
            "plain": await popular.ask(questions),
            "edges": await popular.associate(edges, own_edges),
            "own_edges": own_edges,
        }
        result["graph"] = await popular.ask(questions)
        await popular.forget_associations()
        result["plain_again"] = await popular.ask(questions)
    result["ratio_p95"] = result["graph"]["p95"] / result["plain"]["p95"]
    result["ratio_p50"] = result["graph"]["p50"] / result["plain"]["p50"]
    return result


def report(result: dict[str, Any]) -> None:
    """Print the result."""
    names = {"plain": "before", "graph": f"with {result['edges']:,}", "plain_again": "after"}
    show(
        "Recall in milliseconds, by associations of one memory",
        ["associations", "p50", "p95", "executing", "walked"],
        [
            [
                label,
                *(f"{result[name][key]:.1f}" for key in ("p50", "p95", "executing_ms")),
                f"{result[name]['walked']:.0%}",
            ]
            for name, label in names.items()
        ],
    )
    console.print(
        f"graph recall takes {result['ratio_p50']:.2f} (p50) and {result['ratio_p95']:.2f} (p95) "
        "times as long as plain recall"
    )


def main(
    own: Annotated[int, typer.Option(min=1, help="Items of the user who asks.")] = 5000,
    others: Annotated[int, typer.Option(min=1, help="Items of all others together.")] = 75_000,
    people: Annotated[int, typer.Option(min=1, help="Number of other users.")] = 100,
    edges: Annotated[int, typer.Option(min=1, help="Associations of the popular memory.")] = 50_000,
    own_edges: Annotated[int, typer.Option(min=0, help="Of them, the asker's own.")] = 3000,
    repeat: Annotated[int, typer.Option(min=5, help="Questions.")] = 200,
    quick: Quick = False,
    database_url: DatabaseUrl = None,
) -> None:
    """Measure recall of a popular memory with and without its associations."""
    if quick:
        own, others, people, edges, own_edges, repeat = 1000, 4000, 20, 2500, 500, 50
    result = asyncio.run(measure(own, others, people, edges, own_edges, repeat, database_url))
    report(result)
    write("graph", result)


if __name__ == "__main__":
    typer.run(main)
