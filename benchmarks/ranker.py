"""Learn how much each signal of recall counts, and measure it on conversations left out.

The candidates are those that the service gathers. The model is linear: it gives each candidate of
a question a chance to be evidence (a softmax over the candidates), and is fitted to the evidence
of all data sets at once, each set with the same weight. Each conversation is scored by the
coefficients that were learnt from the others.
"""

import asyncio
import gzip
import json
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final

import numpy as np
import typer
from numpy.typing import NDArray

from benchmarks import locomo, longmemeval
from benchmarks.common import console, mean, progress, show, store, write
from benchmarks.vectors import DIRECTORY, StoredVectors
from remembrancer import Remembrancer, Settings, User, as_actor
from remembrancer.recall import people
from remembrancer.recall.candidates import Candidates, of_rows
from remembrancer.recall.ranker import COEFFICIENTS, rank
from remembrancer.recall.schemas import RecallQuery
from remembrancer.recall.service import Recall
from remembrancer.recall.signals import SIGNALS, Interpretation, measure

Floats = NDArray[np.float64]
PENALTY: Final = 3e-3
"""Weight of the squared coefficients, of standardised signals, in the loss."""
GIVEN: Final = {"assistant": -2.0}
"""Coefficients that are not learnt. In LongMemEval nearly all evidence is said by the user (92 of
94 messages among the candidates), so that what is learnt would hide all that an assistant said."""
FOLDS: Final = 5
"""Parts into which LongMemEval's questions are divided; the other sets have conversations."""
DRAWS: Final = 2_000
"""Bootstrap samples."""
NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Case:
    """A question with its candidates."""

    data: str
    group: str
    kind: str
    candidates: Candidates
    asked: Interpretation
    place: dict[int, Any]
    """What counts as found by a candidate's id: its turn, or its session."""
    evidence: frozenset[int]
    """Candidates with the answer."""
    wanted: frozenset[Any]
    values: Floats
    """Signals, shape (n, signals)."""

    def found(self, weights: Floats) -> list[Any]:
        """Return what the first hits are of, best first, each once."""
        hits = rank(self.candidates, 100, self.asked, now=NOW, weights=weights)
        return list(dict.fromkeys(self.place[hit.id] for hit in hits if hit.id in self.place))


Metric = tuple[str, str, Callable[[Case], bool], Callable[[Case, list[Any]], float]]


def _share(k: int) -> Callable[[Case, list[Any]], float]:
    return lambda case, found: len(case.wanted & set(found[:k])) / len(case.wanted)


def _of(data: str, kind: str | None = None) -> Callable[[Case], bool]:
    return lambda case: case.data == data and kind in {None, case.kind}


METRICS: Final[Sequence[Metric]] = (
    ("LoCoMo", "@5", _of("locomo"), _share(5)),
    ("LoCoMo", "@10", _of("locomo"), _share(10)),
    ("LoCoMo", "multi-hop @10", _of("locomo", "multi-hop"), _share(10)),
    ("REALTALK", "@5", _of("realtalk"), _share(5)),
    ("REALTALK", "@10", _of("realtalk"), _share(10)),
    ("LongMemEval", "any @1", _of("longmemeval"), lambda c, f: float(f[0] in c.wanted)),
    ("LongMemEval", "all @5", _of("longmemeval"), lambda c, f: float(_share(5)(c, f) == 1)),
)


async def gather(
    memory: Remembrancer, user: User, text: str, limit: int
) -> tuple[Sequence[Any], Candidates, Interpretation]:
    """Return the candidates of a question, as rows and as arrays, and what it asks."""
    recall, actor = Recall(memory.backend, memory.embedder, memory.access_counts), as_actor(user)
    search = await recall.prepare(actor, RecallQuery(query=text, limit=limit))
    rows: Sequence[Any] = (await recall.candidates(actor, search)).rows
    candidates = of_rows(rows, search.question.names)
    return rows, candidates, people.interpret(text, search.question, candidates)


async def of_talk(memory: Remembrancer, data: str, sample: dict[str, Any]) -> list[Case]:
    """Store a conversation and gather the candidates of its questions."""
    talk = await locomo.fill(memory, sample, uuid.uuid4().hex, summaries=False)
    cases = []
    for question, evidence in locomo.answerable(sample, set(talk.turn_at.values())):
        rows, candidates, asked = await gather(memory, talk.asker, question["question"], 10)
        turns = {row.id: talk.turn_at[row.position or 0] for row in rows}
        cases.append(
            Case(
                data=data,
                group=f"{data} {sample['sample_id']}",
                kind=locomo.CATEGORIES[question["category"]],
                candidates=candidates,
                asked=asked,
                place=turns,
                evidence=frozenset(row.id for row in rows if turns[row.id] in evidence),
                wanted=frozenset(evidence),
                values=measure(candidates, asked).matrix,
            )
        )
    return cases


async def of_haystack(
    memory: Remembrancer, number: int, data: dict[str, Any], question: dict[str, Any]
) -> list[Case]:
    """Store the sessions of a question and gather its candidates; none if it has no answer."""
    if question["question_id"].endswith("_abs"):
        return []
    user, sessions = await longmemeval.fill(
        memory, data, question, uuid.uuid4().hex, summaries=False
    )
    rows, candidates, asked = await gather(memory, user, question["question"], 100)
    place = {row.id: sessions[row.conversation_id] for row in rows if row.conversation_id}
    wanted = frozenset(question["answer_session_ids"])
    answers = {
        content
        for session in wanted
        for _, content, has_answer in data["sessions"][session]
        if has_answer
    }
    return [
        Case(
            data="longmemeval",
            group=f"longmemeval {number % FOLDS}",
            kind=question["question_type"],
            candidates=candidates,
            asked=asked,
            place=place,
            evidence=frozenset(
                row.id for row in rows if place[row.id] in wanted and row.content in answers
            ),
            wanted=wanted,
            values=measure(candidates, asked).matrix,
        )
    ]


def fit(cases: Sequence[Case], columns: Sequence[int]) -> Floats:
    """Return the coefficients that make the evidence most likely; 0 for other columns.

    Newton's method, with shorter steps where a whole one goes too far: the loss is convex.
    """
    cases = [case for case in cases if case.evidence]
    columns = [number for number in columns if SIGNALS[number] not in GIVEN]
    given = np.array([GIVEN.get(name, 0.0) for name in SIGNALS])
    offsets = [case.values @ given for case in cases]
    scale = np.concatenate([case.values for case in cases])[:, columns].std(axis=0) + 1e-9
    values = [case.values[:, columns] / scale for case in cases]
    truths = [np.isin([row.id for row in c.candidates], list(c.evidence)) for c in cases]
    sets = [case.data for case in cases]
    shares = [1 / sets.count(data) / len(set(sets)) for data in sets]

    def loss(weights: Floats) -> float:
        total = PENALTY * float(weights @ weights)
        for value, offset, truth, share in zip(values, offsets, truths, shares, strict=True):
            logits = value @ weights + offset
            total -= share * float(logits[truth].mean() - np.logaddexp.reduce(logits))
        return total

    weights = np.zeros(len(columns))
    for _ in range(50):
        gradient = 2 * PENALTY * weights
        curvature = 2 * PENALTY * np.eye(len(columns))
        for value, offset, truth, share in zip(values, offsets, truths, shares, strict=True):
            logits = value @ weights + offset
            chance = np.exp(logits - np.logaddexp.reduce(logits))
            expected = chance @ value
            gradient += share * (expected - value[truth].mean(axis=0))
            spread = (value * chance[:, None]).T @ value - np.outer(expected, expected)
            curvature += share * spread
        step = np.linalg.solve(curvature, gradient)
        before = loss(weights)
        while loss(weights - step) > before and np.abs(step).max() > 1e-9:
            step /= 2
        weights -= step
        if np.abs(step).max() < 1e-5:
            break
    result = given.copy()
    result[columns] = weights / scale
    return result


def left_out(cases: Sequence[Case], columns: Sequence[int]) -> list[list[Any]]:
    """Return what each question finds with what was learnt from other conversations."""
    found: dict[int, list[Any]] = {}
    for group in sorted({case.group for case in cases}):
        weights = fit([case for case in cases if case.group != group], columns)
        found |= {n: c.found(weights) for n, c in enumerate(cases) if c.group == group}
    return [found[number] for number in range(len(cases))]


def scores(cases: Sequence[Case], found: Sequence[list[Any]]) -> Iterator[tuple[str, list[float]]]:
    """Yield the value of each question, by metric."""
    for name, depth, counts, value in METRICS:
        chosen = [value(c, f) for c, f in zip(cases, found, strict=True) if counts(c)]
        if chosen:
            yield f"{name} {depth}", chosen


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the bootstrap interval of a mean that 95 of 100 samples lie in."""
    rng = np.random.default_rng(0)
    draws = rng.choice(np.array(values), size=(DRAWS, len(values))).mean(axis=1)
    low, high = np.quantile(draws, [0.025, 0.975])
    return float(low), float(high)


@asynccontextmanager
async def _memory(cache: Path) -> Any:
    settings = Settings()
    settings.limits.message_characters = longmemeval.LONGEST
    async with store(None, wrap=lambda e: StoredVectors(e, cache), settings=settings) as memory:
        yield memory


async def collect(paths: dict[str, Path], cache: Path) -> list[Case]:
    """Store all data sets and gather the candidates of all questions."""
    cases: list[Case] = []
    with progress() as bar:
        async with _memory(cache) as memory:
            for name, path in paths.items():
                opened = gzip.open if path.suffix == ".gz" else open
                with opened(path, "rt", encoding="utf-8") as file:
                    data = json.load(file)
                if name == "longmemeval":
                    for number, question in enumerate(bar.track(data["questions"])):
                        cases += await of_haystack(memory, number, data, question)
                else:
                    for sample in bar.track(data):
                        cases += await of_talk(memory, name, sample)
    return cases


def main(
    locomo_path: Annotated[Path, typer.Argument(help="LoCoMo as JSON.", exists=True)],
    realtalk_path: Annotated[
        Path, typer.Argument(help="REALTALK, in the same shape.", exists=True)
    ],
    longmemeval_path: Annotated[Path, typer.Argument(help="LongMemEval-S.", exists=True)],
    cache: Annotated[Path, typer.Option(help="Directory of the vector cache.")] = DIRECTORY,
    ablation: Annotated[bool, typer.Option(help="Measure without each signal.")] = True,
    learn: Annotated[
        Path | None, typer.Option(help="Write the coefficients of all data to this file.")
    ] = None,
) -> None:
    """Learn the ranking, and print what it finds in conversations left out."""
    paths = {
        "locomo": locomo_path,
        "realtalk": realtalk_path,
        "longmemeval": longmemeval_path,
    }
    cases = asyncio.run(collect(paths, cache))
    everything = range(len(SIGNALS))
    shipped = np.array([COEFFICIENTS[name] for name in SIGNALS])
    runs = {
        "left out": left_out(cases, everything),
        "as shipped": [case.found(shipped) for case in cases],
    }
    if ablation:
        for number, name in enumerate(SIGNALS):
            runs[f"without {name}"] = left_out(cases, [n for n in everything if n != number])
    values = {name: dict(scores(cases, found)) for name, found in runs.items()}
    metrics = list(values["left out"])
    show(
        "Ranking",
        ["run", *metrics],
        [[name, *(mean(of[metric]) for metric in metrics)] for name, of in values.items()],
    )
    intervals = {metric: interval(values["left out"][metric]) for metric in metrics}
    for metric, (low, high) in intervals.items():
        console.print(f"{metric}: {mean(values['left out'][metric]):.3f} ({low:.3f} to {high:.3f})")
    if learn:
        learnt = zip(SIGNALS, fit(cases, everything), strict=True)
        lines = "".join(f"{name} = {weight:.3f}\n" for name, weight in learnt)
        learn.write_text(f"{HEAD}[coefficients]\n{lines}", encoding="utf-8")
    write(
        "ranker",
        {
            "benchmark": "ranker",
            "questions": len(cases),
            "runs": {n: {m: mean(v) for m, v in of.items()} for n, of in values.items()},
            "intervals": intervals,
        },
    )


HEAD: Final = """\
# What a signal adds to the logarithm of a score, times its value (recall/signals.py).
# Written by benchmarks/ranker.py, which learns them.
"""

if __name__ == "__main__":
    typer.run(main)
