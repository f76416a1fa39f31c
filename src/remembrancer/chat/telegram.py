"""``/memory`` and changes of messages on Telegram: ``pip install 'remembrancer[telegram]'``."""

from html import escape
from typing import Any

from remembrancer.app import Remembrancer
from remembrancer.bot.memory import AsyncMemory
from remembrancer.bot.names import BotAgent
from remembrancer.chat.changes import MessageChanges
from remembrancer.chat.dispatch import ChatCommands, IncomingMessage, NotReachableError
from remembrancer.chat.replies import File, Span
from remembrancer.extras import extra

with extra("telegram"):
    from telegram import Update
    from telegram.error import BadRequest, Forbidden
    from telegram.ext import Application, CommandHandler, MessageHandler, filters

_TAGS = {"bold": "b", "code": "code"}
_CHANGES = -8420


class TelegramMessenger:
    """Replies through a bot."""

    platform = "telegram"
    limit = 4096

    def __init__(self, bot: Any) -> None:
        self._bot = bot

    def markup(self, span: Span) -> str:
        """Return a span as Telegram's HTML."""
        text = escape(span.text, quote=False)
        tag = _TAGS.get(span.style)
        return f"<{tag}>{text}</{tag}>" if tag else text

    def length(self, text: str) -> int:
        """Return the length in UTF-16 units, with tags: at least what Telegram counts."""
        return len(text.encode("utf-16-le")) // 2

    async def send_private(self, message: IncomingMessage, text: str) -> None:
        """Send to the private chat, which has the id of the user."""
        try:
            await self._bot.send_message(message.platform_user_id, text, parse_mode="HTML")
        except (Forbidden, BadRequest) as error:
            raise NotReachableError from error

    async def send_file(self, message: IncomingMessage, file: File) -> None:
        """Send a file to the private chat."""
        await self._bot.send_document(
            message.platform_user_id, document=file.content, filename=file.name
        )

    async def send_to_chat(self, message: IncomingMessage, text: str) -> None:
        """Send to the chat of the message."""
        await self._bot.send_message(message.chat_id, text, parse_mode="HTML")


def add_memory_command(
    application: "Application[Any, Any, Any, Any, Any, Any]",
    memory: Remembrancer | AsyncMemory,
    agent: BotAgent | None = None,
) -> None:
    """Add ``/memory`` to a bot, for one agent. The agent never sees the commands.

    The memory may be opened later, and may be that of a server, with the key of a service.
    """
    commands = ChatCommands(memory, agent)

    async def on_memory(update: Update, context: Any) -> None:
        message, user, chat = update.effective_message, update.effective_user, update.effective_chat
        if message is None or user is None or chat is None or message.text is None:
            return
        incoming = IncomingMessage(
            platform_user_id=str(user.id),
            display_name=user.full_name,
            chat_id=str(chat.id),
            private=chat.type == "private",
            text=message.text,
        )
        await commands.serve(TelegramMessenger(context.bot), incoming)

    application.add_handler(CommandHandler("memory", on_memory))


def add_message_changes(
    application: "Application[Any, Any, Any, Any, Any, Any]",
    memory: Remembrancer | AsyncMemory,
    agent: BotAgent | None = None,
) -> None:
    """Apply edits of messages, beside the handlers of the bot. Telegram reports no deletions.

    For conversations with the platform ``telegram``, the chat's id, and the ids of its messages.
    """
    changes = MessageChanges(memory, "telegram", agent)

    async def on_edit(update: Update, _context: Any) -> None:
        message = update.edited_message or update.edited_channel_post
        if message is not None and (content := message.text or message.caption) is not None:
            await changes.edit(message.chat_id, message.message_id, content)

    # Of each group of handlers, one gets an update.
    application.add_handler(MessageHandler(filters.UpdateType.EDITED, on_edit), group=_CHANGES)
