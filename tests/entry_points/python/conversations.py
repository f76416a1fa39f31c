"""Conversations, turns, contexts, summaries and jobs."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from entry_points.base import Json, id_of
from entry_points.python.base import PythonCalls, parsed
from remembrancer import (
    ConversationCreate,
    MessageCreate,
)
from remembrancer.context.schemas import ContextQuery


class PythonConversations(PythonCalls):
    """Conversations, turns, contexts, summaries and jobs."""

    async def open(
        self, *, user: Any = None, agent: Any = None, key: Any = None, **fields: Any
    ) -> Json:
        wanted = parsed(ConversationCreate, {"agent_id": id_of(agent), **fields})
        return await self._tried(
            lambda: self.memory.conversations.open(self._for(user), wanted, idempotency_key=key)
        )

    async def say(
        self, conversation_id: Any, messages: Sequence[Json], *, user: Any = None, key: Any = None
    ) -> Json:
        where = parsed(UUID, conversation_id)
        what = parsed(list[MessageCreate], messages, within="messages.")
        return await self._tried(
            lambda: self.memory.conversations.append(
                self._for(user), where, what, idempotency_key=key
            )
        )

    async def window(
        self, conversation_id: Any, *, user: Any = None, last: int = 20, before: int | None = None
    ) -> list[Json]:
        where = parsed(UUID, conversation_id)
        page = await self._tried(
            lambda: self.memory.conversations.messages(
                self._for(user), where, last=last, before=before
            )
        )
        return page["items"]

    async def edit_message(
        self, conversation_id: Any, message_id: Any, content: Any, *, user: Any = None
    ) -> Json:
        where = parsed(UUID, conversation_id)
        return await self._tried(
            lambda: self.memory.conversations.edit_message(
                self._for(user), where, message_id, content
            )
        )

    async def delete_message(
        self, conversation_id: Any, message_id: Any, *, user: Any = None, **how: Any
    ) -> Json:
        where = parsed(UUID, conversation_id)
        return await self._tried(
            lambda: self.memory.conversations.delete_message(
                self._for(user), where, message_id, **how
            )
        )

    async def delete_conversation(
        self, conversation_id: Any, *, user: Any = None, **how: Any
    ) -> Json:
        where = parsed(UUID, conversation_id)
        return await self._tried(
            lambda: self.memory.conversations.delete(self._for(user), where, **how)
        )

    async def context(self, *, user: Any = None, agent: Any = None, **wanted: Any) -> Json:
        asked = parsed(ContextQuery, wanted)
        return await self._tried(
            lambda: self.memory.conversations.context(self._for(user, agent), asked)
        )

    async def turn(
        self, conversation_id: Any, message: Json, *, user: Any = None, key: Any = None, **how: Any
    ) -> Json:
        which, said = parsed(UUID, conversation_id), parsed(MessageCreate, message)
        wanted = parsed(ContextQuery, how)
        return await self._tried(
            lambda: self.memory.conversations.begin_turn(
                self._for(user), which, said, query=wanted, idempotency_key=key
            )
        )

    async def answer(
        self, conversation_id: Any, content: Any, *, user: Any = None, key: Any = None
    ) -> Json:
        which, said = parsed(UUID, conversation_id), parsed(MessageCreate, {"content": content})
        return await self._tried(
            lambda: self.memory.conversations.finish_turn(
                self._for(user), which, said.content, idempotency_key=key
            )
        )

    async def bulletin(self, agent_id: Any, **how: Any) -> Json:
        which = parsed(UUID, agent_id)
        return await self._tried(
            lambda: self.memory.agents.bulletin(self.actor, which, tokens=how.get("tokens"))
        )

    async def pause(self, conversation_id: Any, *, user: Any = None, paused: bool = True) -> Json:
        which = parsed(UUID, conversation_id)
        conversations = self.memory.conversations
        switch = conversations.pause if paused else conversations.resume
        return await self._tried(lambda: switch(self._for(user), which))

    async def summarize(self, conversation_id: Any, *, user: Any = None) -> Json:
        where = parsed(UUID, conversation_id)
        return await self._tried(
            lambda: self.memory.conversations.summarize(self._for(user), where)
        )

    async def chunks(self, conversation_id: Any, *, user: Any = None, **page: Any) -> Json:
        where = parsed(UUID, conversation_id)
        return await self._tried(
            lambda: self.memory.conversations.chunks(self._for(user), where, **page)
        )

    async def jobs(self, **page: Any) -> Json:
        found = await self._tried(lambda: self.memory.jobs.list(self.actor, **page))
        return {**found, "counts": await self._tried(lambda: self.memory.jobs.counts(self.actor))}
