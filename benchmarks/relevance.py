"""What relevance is worth: what is lost at the default, and which questions get nothing.

Two bounds, on any file of LoCoMo's shape: of the evidence turns among the first ten hits, at most
2 % are below the default; at least 80 % of the questions on what was never spoken of get no hit
from it on. These are those of ``never_spoken.txt``, and the questions of the file's other
conversations with the names of this one's speakers: of these, some were spoken of by chance.
"""

import asyncio
import json
import re
import uuid
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from benchmarks import locomo
from benchmarks.common import console, mean, progress, show, store, write
from benchmarks.vectors import DIRECTORY, StoredVectors
from remembrancer import Settings, as_actor
from remembrancer.recall.schemas import MIN_RELEVANCE, RecallQuery

NEVER_SPOKEN: Final = [
    line
    for line in (Path(__file__).parent / "never_spoken.txt").read_text("utf-8").splitlines()
    if line and not line.startswith("#")
]
LEVELS: Final = (0.1, MIN_RELEVANCE, 0.2, 0.3)
FOREIGN: Final = 5
"""Of the other conversations' questions, each so-manieth is asked."""


def speakers(sample: dict[str, Any]) -> tuple[str, str]:
    """Return the names of a conversation's speakers."""
    return sample["conversation"]["speaker_a"], sample["conversation"]["speaker_b"]


def strange(sample: dict[str, Any], others: Sequence[dict[str, Any]]) -> list[tuple[str, str]]:
    """Return questions that a conversation says nothing of, each with its kind."""
    names = speakers(sample)
    asked = [
        ("of a speaker" if "{name}" in text else "of the world", text.format(name=names[n % 2]))
        for n, text in enumerate(NEVER_SPOKEN)
    ]
    for other in others:
        for question in other["qa"][::FOREIGN]:
            text = question["question"]
            for old, new in zip(speakers(other), names, strict=True):
                text = re.sub(rf"\b{re.escape(old.split()[0])}\b", new.split()[0], text)
            asked.append(("of others' talk", text))
    return asked


async def measure(
    samples: Sequence[dict[str, Any]], cache: Path, settings: Settings
) -> dict[str, Any]:
    """Return relevances: of evidence turns, and of the best hit of each strange question."""
    evidence_at: list[float] = []
    best_at: dict[str, list[float]] = defaultdict(list)
    run = uuid.uuid4().hex
    with progress() as bar:
        task = bar.add_task("conversations", total=len(samples))
        async with store(None, wrap=lambda e: StoredVectors(e, cache), settings=settings) as memory:
            for sample in samples:
                talk = await locomo.fill(memory, sample, run, summaries=False)
                actor = as_actor(talk.asker)
                turns = set(talk.turn_at.values())
                for question, evidence in locomo.answerable(sample, turns):
                    query = RecallQuery(query=question["question"], sources=["message"])
                    hits = (await memory.memories.recall(actor, query)).hits
                    evidence_at += [
                        hit.relevance or 0.0
                        for hit in hits
                        if talk.turn_at[hit.position or 0] in evidence
                    ]
                for kind, text in strange(sample, [s for s in samples if s is not sample]):
                    query = RecallQuery(query=text, sources=["message"])
                    hits = (await memory.memories.recall(actor, query)).hits
                    best_at[kind].append(max((hit.relevance or 0.0 for hit in hits), default=0.0))
                bar.advance(task)
            model = memory.embedder.name
    levels = {
        str(level): {
            "evidence lost": mean([float(of < level) for of in evidence_at]),
            **{kind: mean([float(of < level) for of in best]) for kind, best in best_at.items()},
        }
        for level in LEVELS
    }
    return {
        "benchmark": "relevance",
        "model": model,
        "evidence": len(evidence_at),
        "questions": {kind: len(best) for kind, best in best_at.items()},
        "levels": levels,
    }


def main(
    path: Annotated[Path, typer.Argument(help="LoCoMo or REALTALK as JSON.", exists=True)],
    cache: Annotated[Path, typer.Option(help="Directory of a vector cache.")] = DIRECTORY,
    provider: Annotated[str, typer.Option(help="Embedder: minilm or bge.")] = "minilm",
) -> None:
    """Measure what ``min_relevance`` loses, and what it leaves of questions on nothing spoken of.

    The vectors are cached, so a second run is quick.
    """
    settings = Settings.model_validate({"embedding": {"provider": provider}})
    samples = json.loads(path.read_text("utf-8"))
    result = asyncio.run(measure(samples, cache, settings)) | {"data": path.stem}
    rows = [[level, *of.values()] for level, of in result["levels"].items()]
    columns = ["least relevance", *next(iter(result["levels"].values()))]
    show(f"Relevance on {path.stem}: evidence lost, questions with nothing", columns, rows)
    console.print(f"Written to {write(f'relevance-{path.stem}', result)}")


if __name__ == "__main__":
    typer.run(main)
