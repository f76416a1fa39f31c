"""Edits and deletions that a platform reports, for conversations that have its ids."""

from collections.abc import Iterable
from contextlib import suppress
from uuid import UUID

from remembrancer.access import as_actor
from remembrancer.app import Remembrancer
from remembrancer.bot.memory import AsyncMemory
from remembrancer.bot.names import BotAgent
from remembrancer.chat.memories import ChatMemory
from remembrancer.errors import NotFound


class MessageChanges:
    """Applies changes of messages, as an agent. Chats and messages that are not stored stay so."""

    def __init__(
        self, memory: Remembrancer | AsyncMemory, platform: str, agent: BotAgent | None = None
    ) -> None:
        self._memory = ChatMemory(memory, agent)
        self._platform = platform
        self._service = as_actor(entry_point=platform)

    async def edit(self, chat_id: str | int, message_id: str | int, content: str) -> None:
        """Replace the words of a message."""
        with suppress(NotFound):
            conversation_id = await self._conversation(chat_id)
            await self._memory.library.conversations.edit_message(
                self._service, conversation_id, f"platform:{message_id}", content
            )

    async def delete(self, chat_id: str | int, message_ids: Iterable[str | int]) -> None:
        """Delete messages for good."""
        with suppress(NotFound):
            conversation_id = await self._conversation(chat_id)
            for message_id in message_ids:
                with suppress(NotFound):
                    await self._memory.library.conversations.delete_message(
                        self._service, conversation_id, f"platform:{message_id}"
                    )

    async def _conversation(self, chat_id: str | int) -> UUID:
        agent_id = await self._memory.agent_id(self._service)
        actor = self._service.acting_for(None, agent_id)
        conversations = self._memory.library.conversations
        return (await conversations.find(actor, self._platform, str(chat_id))).id
