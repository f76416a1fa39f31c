"""What facts and summaries do to recall: is the evidence found as before, and do they add to it?

Each conversation of LoCoMo, or of data in its shape, is stored as in `benchmarks.locomo`, and each
question recalled: before anything is extracted, and after, with facts, with summaries (chunks), and
with both. Facts and summaries are gold if the file has them (`observation`
and `session_summary` of LoCoMo's own release), and else extractive (`benchmarks.scripted`). No
language model is involved.
"""

import asyncio
import json
import uuid
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from benchmarks.common import DatabaseUrl, console, mean, progress, show, store, write
from benchmarks.locomo import CATEGORIES, StoredConversation, answerable, fill
from benchmarks.scripted import Scripted
from benchmarks.vectors import DIRECTORY, StoredVectors
from remembrancer import Remembrancer, as_actor
from remembrancer.recall.schemas import SourceType

RUNS: Final[dict[str, list[SourceType]]] = {
    "with facts": ["memory", "message"],
    "with chunks": ["message", "chunk"],
    "with both": ["memory", "message", "chunk"],
}
BEFORE: Final = "before"
DEPTHS: Final = (5, 10)
DEEPEST: Final = 20
"""Limit of the recall whose messages alone are counted."""
COLUMNS: Final = ("hits", "messages", "facts")
"""Evidence among the first hits; among the first of them that are messages; and among the first
hits if a fact counts as the message it is from."""
Shares = dict[tuple[str, int], float]


async def ask(
    memory: Remembrancer,
    stored: StoredConversation,
    question: str,
    evidence: set[str],
    sources: list[SourceType],
    told: dict[str, str],
) -> Shares:
    """Return the shares of the evidence that one recall finds, by column and depth."""
    shares: Shares = {}
    found: dict[int, list[tuple[str, str]]] = {}
    for limit in (max(DEPTHS), DEEPEST):
        answer = await memory.recall(question, user=stored.asker, limit=limit, sources=sources)
        found[limit] = [
            (hit.type, stored.turn_at.get(hit.position or 0) or told.get(hit.content, ""))
            for hit in answer.hits
        ]
    messages = [turn for kind, turn in found[DEEPEST] if kind == "message"]
    for depth in DEPTHS:
        turns = (
            {turn for kind, turn in found[max(DEPTHS)][:depth] if kind == "message"},
            set(messages[:depth]),
            {turn for _, turn in found[max(DEPTHS)][:depth]},
        )
        for column, those in zip(COLUMNS, turns, strict=True):
            shares[column, depth] = len(evidence & those) / len(evidence)
    return shares


async def measure(
    samples: Sequence[dict[str, Any]], database_url: str | None, cache: Path
) -> dict[str, Any]:
    """Put all questions before and after the extraction, and return the result."""
    runs: dict[str, dict[str, list[Shares]]] = defaultdict(lambda: defaultdict(list))
    counts = {"messages": 0, "facts": 0, "chunks": 0}
    gold = True
    async with store(database_url, wrap=lambda e: StoredVectors(e, cache)) as memory:
        with progress() as bar:
            for sample in bar.track(samples, description="conversations"):
                stored = await fill(memory, sample, uuid.uuid4().hex, summaries=False)
                script = Scripted(memory, sample, stored.turn_of)
                questions = list(answerable(sample, set(stored.turn_at.values())))

                async def put(run: str, sources: list[SourceType]) -> None:
                    for question, evidence in questions:  # noqa: B023
                        shares = await ask(
                            memory,
                            stored,  # noqa: B023
                            question["question"],
                            evidence,
                            sources,
                            script.told,  # noqa: B023
                        )
                        for kind in ("all", CATEGORIES[question["category"]]):
                            runs[run][kind].append(shares)

                await put(BEFORE, ["memory", "message"])
                made = await script.service().summarize(as_actor(stored.asker), stored.id)
                for run, sources in RUNS.items():
                    await put(run, sources)
                gold = gold and script.is_gold
                counts["messages"] += len(stored.turn_at)
                counts["facts"] += made.facts
                counts["chunks"] += made.chunks
        model = memory.embedder.name
    return {
        "benchmark": "facts",
        "model": model,
        "facts and summaries": "gold" if gold else "extractive",
        "counts": counts,
        "runs": {
            run: {
                kind: {
                    column: {k: mean([s[column, k] for s in shares]) for k in DEPTHS}
                    for column in COLUMNS
                }
                for kind, shares in kinds.items()
            }
            for run, kinds in runs.items()
        },
    }


def main(
    path: Annotated[Path, typer.Argument(help="LoCoMo as JSON.", exists=True, dir_okay=False)],
    database_url: DatabaseUrl = None,
    cache: Annotated[
        Path, typer.Option(help="Directory of the vector cache.", file_okay=False)
    ] = DIRECTORY,
) -> None:
    """Measure recall with facts and summaries of the same conversations.

    Reads LoCoMo, or any file of its shape, such as REALTALK. Omits questions as benchmarks.locomo
    does.
    """
    samples = json.loads(path.read_text(encoding="utf-8"))
    result = asyncio.run(measure(samples, database_url, cache))
    counts, kind = result["counts"], result["facts and summaries"]
    show(
        f"{path.stem}: {counts['messages']} messages, {counts['facts']} facts, "
        f"{counts['chunks']} summaries, {kind}",
        ["recall", *(f"{column}\n@{k}" for column in COLUMNS for k in DEPTHS)],
        [
            [run, *(kinds["all"][column][k] for column in COLUMNS for k in DEPTHS)]
            for run, kinds in result["runs"].items()
        ],
    )
    if kind == "extractive":
        console.print(
            "The file has no observations and session summaries. These are extractive: sentences "
            "of the messages themselves, not gold."
        )
    write(f"facts_{path.stem}", {"data": path.name, **result})


if __name__ == "__main__":
    typer.run(main)
