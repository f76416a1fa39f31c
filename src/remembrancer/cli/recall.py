"""``recall``: search memories and messages, with reasons."""

import re
from datetime import datetime
from typing import Annotated

import typer
from rich.text import Text

from remembrancer.app import Remembrancer
from remembrancer.cli.actors import actor_for
from remembrancer.cli.command import Output, store_command
from remembrancer.cli.options import TIMES, AgentOption, MetadataOption, UserOption, in_utc
from remembrancer.cli.output import Rows, clipped, day, plain, table
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
    limit: Annotated[int, typer.Option(min=1, max=100, help="How many hits at most.")] = 10,
    min_relevance: Annotated[
        float, typer.Option(min=0, max=1, help="Only hits with at least this relevance.")
    ] = 0.0,
    mode: Annotated[Mode, typer.Option(help="How to choose hits.")] = Mode.HYBRID,
    sort: Annotated[
        Sort | None, typer.Option(help="Order of the hits.", show_default="by the mode")
    ] = None,
    kind: Annotated[
        list[Kind] | None, typer.Option(help="Only memories of this kind. Can be repeated.")
    ] = None,
    metadata: MetadataOption = "{}",
    as_of: Annotated[
        datetime | None, typer.Option(help=f"Answer as at this time, in UTC: {TIMES}.")
    ] = None,
) -> Output:
    """Find the memories and messages that help with a question.

    Without --user it searches only what is shared with everybody.

    Examples:
      remembrancer recall "What does Ada drink?" --user Ada --limit 3
      remembrancer recall "Where did Ada work?" --user Ada --as-of 2026-03-01
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
        as_of=in_utc(as_of),
    )
    answer = await app.memories.recall(await actor_for(app, user, agent), request)
    return Output(answer, _render(answer, query))


def _render(answer: RecallAnswer, query: str) -> Rows:
    return table(
        "Id",
        "Type",
        "Content",
        "Who and when",
        "Why",
        rows=[_row(hit, query) for hit in answer.hits],
        empty="Nothing is found that may be told here. Everything of a user: "
        "remembrancer memories list --user NAME",
    )


def _row(hit: Hit, query: str) -> list[str | Text]:
    return [
        hit.id,
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
