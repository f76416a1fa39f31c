"""``recall``: search memories and messages, with reasons."""

import re
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.console import Group
from rich.table import Table
from rich.text import Text

from remembrancer.app import Remembrancer
from remembrancer.cli.actors import actor_for
from remembrancer.cli.command import Output, store_command
from remembrancer.cli.options import AgentOption, MetadataOption, UserOption
from remembrancer.cli.output import clipped, day, plain, table
from remembrancer.memories.schemas import Kind
from remembrancer.recall.schemas import (
    ArmReason,
    Hit,
    Mode,
    Reasons,
    RecallAnswer,
    RecallQuery,
    Sort,
)
from remembrancer.spaces.rules import origin
from remembrancer.validation import validate

_ARMS = {"dense": "meaning", "keyword": "words"}
MAX_CHARACTERS = 220
"""Characters of a hit in the table; --json has the whole text."""


@store_command()
async def recall(
    app: Remembrancer,
    query: Annotated[str, typer.Argument(help="A question, or search words.")],
    user: UserOption = None,
    agent: AgentOption = None,
    limit: Annotated[int, typer.Option(min=1, max=100, help="The most hits.")] = 10,
    min_relevance: Annotated[
        float, typer.Option(min=0, max=1, help="Only hits of at least this relevance.")
    ] = 0.0,
    mode: Annotated[Mode, typer.Option(help="How hits are chosen.")] = Mode.HYBRID,
    sort: Annotated[Sort | None, typer.Option(help="Order. Default: set by the mode.")] = None,
    kind: Annotated[
        list[Kind] | None, typer.Option(help="Only memories of this kind; repeatable.")
    ] = None,
    metadata: MetadataOption = "{}",
    as_of: Annotated[datetime | None, typer.Option(help="Answer as of this time, in UTC.")] = None,
) -> Output:
    """Recall memories and messages that help with a question.

    Without --user, only shared knowledge is recalled.
    """
    request = validate(
        RecallQuery,
        query=query,
        limit=limit,
        min_relevance=min_relevance,
        mode=mode,
        sort=sort,
        kinds=kind or [],
        metadata=metadata,
        as_of=as_of.replace(tzinfo=UTC) if as_of else None,
    )
    answer = await app.memories.recall(await actor_for(app, user, agent), request)
    return Output(answer, _render(answer, query))


def _render(answer: RecallAnswer, query: str) -> Table | Text | Group:
    if not answer.hits:
        return Text("No hits that this user may see.", style="dim")
    rows = [_row(rank, hit, query) for rank, hit in enumerate(answer.hits, 1)]
    grid = table("#", "Type", "Content", "Who and when", "Why", rows=rows)
    grid.columns[0].justify = "right"
    for column, share in zip(grid.columns[2:], (5, 2, 4), strict=True):
        column.ratio = share
    grid.expand = True
    grid.show_lines = False
    grid.leading = 1
    return grid


def _row(rank: int, hit: Hit, query: str) -> list[str | Text]:
    return [
        str(rank),
        plain(hit.kind.value if hit.kind else hit.type, style="cyan"),
        clipped(hit.content, MAX_CHARACTERS),
        _who_and_when(hit),
        plain(_why(hit, query), style="dim"),
    ]


def _why(hit: Hit, query: str) -> str:
    if not hit.reasons.arms and hit.importance is not None:
        return f"importance {hit.importance:.2f}"
    return reason_line(hit.reasons, query)


def _who_and_when(hit: Hit) -> Text:
    who = hit.sender_name or ("shared" if hit.user_id is None else hit.subject or "")
    parts = (plain(who), plain(origin(hit)), plain(day(hit.at), "dim"))
    return Text("\n").join(part for part in parts if part)


def reason_line(reasons: Reasons, query: str) -> str:
    parts = ["exact match"] if reasons.exact else []
    words = [_query_word(stem, query) for stem in reasons.words]
    arms = sorted(reasons.arms.items(), key=lambda arm: arm[1].rank)
    parts += [_arm(name, arm, words) for name, arm in arms]
    return "; ".join(parts)


def _arm(name: str, arm: ArmReason, words: list[str]) -> str:
    text = f"{_ARMS.get(name, name)} #{arm.rank}"
    if name == "keyword" and words:
        text += f" ({', '.join(words)})"
    if arm.lifted_by:
        text += f", lifted by neighbour {arm.lifted_by:+d}"
    return text


def _query_word(stem: str, query: str) -> str:
    """Return the query's word with this stem, or the stem if none is obvious."""
    prefix = stem[:-1] if len(stem) > 4 else stem  # the stem of "community" is "communiti"
    words = re.findall(r"\w+", query)
    return next((word for word in words if word.casefold().startswith(prefix)), stem)
