"""``/memory`` on Discord, by discord.py: ``pip install 'remembrancer[discord]'``."""

import io
import re
from typing import Any
from uuid import UUID

import discord
from discord import app_commands

from remembrancer.app import Remembrancer
from remembrancer.chat.dispatch import ChatCommands, Typed
from remembrancer.chat.replies import File, Piece

# The library's own escaping leaves whatever stands between the first bracket and the last.
_MARKUP = re.compile(r"([\\*_~`|>#\[\]()<:-])")
_MARKS = {"plain": "", "bold": "**", "code": ""}


class DiscordMessenger:
    """Sends answers to an interaction; only who typed the command sees them."""

    platform = "discord"
    limit = 2000

    def __init__(self, interaction: Any) -> None:
        self._interaction = interaction

    def write(self, piece: Piece) -> str:
        """Return a piece in Discord's Markdown; no mention in it reaches anybody."""
        if piece.style == "code":
            # Nothing closes a code span of two marks that holds none itself.
            return f"`` {piece.text.replace('`', chr(39)).strip()} `` "
        text = _MARKUP.sub(r"\\\1", discord.utils.escape_mentions(piece.text))
        return f"{_MARKS[piece.style]}{text}{_MARKS[piece.style]}"

    def length(self, text: str) -> int:
        """Return how long a message is."""
        return len(text)

    # The interaction knows who typed it.
    async def to_person(self, typed: Typed, text: str) -> None:  # noqa: ARG002
        """Answer so that this person alone sees it."""
        await self._interaction.followup.send(
            text, ephemeral=True, allowed_mentions=discord.AllowedMentions.none()
        )

    async def file_to_person(self, typed: Typed, file: File) -> None:  # noqa: ARG002
        """Hand over a file that this person alone sees."""
        attached = discord.File(io.BytesIO(file.content), filename=file.name)
        await self._interaction.followup.send(file=attached, ephemeral=True)

    async def to_chat(self, typed: Typed, text: str) -> None:
        """Say nothing to others: an answer of this kind needs no notice."""


def add_memory_command(
    tree: "app_commands.CommandTree[Any]", app: Remembrancer, agent_id: UUID | None = None
) -> None:
    """Let a bot answer ``/memory``, for the agent it speaks for. The agent never sees it."""
    commands = ChatCommands(app, agent_id)

    async def on_memory(interaction: discord.Interaction[Any], what: str = "list") -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        typed = Typed(
            platform_user_id=str(interaction.user.id),
            display_name=interaction.user.display_name,
            chat_id=str(interaction.channel_id),
            private=interaction.guild_id is None,
            text=f"/memory {what}",
        )
        await commands.serve(DiscordMessenger(interaction), typed)

    what = "list, search, show, add, edit, delete, scope, … or help"
    app_commands.describe(what=what)(on_memory)
    tree.add_command(
        app_commands.Command(
            name="memory", description="Look after what is remembered of you", callback=on_memory
        )
    )
