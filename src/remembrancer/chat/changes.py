"""Edits and deletions that a platform reports, for conversations that have its ids."""

from collections.abc import Iterable
from contextlib import suppress
from uuid import UUID

from remembrancer.access import as_actor
from remembrancer.app import Remembrancer
from remembrancer.errors import NotFound


class MessageChanges:
    """Applies changes of messages, as an agent. Chats and messages that are not stored stay so."""

    def __init__(self, app: Remembrancer, platform: str, agent_id: UUID | None = None) -> None:
        self._app = app
        self._platform = platform
        self._actor = as_actor(None, agent_id, entry_point=platform)

    async def edit(self, chat_id: str, message_id: str, content: str) -> None:
        """Replace the words of a message."""
        if (conversation_id := await self._conversation(chat_id)) is not None:
            with suppress(NotFound):
                await self._app.conversations.edit_message(
                    self._actor, conversation_id, f"platform:{message_id}", content
                )

    async def delete(self, chat_id: str, message_ids: Iterable[str]) -> None:
        """Delete messages for good."""
        if (conversation_id := await self._conversation(chat_id)) is not None:
            for message_id in message_ids:
                with suppress(NotFound):
                    await self._app.conversations.delete_message(
                        self._actor, conversation_id, f"platform:{message_id}"
                    )

    async def _conversation(self, chat_id: str) -> UUID | None:
        found = await self._app.conversations.on_platform(self._actor, self._platform, chat_id)
        return None if found is None else found.id
