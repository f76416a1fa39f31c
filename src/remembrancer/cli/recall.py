"""``recall``: what is known that helps, and why it was chosen."""

from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.console import Group
from rich.table import Table
from rich.text import Text

from remembrancer.app import Remembrancer
from remembrancer.cli.actors import AgentOption, UserOption, actor_for
from remembrancer.cli.output import as_json, clipped, console, day, plain, table
from remembrancer.cli.reasons import reasons
from remembrancer.cli.runtime import with_store
from remembrancer.memories.schemas import Kind
from remembrancer.recall.schemas import Hit, Mode, RecallAnswer, RecallQuery, Sort

CLIPPED_AT = 220
"""Characters of a hit that the table shows; --json has all of it."""


def recall(
    context: typer.Context,
    query: Annotated[str, typer.Argument(help="A question, or words to look for.")],
    user: UserOption = None,
    agent: AgentOption = None,
    limit: Annotated[int, typer.Option(min=1, max=100, help="Most hits.")] = 10,
    mode: Annotated[Mode, typer.Option(help="How to choose.")] = Mode.HYBRID,
    sort: Annotated[Sort | None, typer.Option(help="Order; as the mode implies.")] = None,
    kind: Annotated[
        list[Kind] | None, typer.Option(help="Memories of this kind only; may be repeated.")
    ] = None,
    as_of: Annotated[datetime | None, typer.Option(help="Answer as of this time, in UTC.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the whole answer as JSON.")] = False,
) -> None:
    """Recall what helps with a question and may be told to a user.

    Without --user, only shared knowledge is recalled.
    """
    wanted = RecallQuery(
        query=query,
        limit=limit,
        mode=mode,
        sort=sort,
        kinds=kind or [],
        as_of=as_of.replace(tzinfo=UTC) if as_of else None,
    )

    async def work(app: Remembrancer) -> RecallAnswer:
        return await app.memories.recall(await actor_for(app, user, agent), wanted)

    answer = with_store(context, work)
    if json:
        as_json(answer)
    else:
        console().print(_shown(answer, query))


def _shown(answer: RecallAnswer, query: str) -> Table | Text | Group:
    if not answer.hits:
        return Text("Nothing is known that this user may be told.", style="dim")
    rows = [_row(rank, hit, query) for rank, hit in enumerate(answer.hits, 1)]
    made = table("#", "Type", "What", "Who and when", "Why", rows=rows)
    made.columns[0].justify = "right"
    made.columns[2].ratio = 5
    made.columns[3].ratio = 2
    made.columns[4].ratio = 4
    made.expand = True
    made.show_lines = False
    made.leading = 1
    return made


def _row(rank: int, hit: Hit, query: str) -> list[str | Text]:
    return [
        str(rank),
        plain(hit.kind.value if hit.kind else hit.type, style="cyan"),
        clipped(hit.content, CLIPPED_AT),
        _who_and_when(hit),
        plain(_why(hit, query), style="dim"),
    ]


def _why(hit: Hit, query: str) -> str:
    if not hit.reasons.arms and hit.importance is not None:
        return f"importance {hit.importance:.2f}"
    return reasons(hit.reasons, query)


def _who_and_when(hit: Hit) -> Text:
    who = hit.sender_name or ("everybody's" if hit.user_id is None else hit.subject or "")
    return Text("\n").join(part for part in (plain(who), plain(day(hit.at), "dim")) if part)
