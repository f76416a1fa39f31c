"""``/memory`` and changes of messages on Discord: ``pip install 'remembrancer[discord]'``."""

import io
import re
from typing import Any

from remembrancer.app import Remembrancer
from remembrancer.bot.memory import AsyncMemory
from remembrancer.bot.names import BotAgent
from remembrancer.chat.changes import MessageChanges
from remembrancer.chat.dispatch import ChatCommands, IncomingMessage
from remembrancer.chat.replies import File, Span
from remembrancer.extras import extra

with extra("discord"):
    import discord
    from discord import app_commands
    from discord.ext import commands

# The library's own escaping skips all text between the first bracket and the last.
_MARKUP = re.compile(r"([\\*_~`|>#\[\]()<:-])")
_MARKS = {"plain": "", "bold": "**", "code": ""}


class DiscordMessenger:
    """Replies to an interaction; only the author of the command sees the replies."""

    platform = "discord"
    limit = 2000

    def __init__(self, interaction: Any) -> None:
        self._interaction = interaction

    def markup(self, span: Span) -> str:
        """Return a span in Discord's Markdown; mentions in it notify nobody."""
        if span.style == "code":
            # Text without a backtick cannot close a code span of two.
            return f"`` {span.text.replace('`', chr(39)).strip()} `` "
        text = _MARKUP.sub(r"\\\1", discord.utils.escape_mentions(span.text))
        return f"{_MARKS[span.style]}{text}{_MARKS[span.style]}"

    def length(self, text: str) -> int:
        """Return the length of a message."""
        return len(text)

    # The interaction knows its author.
    async def send_private(self, message: IncomingMessage, text: str) -> None:  # noqa: ARG002
        """Reply privately."""
        await self._interaction.followup.send(
            text, ephemeral=True, allowed_mentions=discord.AllowedMentions.none()
        )

    async def send_file(self, message: IncomingMessage, file: File) -> None:  # noqa: ARG002
        """Send a file privately."""
        attachment = discord.File(io.BytesIO(file.content), filename=file.name)
        await self._interaction.followup.send(file=attachment, ephemeral=True)

    async def send_to_chat(self, message: IncomingMessage, text: str) -> None:
        """Send nothing: Discord itself shows that a command was used."""


def add_memory_command(
    tree: "app_commands.CommandTree[Any]",
    memory: Remembrancer | AsyncMemory,
    agent: BotAgent | None = None,
) -> None:
    """Add ``/memory`` to a bot, for one agent. The agent never sees the commands.

    The memory may be opened later, and may be that of a server, with the key of a service.
    """
    commands = ChatCommands(memory, agent)

    async def on_memory(interaction: discord.Interaction[Any], command: str = "list") -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        incoming = IncomingMessage(
            platform_user_id=str(interaction.user.id),
            display_name=interaction.user.display_name,
            chat_id=str(interaction.channel_id),
            private=interaction.guild_id is None,
            text=f"/memory {command}",
        )
        await commands.serve(DiscordMessenger(interaction), incoming)

    usage = "list, search, show, add, edit, delete, scope, … or help"
    app_commands.describe(command=usage)(on_memory)
    tree.add_command(
        app_commands.Command(name="memory", description="Manage your memory", callback=on_memory)
    )


def add_message_changes(
    bot: "commands.Bot", memory: Remembrancer | AsyncMemory, agent: BotAgent | None = None
) -> None:
    """Apply edits and deletions of messages, beside the listeners of the bot.

    For conversations with the platform ``discord``, the channel's id, and the ids of its messages.
    """
    changes = MessageChanges(memory, "discord", agent)

    async def on_edit(event: discord.RawMessageUpdateEvent) -> None:
        # Without content only an embed or a pin changed.
        content = event.data.get("content")
        if content is not None:
            await changes.edit(event.channel_id, event.message_id, content)

    async def on_delete(event: discord.RawMessageDeleteEvent) -> None:
        await changes.delete(event.channel_id, [event.message_id])

    async def on_bulk_delete(event: discord.RawBulkMessageDeleteEvent) -> None:
        await changes.delete(event.channel_id, sorted(event.message_ids))

    bot.add_listener(on_edit, "on_raw_message_edit")
    bot.add_listener(on_delete, "on_raw_message_delete")
    bot.add_listener(on_bulk_delete, "on_raw_bulk_message_delete")
