"""Measure Remembrancer and its peers on one data set, and print one table."""

import asyncio
import importlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.common import RESULTS, percentile, progress, show, write
from benchmarks.locomo import CATEGORIES, DEPTHS, Score, ask, grouped, turns_of
from benchmarks.peers.base import Bench, CachedVectors, Peer, System, Talk, Unavailable
from benchmarks.vectors import StoredVectors
from remembrancer import Settings
from remembrancer.app import database_server
from remembrancer.embeddings import create_embedder

SYSTEMS = (
    System("remembrancer", "own", "remembrancer"),
    System("BM25 + vectors, plain RRF", "references:open_fused"),
    System("vectors alone", "references:open_vectors"),
    System("hindsight", "hindsight", "hindsight-api-slim"),
    System("mem0", "mem0", "mem0ai"),
    System("langgraph store", "langgraph", "langgraph-checkpoint-postgres"),
    System("chroma", "chroma", "chromadb"),
)
ENVIRONMENT = {
    "ANONYMIZED_TELEMETRY": "False",
    "HF_HUB_OFFLINE": "1",
    "HINDSIGHT_API_ENABLE_GRAPH_RETRIEVAL": "false",
    "HINDSIGHT_API_LLM_PROVIDER": "none",
    "LANGSMITH_TRACING": "false",
    "MEM0_TELEMETRY": "False",
    "OTEL_SDK_DISABLED": "true",
}
"""No peer calls home. Without a language model Hindsight has no entities: its graph is noise."""


async def line(system: System, bench: Bench, talks: Sequence[Talk]) -> dict[str, Any]:
    """Return the line of a system: what was measured, or why nothing was."""
    try:
        return {"version": system.version, **await measure(system, bench, talks)}
    except Unavailable as error:
        return {"unavailable": str(error)}


async def measure(system: System, bench: Bench, talks: Sequence[Talk]) -> dict[str, Any]:
    """Store every conversation in a system, and recall all questions."""
    module, _, function = system.module.partition(":")
    opened = getattr(importlib.import_module(f"benchmarks.peers.{module}"), function or "open")
    scores: list[Score] = []
    async with opened(bench) as peer:
        seconds = sum([await fill(peer, bench, talk) for talk in talks])
        for talk in talks:
            ids = {turn.id for turn in talk.turns}
            scores += await ask(talk.sample, ids, bench.vectors, partial(peer.recall, talk))
    return {
        "messages_per_second": sum(len(talk.turns) for talk in talks) / seconds,
        "recall_ms": percentile([score.seconds for score in scores], 0.5) * 1e3,
        "shares": {
            name: {str(k): share for k, share in group["raw"].items()}
            for name, group in grouped(scores).items()
        },
    }


async def fill(peer: Peer, bench: Bench, talk: Talk) -> float:
    """Store a conversation, and return the seconds without those of the model."""
    embedding, began = bench.vectors.seconds, time.perf_counter()
    await peer.add(talk)
    return time.perf_counter() - began - (bench.vectors.seconds - embedding)


async def compare(
    systems: Sequence[System], samples: Sequence[dict[str, Any]], cache: Path | None = None
) -> dict[str, dict[str, Any]]:
    """Return the line of each system, by its name."""
    talks = [Talk(sample["sample_id"], turns_of(sample), sample) for sample in samples]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch, progress() as bar:
        os.environ["MEM0_DIR"] = str(Path(scratch) / "mem0")
        settings = Settings(data_dir=Path(scratch))
        model = create_embedder(settings.embedding)
        vectors = CachedVectors(StoredVectors(model, cache) if cache else model)
        async with database_server(settings) as server:
            bench = Bench(vectors, Path(scratch), server)
            return {
                system.name: await line(system, bench, talks)
                for system in bar.track(systems, description="systems")
            }


def rows(lines: Mapping[str, dict[str, Any]]) -> tuple[list[str], list[list[Any]]]:
    """Return the columns and the rows of the table."""
    kinds = [
        kind
        for kind in CATEGORIES.values()
        if any(kind in line.get("shares", ()) for line in lines.values())
    ]
    columns = ["system", *(f"@{k}" for k in DEPTHS), *kinds, "recall ms", "stored/s"]
    return columns, [row(name, line, kinds) for name, line in lines.items()]


def row(name: str, line: dict[str, Any], kinds: Sequence[str]) -> list[Any]:
    """Return the row of a system; of one that cannot run, the reason."""
    if "unavailable" in line:
        return [f"{name}: {line['unavailable']}"]
    return [
        f"{name} {line['version']}".strip(),
        *(line["shares"]["all"][str(k)] for k in DEPTHS),
        *(line["shares"][kind][str(max(DEPTHS))] for kind in kinds),
        f"{line['recall_ms']:.1f}",
        f"{line['messages_per_second']:.0f}",
    ]


def refuse_network(event: str, arguments: tuple[Any, ...]) -> None:
    """Let nothing leave this machine: an audit hook."""
    if event == "socket.getaddrinfo" and arguments[0] not in {None, "localhost", "127.0.0.1"}:
        raise OSError(f"the benchmark has no network: {arguments[0]}")


def main(
    path: Annotated[
        Path, typer.Argument(help="LoCoMo, or REALTALK in its shape.", exists=True, dir_okay=False)
    ],
    only: Annotated[
        list[str] | None,
        typer.Option(help="A system by its name; again for more. The last lines of others stay."),
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(help="Directory of a vector cache, for quick runs.", file_okay=False),
    ] = None,
) -> None:
    """Compare Remembrancer with its peers: the share of evidence among the first 1, 5 and 10.

    Every system gets the same messages and the same vectors, and none has a language model.
    Categories are at 10. The time of a recall is without the vector of the question, the messages
    stored a second without their vectors.
    """
    for variable, value in ENVIRONMENT.items():
        os.environ.setdefault(variable, value)
    sys.addaudithook(refuse_network)
    if unknown := set(only or ()) - {system.name for system in SYSTEMS}:
        raise typer.BadParameter(f"no such system: {', '.join(unknown)}", param_hint="--only")
    systems = [system for system in SYSTEMS if only is None or system.name in only]
    samples = json.loads(path.read_text(encoding="utf-8"))
    lines = asyncio.run(compare(systems, samples, cache))
    name = f"peers-{path.stem}"
    if only and (RESULTS / f"{name}.json").exists():
        earlier = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
        lines = {**earlier["systems"], **lines}
    lines = {system.name: lines[system.name] for system in SYSTEMS if system.name in lines}
    show(f"{path.stem}: share of the evidence", *rows(lines))
    write(name, {"benchmark": "peers", "systems": lines})


if __name__ == "__main__":
    typer.run(main)
