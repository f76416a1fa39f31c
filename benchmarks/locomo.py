"""LoCoMo: does recall find the turns of a conversation that answer a question?

Each conversation becomes a space of its two speakers, with one shared conversation in it.
Every turn is appended through the service, and each question of categories 1 to 4 is recalled
as the first speaker. No LLM is involved.
"""

import asyncio
import json
import re
import tempfile
import time
import uuid
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.common import DATABASE_URL_HELP, console, mean, percentile, progress, show, write
from remembrancer import (
    ConversationCreate,
    MessageCreate,
    Remembrancer,
    ResolveUser,
    SpaceCreate,
    User,
    as_actor,
)

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
DEPTHS = (1, 5, 10)
_TURN = re.compile(r"D\d+:\d+")


@dataclass(frozen=True)
class Talk:
    """A conversation in the store: who asks, and which turn stands at which position."""

    asker: User
    turn_at: dict[int, str]


@dataclass(frozen=True)
class Score:
    """What one question scored, by depth."""

    category: int
    talk: str
    evidence: frozenset[str]
    audited: frozenset[str]
    found: tuple[str, ...]
    seconds: float

    def share(self, depth: int, *, audited: bool = False) -> float:
        """Return the share of the evidence among the first ``depth`` turns."""
        wanted = self.audited if audited else self.evidence
        return len(wanted & set(self.found[:depth])) / len(wanted)


def sessions(conversation: dict[str, Any]) -> Iterator[tuple[datetime, list[dict[str, Any]]]]:
    """Yield the sessions of a conversation with their time, in order."""
    numbers = [int(key[8:]) for key in conversation if re.fullmatch(r"session_\d+", key)]
    for number in sorted(numbers):
        written = conversation[f"session_{number}_date_time"]
        at = datetime.strptime(written, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
        yield at, conversation[f"session_{number}"]


async def fill(memory: Remembrancer, sample: dict[str, Any], run: str, *, summaries: bool) -> Talk:
    """Store one conversation."""
    conversation = sample["conversation"]
    people = {}
    for name in (conversation["speaker_a"], conversation["speaker_b"]):
        who = ResolveUser(
            platform="locomo",
            platform_user_id=f"{run}/{sample['sample_id']}/{name}",
            display_name=name,
        )
        people[name] = await memory.users.resolve(as_actor(), who)
    first, second = people.values()
    actor = as_actor(first)
    space = await memory.spaces.create(
        actor, SpaceCreate(name=sample["sample_id"], member_ids=[second.id])
    )
    opened = await memory.conversations.open(
        actor, ConversationCreate(space_id=space.id, visibility="shared")
    )
    turns = [(at, turn) for at, said in sessions(conversation) for turn in said]
    messages = [
        MessageCreate(
            content=turn["text"],
            user_id=people[turn["speaker"]].id,
            sender_name=turn["speaker"],
            sent_at=at,
        )
        for at, turn in turns
    ]
    appended = await memory.conversations.append(actor, opened.id, messages)
    if summaries:
        await memory.conversations.summarize(actor, opened.id)
    places = [message.position for message in appended.messages]
    return Talk(first, dict(zip(places, (turn["dia_id"] for _, turn in turns), strict=True)))


def answerable(
    sample: dict[str, Any], turns: set[str]
) -> Iterator[tuple[dict[str, Any], set[str]]]:
    """Yield the questions that have evidence among the turns, with it."""
    for question in sample["qa"]:
        evidence = set(_TURN.findall(" ".join(question.get("evidence", [])))) & turns
        if question["category"] in CATEGORIES and evidence:
            yield question, evidence


async def ask(memory: Remembrancer, sample: dict[str, Any], talk: Talk) -> list[Score]:
    """Recall every question about one conversation."""
    turns = set(talk.turn_at.values())
    scores = []
    for question, evidence in answerable(sample, turns):
        # Cached from here on, so that what is timed is the search.
        await memory.embedder.embed_query(question["question"])
        began = time.perf_counter()
        answer = await memory.recall(question["question"], user=talk.asker, limit=max(DEPTHS))
        seconds = time.perf_counter() - began
        audited = set(question.get("evidence_audited", [])) & turns
        scores.append(
            Score(
                category=question["category"],
                talk=sample["sample_id"],
                evidence=frozenset(evidence),
                audited=frozenset(audited or evidence),
                found=tuple(talk.turn_at[hit.position or 0] for hit in answer.hits),
                seconds=seconds,
            )
        )
    return scores


def summary(scores: Sequence[Score]) -> dict[str, Any]:
    """Return the metrics over some questions."""
    return {
        "questions": len(scores),
        "raw": {k: mean([s.share(k) for s in scores]) for k in DEPTHS},
        "audited": {k: mean([s.share(k, audited=True) for s in scores]) for k in DEPTHS},
        "any": {k: mean([float(s.share(k) > 0) for s in scores]) for k in DEPTHS},
        "all": {k: mean([float(s.share(k) == 1) for s in scores]) for k in DEPTHS},
    }


def grouped(scores: Sequence[Score]) -> dict[str, dict[str, Any]]:
    """Return the metrics over all, by category and by conversation."""
    groups: dict[str, list[Score]] = defaultdict(list)
    for score in scores:
        groups["all"].append(score)
    for score in sorted(scores, key=lambda s: s.category):
        groups[CATEGORIES[score.category]].append(score)
    for score in scores:
        groups[score.talk].append(score)
    return {name: summary(group) for name, group in groups.items()}


async def measure(
    samples: Sequence[dict[str, Any]], database_url: str | None, *, summaries: bool
) -> dict[str, Any]:
    """Fill a store, ask everything, and return the result."""
    run = uuid.uuid4().hex
    scores: list[Score] = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch, progress() as bar:
        task = bar.add_task("conversations", total=len(samples))
        async with Remembrancer.open(scratch, database_url=database_url) as memory:
            model, stored, filling = memory.embedder.name, 0, 0.0
            for sample in samples:
                began = time.perf_counter()
                talk = await fill(memory, sample, run, summaries=summaries)
                filling += time.perf_counter() - began
                stored += len(talk.turn_at)
                scores += await ask(memory, sample, talk)
                bar.advance(task)
    seconds = [score.seconds for score in scores]
    return {
        "benchmark": "locomo",
        "model": model,
        "summaries": summaries,
        "messages": stored,
        "messages_per_second": stored / filling,
        "recall_ms": {
            "p50": percentile(seconds, 0.5) * 1e3,
            "p95": percentile(seconds, 0.95) * 1e3,
        },
        "groups": grouped(scores),
    }


def main(
    path: Annotated[Path, typer.Argument(help="LoCoMo as JSON.", exists=True, dir_okay=False)],
    database_url: Annotated[str | None, typer.Option(help=DATABASE_URL_HELP)] = None,
    summaries: Annotated[
        bool, typer.Option("--summaries", help="Summarise each conversation before asking.")
    ] = False,
) -> None:
    """Measure recall on LoCoMo: the share of evidence turns among the first 1, 5 and 10.

    Category 5 has no answers and is left out, as are questions whose evidence names no turn.
    "audited" takes the corrected evidence where the file has it.
    """
    samples = json.loads(path.read_text(encoding="utf-8"))
    result = asyncio.run(measure(samples, database_url, summaries=summaries))
    about = f"LoCoMo, {result['model']}, {result['messages']} messages"
    for told, kinds in (
        ("share of the evidence", ("raw", "audited")),
        ("questions with any or all of it", ("any", "all")),
    ):
        show(
            f"{about}: {told}",
            ["questions", "n", *(f"{kind}\n@{k}" for kind in kinds for k in DEPTHS)],
            [
                [name, group["questions"], *(group[kind][k] for kind in kinds for k in DEPTHS)]
                for name, group in result["groups"].items()
            ],
        )
    speed = result["recall_ms"]
    console.print(
        f"recall without embedding: p50 {speed['p50']:.1f} ms, p95 {speed['p95']:.1f} ms; "
        f"{result['messages_per_second']:.0f} messages stored a second, embedding included"
    )
    write("locomo", result)


if __name__ == "__main__":
    typer.run(main)
