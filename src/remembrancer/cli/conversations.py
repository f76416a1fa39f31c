"""``conversations``: summarise, edit messages, and delete permanently."""

from collections import Counter
from typing import Annotated
from uuid import UUID

import typer

from remembrancer.app import Remembrancer
from remembrancer.cli.actors import actor_for
from remembrancer.cli.command import command
from remembrancer.cli.erasure import erasure
from remembrancer.cli.options import UserArgument, UserOption
from remembrancer.cli.output import console, progress
from remembrancer.cli.runtime import ADMIN, with_store
from remembrancer.conversations.schemas import EditResult
from remembrancer.erasure.schemas import Receipt
from remembrancer.errors import InvalidInput
from remembrancer.extraction.schemas import UnsummarisedConversation
from remembrancer.text import plural

group = typer.Typer()

ConversationId = Annotated[UUID, typer.Argument(help="Id of a conversation.")]


@group.command()
def summarize(
    context: typer.Context,
    conversation: Annotated[UUID | None, typer.Argument(help="Id of a conversation.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="All conversations.")] = False,
) -> None:
    """Summarise older messages now, and find facts in them.

    A server does it by itself; after an import, this saves the wait. Safe to repeat and to
    interrupt.

    Examples:
      remembrancer conversations summarize --all
    """
    if everything == (conversation is not None):
        raise InvalidInput("give either an id or --all", field="conversation")

    async def work(app: Remembrancer) -> Counter[str]:
        pending = await app.summaries.unsummarised(ADMIN)
        if conversation is not None:
            sizes = {item.conversation_id: item.messages for item in pending}
            messages = sizes.get(conversation, 0)
            pending = [UnsummarisedConversation(conversation_id=conversation, messages=messages)]
        totals: Counter[str] = Counter()
        with progress() as bar:
            task = bar.add_task("Messages", total=sum(item.messages for item in pending))
            for item in pending:
                summary = await app.conversations.summarize(
                    ADMIN, item.conversation_id, progress=lambda count: bar.advance(task, count)
                )
                totals["conversations"] += summary.messages > 0
                totals["messages"] += summary.messages
                totals["chunks"] += summary.chunks
                totals["facts"] += summary.facts
                totals["refused"] += sum(guarded.refused for guarded in summary.guarded)
        return totals

    _print(with_store(context, work))


def _print(totals: Counter[str]) -> None:
    screen = console()
    if not totals["messages"]:
        screen.print("Nothing to do: all messages outside the windows are summarised.")
        return
    screen.print(
        f"{plural(totals['messages'], 'message')} of "
        f"{plural(totals['conversations'], 'conversation')} summarised: "
        f"{plural(totals['chunks'], 'summary', 'summaries')}, {plural(totals['facts'], 'fact')}."
    )
    if totals["refused"]:
        screen.print(f"The guard refused {plural(totals['refused'], 'more fact')}.")


MessageArgument = Annotated[
    str, typer.Argument(help="Id of a message, or platform: and the platform's id of it.")
]


@erasure(group)
async def delete_message(
    app: Remembrancer,
    user: UserArgument,
    conversation_id: ConversationId,
    message: MessageArgument,
    *,
    dry_run: bool,
) -> Receipt:
    """Delete a message for good, with the memories based only on it.

    Examples:
      remembrancer conversations delete-message Ada CONVERSATION platform:1310571
    """
    return await app.conversations.delete_message(
        await actor_for(app, user), conversation_id, message, dry_run=dry_run
    )


@erasure(group)
async def delete(
    app: Remembrancer, conversation_id: ConversationId, *, user: UserOption = None, dry_run: bool
) -> Receipt:
    """Delete a conversation for good, with the memories based only on its messages.

    Examples:
      remembrancer conversations delete CONVERSATION --apply
    """
    return await app.conversations.delete(
        await actor_for(app, user), conversation_id, dry_run=dry_run
    )


def _edited(result: EditResult) -> str:
    redacted = " The guard redacted a part of it." if result.guard else ""
    return f"Message {result.message.position} is edited.{redacted}"


@command(group, render=_edited)
async def edit_message(
    app: Remembrancer,
    user: UserArgument,
    conversation_id: ConversationId,
    message: MessageArgument,
    content: Annotated[str, typer.Argument(help="The new words.")],
) -> EditResult:
    """Replace the words of a message. Memories and summaries of the old words follow.

    Examples:
      remembrancer conversations edit-message Ada CONVERSATION platform:1310571 "I live in Porto"
    """
    return await app.conversations.edit_message(
        await actor_for(app, user), conversation_id, message, content
    )
