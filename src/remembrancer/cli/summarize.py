"""``summarize``: what has left the window of conversations, now rather than later."""

from collections import Counter
from typing import Annotated
from uuid import UUID

import typer

from remembrancer.app import Remembrancer
from remembrancer.cli.output import console, progress
from remembrancer.cli.runtime import ADMIN, with_store
from remembrancer.errors import InvalidInput
from remembrancer.extraction.schemas import Pending


def summarize(
    context: typer.Context,
    conversation: Annotated[UUID | None, typer.Argument(help="Id of a conversation.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="All conversations.")] = False,
) -> None:
    """Summarise what has left the window. Doing it again, or after an interruption, goes on."""
    if everything == (conversation is not None):
        raise InvalidInput("name one, or give --all", field="conversation")

    async def work(app: Remembrancer) -> Counter[str]:
        pending = await app.summaries.pending(ADMIN)
        if conversation is not None:
            known = {one.conversation_id: one.messages for one in pending}
            pending = [Pending(conversation_id=conversation, messages=known.get(conversation, 0))]
        done: Counter[str] = Counter()
        with progress() as bar:
            task = bar.add_task("Messages", total=sum(one.messages for one in pending))
            for one in pending:
                summarised = await app.conversations.summarize(
                    ADMIN, one.conversation_id, progress=lambda count: bar.advance(task, count)
                )
                done["conversations"] += summarised.messages > 0
                for name in ("messages", "chunks", "facts"):
                    done[name] += getattr(summarised, name)
                done["refused"] += sum(one.refused for one in summarised.guarded)
        return done

    done = with_store(context, work)
    if not done["messages"]:
        console().print("Nothing to do: all that has left the windows is summarised.")
        return
    console().print(
        f"{done['messages']:,} messages of {done['conversations']:,} conversations summarised: "
        f"{done['chunks']:,} summaries, {done['facts']:,} facts."
    )
    if done["refused"]:
        console().print(f"The guard refused {done['refused']:,} more facts.")
