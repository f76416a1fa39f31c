"""``demo``: the sample on a real server, with questions and their answers."""

import signal
import sys
import time
from dataclasses import dataclass

import typer
from rich.console import Group
from rich.table import Table
from rich.text import Text

from remembrancer.cli.output import clipped, console, error_console, plain, table
from remembrancer.cli.recall import reason_line
from remembrancer.cli.sample_player import SamplePlayer, sample_player
from remembrancer.cli.temporary_server import temporary_server
from remembrancer.recall.schemas import Hit
from remembrancer.sample import Sample, SampleQuestion, load

MAX_HITS = 3
"""The expected hit of a question is among this many."""


@dataclass(frozen=True)
class Answer:
    question: SampleQuestion
    hit: Hit | None
    hit_count: int
    correct: bool


def demo() -> None:
    """Play the sample on a temporary server, and show what each agent recalls, and why.

    Starts a real server on a free port and uses it over HTTP: two users, three agents, two
    platforms. Leaves nothing behind. Exit code 1 means that an answer is wrong.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sample, start = load(), time.monotonic()
    screen = console()
    with error_console().status("Starting a server…"), temporary_server() as server:
        startup = time.monotonic() - start
        with sample_player(server) as player:
            player.play(sample)
            answers = [ask(player, question) for question in sample.questions]
    screen.print(_table(sample, answers))
    failed = [answer for answer in answers if not answer.correct]
    timing = f"start {startup:.1f} s, total {time.monotonic() - start:.1f} s"
    if failed:
        first = failed[0].question
        error_console().print(
            plain(f"demo: {len(failed)} of {len(answers)} answers are wrong, first: {first.query}"),
            style="red",
        )
        raise typer.Exit(1)
    screen.print(Text(f"All {len(answers)} answers are correct ({timing}).", style="green"))


def ask(player: SamplePlayer, question: SampleQuestion) -> Answer:
    # A forbidden text must not be anywhere in a long list either.
    hits = player.recall(question, limit=100 if question.never else MAX_HITS)
    if question.finds is None:
        hit = _first_with(hits, question.never)
        return Answer(question, hit, len(hits), hit is None)
    hit = _first_with(hits, [question.finds])
    return Answer(question, hit, len(hits), hit is not None)


def _first_with(hits: list[Hit], words: list[str]) -> Hit | None:
    for hit in hits:
        content = hit.content.casefold()
        if any(word.casefold() in content for word in words):
            return hit
    return None


def _table(sample: Sample, answers: list[Answer]) -> Group:
    names = {person.key: person.display_name for person in sample.people}
    names |= {assistant.key: assistant.agent.name for assistant in sample.agents}
    rows = [_row(answer, names) for answer in answers]
    grid: Table = table("", "User and agent", "Question", "Recalled", "Why", rows=rows)
    grid.expand = True
    grid.leading = 1
    for column, share in zip(grid.columns[1:], (2, 4, 5, 5), strict=True):
        column.ratio = share
    agents = [f"{a.agent.name} ({a.agent.memory_scope.value} scope)" for a in sample.agents]
    heading = f"\nAda and Bob talked to {', '.join(agents)}, on Discord and Telegram. Now they ask:"
    return Group(Text(heading), grid)


def _row(answer: Answer, names: dict[str, str]) -> list[str | Text]:
    question = answer.question
    mark = Text("✓", style="green") if answer.correct else Text("✗", style="red")
    return [
        mark,
        f"{names[question.person]} → {names[question.agent]}",
        question.query,
        _hit_text(answer),
        _why(answer),
    ]


def _hit_text(answer: Answer) -> Text:
    if answer.hit is not None:
        return clipped(answer.hit.content, 160)
    never = " or ".join(f"“{word}”" for word in answer.question.never)
    if not never:
        return Text("not the expected memory", style="red")
    return Text(f"nothing with {never} in all {answer.hit_count} hits", style="italic")


def _why(answer: Answer) -> Text:
    because = plain(answer.question.because)
    if answer.hit is None:
        return because
    return Text("\n").join(
        [because, plain(reason_line(answer.hit.reasons, answer.question.query), "dim")]
    )
