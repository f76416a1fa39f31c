"""LongMemEval-S: does recall find the sessions that answer a question?

Each question has a haystack of about 48 chat sessions. They become the conversations of one user
per question. The question is recalled with limit 100, and sessions are ranked by their best
message. No language model is involved.

Many sessions are in several haystacks, so a file caches vectors: the model embeds each distinct
message once.
"""

import asyncio
import gzip
import json
import math
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.common import DatabaseUrl, console, mean, percentile, progress, show, store, write
from benchmarks.vectors import DIRECTORY, StoredVectors
from remembrancer import (
    ConversationCreate,
    MessageCreate,
    Remembrancer,
    ResolveUser,
    Settings,
    as_actor,
)
from remembrancer.search.index import voiced

DEPTHS = (1, 5, 10)
BATCH = 128
LONGEST = 100_000
"""Maximum characters of a message; the data set has up to 76,560."""


@dataclass(frozen=True)
class Score:
    """The result of one question."""

    kind: str
    abstains: bool
    ranked: tuple[str, ...]
    answers: frozenset[str]
    seconds: float

    def hits(self, depth: int) -> int:
        """Return the number of answer sessions among the first ``depth``."""
        return len(self.answers & set(self.ranked[:depth]))

    @property
    def ndcg(self) -> float:
        """Normalised discounted cumulative gain at 10; the ideal has every answer first."""
        gain = sum(
            1 / math.log2(rank + 2)
            for rank, session in enumerate(self.ranked[:10])
            if session in self.answers
        )
        return gain / sum(1 / math.log2(n + 2) for n in range(min(10, len(self.answers))))


def instant(text: str) -> datetime:
    """Return a haystack date, as in ``2023/05/20 (Sat) 00:43``."""
    return datetime.strptime(text, "%Y/%m/%d (%a) %H:%M").replace(tzinfo=UTC)


async def embed(memory: Remembrancer, messages: Sequence[tuple[str, str]]) -> None:
    """Embed all messages in batches as the service does, to fill the cache."""
    with progress() as bar:
        task = bar.add_task("messages embedded", total=len(messages))
        for start in range(0, len(messages), BATCH):
            batch = messages[start : start + BATCH]
            speakers, contents = zip(*batch, strict=True)
            await memory.embedder.embed_documents(voiced(contents, speakers))
            bar.advance(task, len(batch))


async def fill(
    memory: Remembrancer,
    data: dict[str, Any],
    question: dict[str, Any],
    run: str,
    *,
    summaries: bool,
) -> tuple[Any, dict[uuid.UUID, str]]:
    """Store a question's haystack for a new user; return the user and sessions by conversation."""
    request = ResolveUser(
        platform="longmemeval",
        platform_user_id=f"{run}/{question['question_id']}",
        display_name="user",
    )
    user = await memory.users.resolve(as_actor(), request)
    actor = as_actor(user)
    sessions = {}
    for session, date in zip(
        question["haystack_session_ids"], question["haystack_dates"], strict=True
    ):
        at = instant(date)
        messages = [
            MessageCreate(role=role, content=content, sent_at=at)
            for role, content, _ in data["sessions"][session]
        ]
        if not messages:
            continue
        opened = await memory.conversations.open(actor, ConversationCreate())
        await memory.conversations.append(actor, opened.id, messages)
        if summaries:
            await memory.conversations.summarize(actor, opened.id)
        sessions[opened.id] = session
    return user, sessions


async def ask(
    memory: Remembrancer, question: dict[str, Any], user: Any, sessions: dict[uuid.UUID, str]
) -> Score:
    """Recall one question and rank its sessions."""
    await memory.embedder.embed_query(question["question"])
    began = time.perf_counter()
    answer = await memory.recall(question["question"], user=user, limit=100)
    seconds = time.perf_counter() - began
    ranked = (sessions[h.conversation_id] for h in answer.hits if h.conversation_id is not None)
    return Score(
        kind=question["question_type"],
        abstains=question["question_id"].endswith("_abs"),
        ranked=tuple(dict.fromkeys(ranked)),
        answers=frozenset(question["answer_session_ids"]),
        seconds=seconds,
    )


def summary(scores: Sequence[Score]) -> dict[str, Any]:
    """Return the metrics of questions."""
    return {
        "questions": len(scores),
        "any": {k: mean([float(s.hits(k) > 0) for s in scores]) for k in DEPTHS},
        "all": {k: mean([float(s.hits(k) == len(s.answers)) for s in scores]) for k in DEPTHS},
        "ndcg@10": mean([s.ndcg for s in scores]),
    }


def grouped(scores: Sequence[Score]) -> dict[str, dict[str, Any]]:
    """Return the metrics of answerable questions, by kind, and of the other ones."""
    answerable = [score for score in scores if not score.abstains]
    groups = {"all": answerable}
    for kind in sorted({score.kind for score in answerable}):
        groups[kind] = [score for score in answerable if score.kind == kind]
    groups["without an answer (_abs)"] = [score for score in scores if score.abstains]
    return {name: summary(group) for name, group in groups.items() if group}


async def measure(
    data: dict[str, Any],
    questions: Sequence[dict[str, Any]],
    cache: Path,
    url: str | None,
    *,
    summaries: bool,
) -> dict[str, Any]:
    """Store and recall question by question, and return the result."""
    run = uuid.uuid4().hex
    scores, stored = [], 0
    settings = Settings()
    settings.limits.message_characters = LONGEST
    messages = [
        (role, content)
        for question in questions
        for session in question["haystack_session_ids"]
        for role, content, _ in data["sessions"][session]
        if content.strip()
    ]
    async with store(url, wrap=lambda e: StoredVectors(e, cache), settings=settings) as memory:
        await embed(memory, list(dict.fromkeys(messages)))
        with progress() as bar:
            for question in bar.track(questions, description="questions"):
                user, sessions = await fill(memory, data, question, run, summaries=summaries)
                stored += sum(len(data["sessions"][session]) for session in sessions.values())
                scores.append(await ask(memory, question, user, sessions))
    seconds = [score.seconds for score in scores]
    return {
        "benchmark": "longmemeval",
        "model": memory.embedder.name,
        "summaries": summaries,
        "messages": stored,
        "recall_ms": {
            "p50": percentile(seconds, 0.5) * 1e3,
            "p95": percentile(seconds, 0.95) * 1e3,
        },
        "groups": grouped(scores),
    }


def main(
    path: Annotated[
        Path, typer.Argument(help="LongMemEval-S as JSON, .gz or not.", exists=True, dir_okay=False)
    ],
    cache: Annotated[
        Path, typer.Option(help="Directory of the vector cache.", file_okay=False)
    ] = DIRECTORY,
    questions: Annotated[
        int | None, typer.Option(min=1, help="Ask only the first N questions.")
    ] = None,
    summaries: Annotated[
        bool, typer.Option("--summaries", help="Summarise each session before asking.")
    ] = False,
    database_url: DatabaseUrl = None,
) -> None:
    """Measure recall on LongMemEval-S: are answer sessions among the first 1, 5 and 10?

    The file has {"sessions": {id: turns}, "questions": list}, where a turn is
    a list of role, content and whether it has the answer. "any" counts a question with one of
    its answer sessions, "all" with every one.
    """
    open_file = gzip.open if path.suffix == ".gz" else open
    with open_file(path, "rt", encoding="utf-8") as file:
        data = json.load(file)
    selected = data["questions"][:questions]
    result = asyncio.run(measure(data, selected, cache, database_url, summaries=summaries))
    show(
        f"LongMemEval-S, {result['model']}, {result['messages']} messages",
        ["questions", "n", *(f"{kind}@{k}" for kind in ("any", "all") for k in DEPTHS), "ndcg@10"],
        [
            [name, group["questions"]]
            + [group[kind][k] for kind in ("any", "all") for k in DEPTHS]
            + [group["ndcg@10"]]
            for name, group in result["groups"].items()
        ],
    )
    speed = result["recall_ms"]
    console.print(f"recall without embedding: p50 {speed['p50']:.1f} ms, p95 {speed['p95']:.1f} ms")
    write("longmemeval", result)


if __name__ == "__main__":
    typer.run(main)
