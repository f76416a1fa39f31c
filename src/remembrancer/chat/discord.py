"""``/memory`` on Discord, by discord.py: ``pip install 'remembrancer[discord]'``."""

import io
import re
from typing import Any
from uuid import UUID

import discord
from discord import app_commands

from remembrancer.app import Remembrancer
from remembrancer.chat.dispatch import ChatCommands, IncomingMessage
from remembrancer.chat.replies import File, Span

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
    tree: "app_commands.CommandTree[Any]", app: Remembrancer, agent_id: UUID | None = None
) -> None:
    """Add ``/memory`` to a bot, for one agent. The agent never sees the commands."""
    commands = ChatCommands(app, agent_id)

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
