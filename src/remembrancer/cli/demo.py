"""``demo``: the sample, played through a real server, and what becomes of it."""

import signal
import sys
import time
from dataclasses import dataclass

import typer
from rich.console import Group
from rich.table import Table
from rich.text import Text

from remembrancer.cli.output import clipped, console, error_console, plain, table
from remembrancer.cli.player import Player
from remembrancer.cli.reasons import reasons
from remembrancer.cli.temporary_server import throwaway_server
from remembrancer.recall.schemas import Hit
from remembrancer.sample import Sample, SampleQuestion, load

AMONG_FIRST = 3
"""A question that finds something finds it among this many hits."""


@dataclass(frozen=True)
class Answered:
    """A question of the sample, the hit it is about, and whether all is as it must be."""

    question: SampleQuestion
    hit: Hit | None
    others: int
    as_expected: bool


def demo() -> None:
    """Play the sample on a throw-away server: who is told what, and why.

    Starts a real server on a free port and talks to it over HTTP: two people, three agents,
    two platforms. Nothing is left behind. Exits with 1 unless every answer is as it must be.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sample, began = load(), time.monotonic()
    screen = console()
    with error_console().status("Starting a server…"), throwaway_server() as server:
        started = time.monotonic() - began
        with Player(server) as player:
            player.play(sample)
            answers = [ask(player, question) for question in sample.questions]
    screen.print(_shown(sample, answers))
    failed = [answer for answer in answers if not answer.as_expected]
    took = f"server up in {started:.1f} s, all in {time.monotonic() - began:.1f} s"
    if failed:
        first = failed[0].question
        error_console().print(
            plain(f"demo: {len(failed)} of {len(answers)} answers are wrong, first: {first.query}"),
            style="red",
        )
        raise typer.Exit(1)
    screen.print(Text(f"All {len(answers)} answers are as they must be ({took}).", style="green"))


def ask(player: Player, question: SampleQuestion) -> Answered:
    """Ask a question as its person, and judge the answer."""
    # Whoever must not be told something must not find it at the end of a long list either.
    hits = player.recall(question, limit=100 if question.never else AMONG_FIRST)
    if question.finds is None:
        told = [hit for hit in hits if _holds(hit, question.never)]
        return Answered(question, told[0] if told else None, len(hits), not told)
    found = [hit for hit in hits if _holds(hit, [question.finds])]
    return Answered(question, found[0] if found else None, len(hits), bool(found))


def _holds(hit: Hit, words: list[str]) -> bool:
    content = hit.content.casefold()
    return any(word.casefold() in content for word in words)


def _shown(sample: Sample, answers: list[Answered]) -> Group:
    names = {person.key: person.display_name for person in sample.people}
    names |= {assistant.key: assistant.agent.name for assistant in sample.agents}
    rows = [_row(answer, names) for answer in answers]
    made: Table = table("", "Who asks whom", "Question", "Is told", "Why", rows=rows)
    made.expand = True
    made.leading = 1
    for column, share in zip(made.columns[1:], (2, 4, 5, 5), strict=True):
        column.ratio = share
    agents = [f"{a.agent.name} ({a.agent.memory_scope.value} scope)" for a in sample.agents]
    heading = f"\nAda and Bob talked to {', '.join(agents)}, on Discord and Telegram. Now they ask:"
    return Group(Text(heading), made)


def _row(answer: Answered, names: dict[str, str]) -> list[str | Text]:
    question = answer.question
    mark = Text("✓", style="green") if answer.as_expected else Text("✗", style="red")
    return [
        mark,
        f"{names[question.person]} → {names[question.agent]}",
        question.query,
        _told(answer),
        _why(answer),
    ]


def _told(answer: Answered) -> Text:
    if answer.hit is not None:
        return clipped(answer.hit.content, 160)
    never = " or ".join(f"“{word}”" for word in answer.question.never)
    if not never:
        return Text("not what was looked for", style="red")
    return Text(f"nothing with {never} in all {answer.others} hits", style="italic")


def _why(answer: Answered) -> Text:
    because = plain(answer.question.because)
    if answer.hit is None:
        return because
    return Text("\n").join(
        [because, plain(reasons(answer.hit.reasons, answer.question.query), "dim")]
    )
