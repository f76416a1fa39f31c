"""``/memory`` on Telegram, by python-telegram-bot: ``pip install 'remembrancer[telegram]'``."""

from html import escape
from typing import Any
from uuid import UUID

from telegram import Update
from telegram.error import BadRequest, Forbidden
from telegram.ext import Application, CommandHandler

from remembrancer.app import Remembrancer
from remembrancer.chat.dispatch import ChatCommands, NotReachableError, Typed
from remembrancer.chat.replies import File, Piece

_TAGS = {"bold": "b", "code": "code"}


class TelegramMessenger:
    """Sends answers through a bot."""

    platform = "telegram"
    limit = 4096

    def __init__(self, bot: Any) -> None:
        self._bot = bot

    def write(self, piece: Piece) -> str:
        """Return a piece as Telegram's HTML."""
        text = escape(piece.text, quote=False)
        tag = _TAGS.get(piece.style)
        return f"<{tag}>{text}</{tag}>" if tag else text

    def length(self, text: str) -> int:
        """Return the length in UTF-16 units, tags included: never less than Telegram counts."""
        return len(text.encode("utf-16-le")) // 2

    async def to_person(self, typed: Typed, text: str) -> None:
        """Send to the chat with this person, whose id is theirs."""
        try:
            await self._bot.send_message(typed.platform_user_id, text, parse_mode="HTML")
        except (Forbidden, BadRequest) as error:
            raise NotReachableError from error

    async def file_to_person(self, typed: Typed, file: File) -> None:
        """Send a document to this person."""
        await self._bot.send_document(
            typed.platform_user_id, document=file.content, filename=file.name
        )

    async def to_chat(self, typed: Typed, text: str) -> None:
        """Send to where it was typed."""
        await self._bot.send_message(typed.chat_id, text, parse_mode="HTML")


def add_memory_command(
    application: "Application[Any, Any, Any, Any, Any, Any]",
    app: Remembrancer,
    agent_id: UUID | None = None,
) -> None:
    """Let a bot answer ``/memory``, for the agent it speaks for. The agent never sees it."""
    commands = ChatCommands(app, agent_id)

    async def on_memory(update: Update, context: Any) -> None:
        message, user, chat = update.effective_message, update.effective_user, update.effective_chat
        if message is None or user is None or chat is None or message.text is None:
            return
        typed = Typed(
            platform_user_id=str(user.id),
            display_name=user.full_name,
            chat_id=str(chat.id),
            private=chat.type == "private",
            text=message.text,
        )
        await commands.serve(TelegramMessenger(context.bot), typed)

    application.add_handler(CommandHandler("memory", on_memory))
