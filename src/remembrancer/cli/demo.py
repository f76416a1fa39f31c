"""``demo``: the sample on a real server, with questions and their answers."""

import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import UUID

import typer
from rich.console import Group
from rich.text import Text

from remembrancer.access import Role
from remembrancer.cli.output import clipped, console, error_console, plain, table
from remembrancer.cli.recall import reason_line
from remembrancer.cli.temporary_server import Server, temporary_server
from remembrancer.client import Client
from remembrancer.keys.schemas import KeyCreate
from remembrancer.recall.schemas import Hit, RecallQuery
from remembrancer.sample import Sample, SampleQuestion, load

MAX_HITS = 3
"""The expected hit of a question is among this many."""


@dataclass(frozen=True)
class Answer:
    question: SampleQuestion
    hit: Hit | None
    hit_count: int
    correct: bool


class SamplePlayer:
    """Acts for the users and agents of the sample, with a service key."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._user_ids: dict[str, UUID] = {}
        self._agent_ids: dict[str, UUID] = {}

    def play(self, sample: Sample) -> None:
        client = self._client
        for person in sample.people:
            user = client.users.resolve(person.resolve_request)
            for link in person.links[1:]:
                client.users.link(user.id, link)
            self._user_ids[person.key] = user.id
        self._agent_ids = {
            assistant.key: client.agents.create(assistant.agent).id for assistant in sample.agents
        }
        for talk in sample.conversations:
            user_id = self._user_ids[talk.person]
            conversation = client.conversations.open(
                talk.conversation(self._agent_ids[talk.agent]), user=user_id
            )
            client.conversations.append(conversation.id, talk.messages, user=user_id)
        for statement in sample.memories:
            client.memories.remember(
                statement.memory,
                user=self._user_ids[statement.person] if statement.person else None,
                agent=self._agent_ids[statement.agent] if statement.agent else None,
            )

    def recall(self, question: SampleQuestion, limit: int) -> list[Hit]:
        answer = self._client.memories.recall(
            RecallQuery(query=question.query, limit=limit),
            user=self._user_ids[question.person],
            agent=self._agent_ids[question.agent],
        )
        return answer.hits


@contextmanager
def sample_player(server: Server) -> Iterator[SamplePlayer]:
    """Yield a player with its own key; close its connections at the end."""
    with Client(server.address, server.admin_key, trust_env=False) as admin:
        key = admin.keys.create(KeyCreate(name="demo", role=Role.SERVICE))
    with Client(server.address, key.secret, trust_env=False) as client:
        yield SamplePlayer(client)


def demo() -> None:
    """Show with sample data what each agent recalls, and why.

    Starts a real server on a free port and uses it over HTTP: two users, three agents, two
    platforms. Leaves nothing behind. Exit code 1 means that an answer is wrong.

    Examples:
      remembrancer demo
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
    grid = table("", "User and agent", "Question", "Recalled", "Why", rows=rows)
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
