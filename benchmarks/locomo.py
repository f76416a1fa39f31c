"""LoCoMo, and data of its shape: does recall find the turns that answer a question?

Each conversation becomes a space of its two speakers with one shared conversation. The service
stores every turn, and recalls each question of categories 1 to 4 as the first speaker. No language
model is involved.
"""

import asyncio
import json
import re
import time
import uuid
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.common import DatabaseUrl, console, mean, percentile, progress, show, store, write
from benchmarks.vectors import StoredVectors
from remembrancer import (
    ConversationCreate,
    MessageCreate,
    Remembrancer,
    ResolveUser,
    SpaceCreate,
    User,
    as_actor,
)
from remembrancer.conversations.schemas import AppendedMessage
from remembrancer.embeddings import Embedder

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
DEPTHS = (1, 5, 10)
_TURN = re.compile(r"D\d+:\d+")


@dataclass(frozen=True)
class StoredConversation:
    """A conversation in the store: the asker, and the turns by position and by message."""

    asker: User
    turn_at: dict[int, str]
    id: uuid.UUID
    turn_of: dict[uuid.UUID, str]

    async def recall(self, memory: Remembrancer, question: str, limit: int) -> list[str]:
        """Return the turns that recall finds, best first."""
        answer = await memory.recall(question, user=self.asker, limit=limit)
        return [self.turn_at[hit.position or 0] for hit in answer.hits]


@dataclass(frozen=True)
class Score:
    """The result of one question."""

    category: int
    conversation: str
    evidence: frozenset[str]
    audited: frozenset[str]
    turns: tuple[str, ...]
    seconds: float

    def share(self, depth: int, *, audited: bool = False) -> float:
        """Return the share of the evidence among the first ``depth`` turns."""
        evidence = self.audited if audited else self.evidence
        return len(evidence & set(self.turns[:depth])) / len(evidence)


def sessions(conversation: dict[str, Any]) -> Iterator[tuple[datetime, list[dict[str, Any]]]]:
    """Yield the sessions of a conversation with their time, in order."""
    numbers = [int(key[8:]) for key in conversation if re.fullmatch(r"session_\d+", key)]
    for number in sorted(numbers):
        time_text = conversation[f"session_{number}_date_time"]
        at = datetime.strptime(time_text, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
        yield at, conversation[f"session_{number}"]


@dataclass(frozen=True)
class Turn:
    """One message of a conversation."""

    id: str
    sender: str
    content: str
    at: datetime


def turns_of(sample: dict[str, Any]) -> list[Turn]:
    """Return the turns of a conversation that have text, in order."""
    return [
        Turn(turn["dia_id"], turn["speaker"], turn["text"], at)
        for at, session in sessions(sample["conversation"])
        for turn in session
        if turn["text"].strip()
    ]


async def fill(
    memory: Remembrancer, sample: dict[str, Any], run: str, *, summaries: bool
) -> StoredConversation:
    """Store one conversation."""
    conversation = sample["conversation"]
    people = {}
    for name in (conversation["speaker_a"], conversation["speaker_b"]):
        request = ResolveUser(
            platform="locomo",
            platform_user_id=f"{run}/{sample['sample_id']}/{name}",
            display_name=name,
        )
        people[name] = await memory.users.resolve(as_actor(), request)
    first, second = people.values()
    actor = as_actor(first)
    space = await memory.spaces.create(
        actor, SpaceCreate(name=sample["sample_id"], member_ids=[second.id])
    )
    opened = await memory.conversations.open(
        actor, ConversationCreate(space_id=space.id, visibility="shared")
    )
    turns = turns_of(sample)
    messages = [
        MessageCreate(
            content=turn.content,
            user_id=people[turn.sender].id,
            sender_name=turn.sender,
            sent_at=turn.at,
        )
        for turn in turns
    ]
    stored: list[AppendedMessage] = []
    most = memory.settings.limits.batch
    for start in range(0, len(messages), most):
        batch = messages[start : start + most]
        appended = await memory.conversations.append(actor, opened.id, batch)
        stored += appended.messages
    if summaries:
        await memory.conversations.summarize(actor, opened.id)
    named = list(zip(stored, (turn.id for turn in turns), strict=True))
    return StoredConversation(
        asker=first,
        turn_at={message.position: turn for message, turn in named},
        id=opened.id,
        turn_of={message.id: turn for message, turn in named},
    )


def answerable(
    sample: dict[str, Any], turns: set[str]
) -> Iterator[tuple[dict[str, Any], set[str]]]:
    """Yield the questions with evidence among the turns, and the evidence."""
    for question in sample["qa"]:
        evidence = set(_TURN.findall(" ".join(question.get("evidence", [])))) & turns
        if question["category"] in CATEGORIES and evidence:
            yield question, evidence


async def ask(
    sample: dict[str, Any],
    turns: set[str],
    embedder: Embedder,
    recall: Callable[[str, int], Awaitable[Sequence[str]]],
) -> list[Score]:
    """Recall every question about one conversation, of which ``turns`` are stored."""
    scores = []
    for question, evidence in answerable(sample, turns):
        # Cached, so that the time is that of the search.
        await embedder.embed_query(question["question"])
        began = time.perf_counter()
        ranked = await recall(question["question"], max(DEPTHS))
        seconds = time.perf_counter() - began
        audited = set(question.get("evidence_audited", [])) & turns
        scores.append(
            Score(
                category=question["category"],
                conversation=sample["sample_id"],
                evidence=frozenset(evidence),
                audited=frozenset(audited or evidence),
                turns=tuple(ranked),
                seconds=seconds,
            )
        )
    return scores


def summary(scores: Sequence[Score]) -> dict[str, Any]:
    """Return the metrics of questions."""
    return {
        "questions": len(scores),
        "raw": {k: mean([s.share(k) for s in scores]) for k in DEPTHS},
        "audited": {k: mean([s.share(k, audited=True) for s in scores]) for k in DEPTHS},
        "any": {k: mean([float(s.share(k) > 0) for s in scores]) for k in DEPTHS},
        "all": {k: mean([float(s.share(k) == 1) for s in scores]) for k in DEPTHS},
    }


def grouped(scores: Sequence[Score]) -> dict[str, dict[str, Any]]:
    """Return the metrics of all questions, by category and by conversation."""
    groups: dict[str, list[Score]] = defaultdict(list)
    for score in scores:
        groups["all"].append(score)
    for score in sorted(scores, key=lambda s: s.category):
        groups[CATEGORIES[score.category]].append(score)
    for score in scores:
        groups[score.conversation].append(score)
    return {name: summary(group) for name, group in groups.items()}


async def measure(
    samples: Sequence[dict[str, Any]],
    database_url: str | None,
    cache: Path | None,
    *,
    summaries: bool,
) -> dict[str, Any]:
    """Fill a store, recall all questions, and return the result."""
    run = uuid.uuid4().hex
    scores: list[Score] = []
    with progress() as bar:
        task = bar.add_task("conversations", total=len(samples))
        async with store(
            database_url, wrap=lambda e: e if cache is None else StoredVectors(e, cache)
        ) as memory:
            model, stored, filling = memory.embedder.name, 0, 0.0
            for sample in samples:
                began = time.perf_counter()
                talk = await fill(memory, sample, run, summaries=summaries)
                filling += time.perf_counter() - began
                stored += len(talk.turn_at)
                recall = partial(talk.recall, memory)
                scores += await ask(sample, set(talk.turn_at.values()), memory.embedder, recall)
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
    database_url: DatabaseUrl = None,
    cache: Annotated[
        Path | None,
        typer.Option(help="Directory of a vector cache, for quick runs.", file_okay=False),
    ] = None,
    summaries: Annotated[
        bool, typer.Option("--summaries", help="Summarise each conversation before asking.")
    ] = False,
) -> None:
    """Measure recall on LoCoMo: the share of evidence turns among the first 1, 5 and 10.

    Reads any file of its shape, such as REALTALK.
    Omits category 5, which has no answers, and questions whose evidence names no turn.
    "audited" uses the corrected evidence of the file, if it has any.
    """
    samples = json.loads(path.read_text(encoding="utf-8"))
    result = asyncio.run(measure(samples, database_url, cache, summaries=summaries))
    about = f"{path.stem}, {result['model']}, {result['messages']} messages"
    for label, kinds in (
        ("share of the evidence", ("raw", "audited")),
        ("questions with any or all of it", ("any", "all")),
    ):
        show(
            f"{about}: {label}",
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
