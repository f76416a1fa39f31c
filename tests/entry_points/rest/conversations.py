"""Conversations, turns, contexts, summaries and jobs."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from entry_points.base import Json
from entry_points.rest.base import RestCalls, whom


def message_path(conversation_id: Any, message_id: Any) -> str:
    name = quote(str(message_id), safe="", errors="surrogatepass")
    return f"/api/conversations/{conversation_id}/messages/{name}"


class RestConversations(RestCalls):
    """Conversations, turns, contexts, summaries and jobs."""

    async def open(
        self, *, user: Any = None, agent: Any = None, key: Any = None, **fields: Any
    ) -> Json:
        body = {**whom(user, agent), **fields}
        return await self._send(
            "POST", "/api/conversations", body, headers={"Idempotency-Key": key}
        )

    async def say(
        self, conversation_id: Any, messages: Sequence[Json], *, user: Any = None, key: Any = None
    ) -> Json:
        body = {"messages": list(messages), **whom(user)}
        return await self._send(
            "POST",
            f"/api/conversations/{conversation_id}/messages",
            body,
            headers={"Idempotency-Key": key},
        )

    async def window(
        self, conversation_id: Any, *, user: Any = None, last: int = 20, before: int | None = None
    ) -> list[Json]:
        path = f"/api/conversations/{conversation_id}/messages"
        answer = await self._send("GET", path, last=last, before=before, **whom(user))
        return answer["items"]

    async def edit_message(
        self, conversation_id: Any, message_id: Any, content: Any, *, user: Any = None
    ) -> Json:
        path = message_path(conversation_id, message_id)
        return await self._send("PATCH", path, {"content": content, **whom(user)})

    async def delete_message(
        self, conversation_id: Any, message_id: Any, *, user: Any = None, **how: Any
    ) -> Json:
        path = message_path(conversation_id, message_id)
        return await self._send("DELETE", path, **whom(user), **how)

    async def delete_conversation(
        self, conversation_id: Any, *, user: Any = None, **how: Any
    ) -> Json:
        return await self._send(
            "DELETE", f"/api/conversations/{conversation_id}", **whom(user), **how
        )

    async def context(self, *, user: Any = None, agent: Any = None, **wanted: Any) -> Json:
        return await self._send("POST", "/api/memory/context", {**wanted, **whom(user, agent)})

    async def turn(
        self, conversation_id: Any, message: Json, *, user: Any = None, key: Any = None, **how: Any
    ) -> Json:
        path = f"/api/conversations/{conversation_id}/turn"
        return await self._send(
            "POST",
            path,
            {"message": message, **how, **whom(user)},
            headers={"Idempotency-Key": key},
        )

    async def answer(
        self, conversation_id: Any, content: Any, *, user: Any = None, key: Any = None
    ) -> Json:
        path = f"/api/conversations/{conversation_id}/answer"
        return await self._send(
            "POST", path, {"content": content, **whom(user)}, headers={"Idempotency-Key": key}
        )

    async def bulletin(self, agent_id: Any, **how: Any) -> Json:
        return await self._send("GET", f"/api/agents/{agent_id}/bulletin", **how)

    async def pause(self, conversation_id: Any, *, user: Any = None, paused: bool = True) -> Json:
        path = f"/api/conversations/{conversation_id}/pause"
        return await self._send("PUT" if paused else "DELETE", path, **whom(user))

    async def summarize(self, conversation_id: Any, *, user: Any = None) -> Json:
        path = f"/api/conversations/{conversation_id}/summarize"
        return await self._send("POST", path, **whom(user))

    async def chunks(self, conversation_id: Any, *, user: Any = None, **page: Any) -> Json:
        path = f"/api/conversations/{conversation_id}/chunks"
        return await self._send("GET", path, **whom(user), **page)

    async def jobs(self, **page: Any) -> Json:
        return await self._send("GET", "/api/jobs", **page)
