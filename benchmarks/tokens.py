"""What a prompt gets for its tokens: the share of the evidence that stands in a context.

Each conversation of LoCoMo, or of data in its shape, is stored as in `benchmarks.locomo`, and each
question recalled. The dynamic block of the hits is compared with plain "Name: text" lines in as
many tokens: of the same hits, the best first, and of the last turns. A turn stands in a text if
each of its sentences does. No language model is involved.
"""

import asyncio
import json
import re
import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from benchmarks.common import DatabaseUrl, mean, percentile, progress, show, store, write
from benchmarks.locomo import CATEGORIES, StoredConversation, answerable, fill, turns_of
from benchmarks.vectors import DIRECTORY, StoredVectors
from remembrancer import Remembrancer, User, tokens
from remembrancer.context.dynamic import DynamicSources, dynamic_entries
from remembrancer.context.lines import Reader
from remembrancer.context.renderer import Moment, Renderer
from remembrancer.context.schemas import MOST_TOKENS
from remembrancer.context.template_files import Templates
from remembrancer.context.token_budget import Entry, FilledText
from remembrancer.recall.schemas import Hit
from remembrancer.spaces.rows import SpaceNames

BUDGETS: Final = (250, 400, 500, 1000, 2000)
FIRST: Final = (10, 16)
"""Hits whose tokens are counted."""
MOST_HITS: Final = 100
SPREAD: Final = ("mean", "p90")
ROWS: Final = ("context", "top turns", "last turns")
_SENTENCE: Final = re.compile(r"(?<=[.!?…])\s+|\n+")
_WORD: Final = re.compile(r"\w+")
_RENDERER: Final = Renderer(Templates())


@dataclass(frozen=True)
class Score:
    """The result of one question."""

    category: str
    shares: dict[str, dict[int, float]]
    """Share of the evidence that stands in a text, by row and budget."""
    recalled: dict[int, float]
    """Share of the evidence among the first hits."""
    plain: dict[int, int]
    """Tokens of the first hits as plain lines."""
    packed: dict[int, int]
    """Tokens of a dynamic block of the first hits."""


def words(text: str) -> str:
    """Return the words of a text between spaces, in lower case."""
    return f" {' '.join(_WORD.findall(text.casefold()))} "


def stands(turn: str, text: str) -> bool:
    """Say whether each sentence of a turn stands in a text, given as words."""
    return all(words(sentence) in text for sentence in _SENTENCE.split(turn))


def within(lines: Iterable[str], budget: int) -> Iterator[str]:
    """Yield the first lines that fit."""
    for line in lines:
        budget -= tokens.count(f"{line}\n")
        if budget < 0:
            return
        yield line


def block(hits: Sequence[Hit], speaker: User, budget: int) -> FilledText[Entry]:
    """Return the dynamic block of hits, as in a group in a space."""
    name = hits[0].space_name if hits else None
    space_id = hits[0].space_id if hits else None
    names = SpaceNames({str(space_id): name} if name else {})
    sources = DynamicSources(
        reader=Reader(user_id=speaker.id, names=names, space_id=space_id),
        listed={},
        joined=False,
        frozen=(),
        changes=(),
        speaker=(),
        recent=(),
        hits=hits,
        recalled=len(hits),
        summaries=0,
    )
    moment = Moment(datetime.now(UTC), "UTC", speaker=speaker.display_name, user_id=str(speaker.id))
    return _RENDERER.fill_dynamic(moment, dynamic_entries(_RENDERER, sources), budget)


async def ask(
    memory: Remembrancer, sample: dict[str, Any], stored: StoredConversation
) -> list[Score]:
    """Put every question about one conversation."""
    turns = {turn.id: turn.content for turn in turns_of(sample)}
    lines = {turn.id: f"{turn.sender}: {turn.content}" for turn in turns_of(sample)}
    scores = []
    for question, evidence in answerable(sample, set(turns)):
        answer = await memory.recall(question["question"], user=stored.asker, limit=MOST_HITS)
        ranked = [stored.turn_at[hit.position or 0] for hit in answer.hits]
        shares: dict[str, dict[int, float]] = defaultdict(dict)
        for budget in BUDGETS:
            texts = (
                block(answer.hits, stored.asker, budget).text,
                "\n".join(within((lines[id_] for id_ in ranked), budget)),
                "\n".join(within(reversed(lines.values()), budget)),
            )
            for row, told in zip(ROWS, map(words, texts), strict=True):
                found = [float(stands(turns[id_], told)) for id_ in sorted(evidence)]
                shares[row][budget] = mean(found)
        scores.append(
            Score(
                category=CATEGORIES[question["category"]],
                shares=shares,
                recalled={n: len(evidence & set(ranked[:n])) / len(evidence) for n in FIRST},
                plain={n: tokens.count("\n".join(lines[id_] for id_ in ranked[:n])) for n in FIRST},
                packed={n: block(answer.hits[:n], stored.asker, MOST_TOKENS).tokens for n in FIRST},
            )
        )
    return scores


def spread(values: Sequence[int]) -> dict[str, float]:
    return dict(zip(SPREAD, (mean(values), percentile(values, 0.9)), strict=True))


def summary(scores: Sequence[Score]) -> dict[str, Any]:
    """Return the metrics of questions."""
    return {
        "questions": len(scores),
        "shares": {
            row: {budget: mean([s.shares[row][budget] for s in scores]) for budget in BUDGETS}
            for row in ROWS
        },
        "recalled": {n: mean([s.recalled[n] for s in scores]) for n in FIRST},
        "plain": {n: spread([s.plain[n] for s in scores]) for n in FIRST},
        "packed": {n: spread([s.packed[n] for s in scores]) for n in FIRST},
    }


async def measure(
    samples: Sequence[dict[str, Any]], database_url: str | None, cache: Path
) -> dict[str, Any]:
    """Fill a store, put all questions, and return the result."""
    run = uuid.uuid4().hex
    scores: list[Score] = []
    async with store(database_url, wrap=lambda e: StoredVectors(e, cache)) as memory:
        with progress() as bar:
            for sample in bar.track(samples, description="conversations"):
                stored = await fill(memory, sample, run, summaries=False)
                scores += await ask(memory, sample, stored)
    groups = {"all": scores}
    for name in CATEGORIES.values():
        groups[name] = [score for score in scores if score.category == name]
    return {
        "benchmark": "tokens",
        "model": memory.embedder.name,
        "groups": {name: summary(group) for name, group in groups.items() if group},
    }


def main(
    path: Annotated[Path, typer.Argument(help="LoCoMo as JSON.", exists=True, dir_okay=False)],
    database_url: DatabaseUrl = None,
    cache: Annotated[
        Path, typer.Option(help="Directory of the vector cache.", file_okay=False)
    ] = DIRECTORY,
) -> None:
    """Measure the share of evidence turns that stand in so many tokens of context.

    Reads LoCoMo, or any file of its shape, such as REALTALK. Omits questions as benchmarks.locomo
    does.
    """
    samples = json.loads(path.read_text(encoding="utf-8"))
    result = asyncio.run(measure(samples, database_url, cache))
    for name, group in result["groups"].items():
        show(
            f"{path.stem}, {name}, {group['questions']} questions: share of the evidence",
            ["tokens", *map(str, BUDGETS)],
            [[row, *group["shares"][row].values()] for row in ROWS],
        )
    group = result["groups"]["all"]
    show(
        f"{path.stem}: tokens of the first hits",
        ["hits", "evidence", "plain, mean", "plain, p90", "context, mean", "context, p90"],
        [
            [n, group["recalled"][n]]
            + [round(group[row][n][value]) for row in ("plain", "packed") for value in SPREAD]
            for n in FIRST
        ],
    )
    write(f"tokens_{path.stem}", {"data": path.name, **result})


if __name__ == "__main__":
    typer.run(main)
