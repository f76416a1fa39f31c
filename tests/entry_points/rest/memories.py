"""Memories, review, recall, tools, places, associations and the document."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from entry_points.base import Json, decisions_of, id_of
from entry_points.rest.base import IN_QUERY, RestCalls, path_of, spot_of, whom


class RestMemories(RestCalls):
    """Memories, review, recall, tools, places, associations and the document."""

    async def remember(
        self, content: Any, *, user: Any = None, agent: Any = None, key: Any = None, **fields: Any
    ) -> Json:
        body = {"content": content, **whom(user, agent), **fields}
        return await self._send("POST", "/api/memory/", body, headers={"Idempotency-Key": key})

    async def remember_many(
        self, memories: Sequence[Json], *, user: Any = None, agent: Any = None, key: Any = None
    ) -> list[Json]:
        body = {"memories": list(memories), **whom(user, agent)}
        answer = await self._send(
            "POST", "/api/memory/bulk", body, headers={"Idempotency-Key": key}
        )
        return answer["items"]

    async def read(self, memory_id: str, *, user: Any = None, agent: Any = None) -> Json:
        return await self._send("GET", path_of(memory_id), **whom(user, agent))

    async def update(
        self, memory_id: str, *, user: Any = None, if_version: int | None = None, **changes: Any
    ) -> Json:
        tag = None if if_version is None else f'"{if_version}"'
        return await self._send(
            "PUT", path_of(memory_id), changes, headers={"If-Match": tag}, **whom(user)
        )

    async def forget(self, memory_id: str, *, user: Any = None) -> Json:
        return await self._send("DELETE", path_of(memory_id), **whom(user))

    async def forget_many(
        self,
        memory_ids: Any = (),
        *,
        user: Any = None,
        agent: Any = None,
        key: Any = None,
        dry_run: bool = False,
        **filters: Any,
    ) -> Json:
        body = {"memory_ids": list(memory_ids), "dry_run": dry_run, **whom(user, agent)}
        if filters:
            body["filters"] = filters
        headers = {"Idempotency-Key": key}
        return await self._send("POST", "/api/memory/forget", body, headers=headers)

    async def undo_forget(self, undo_id: Any, *, user: Any = None) -> Json:
        return await self._send("POST", f"/api/memory/forget/{undo_id}/undo", **whom(user))

    async def restore(self, memory_id: str, *, user: Any = None) -> Json:
        return await self._send("POST", path_of(memory_id) + "/restore", **whom(user))

    async def pin(self, memory_id: str, *, user: Any = None, pinned: bool = True) -> Json:
        method = "PUT" if pinned else "DELETE"
        return await self._send(method, path_of(memory_id) + "/pin", **whom(user))

    async def activate(self, memory_id: str, *, user: Any = None, active: bool = True) -> Json:
        last = "activate" if active else "deactivate"
        return await self._send("POST", f"{path_of(memory_id)}/{last}", **whom(user))

    async def budget(self, user: Any, **wanted: Any) -> Json:
        return await self._send("GET", f"/api/users/{id_of(user)}/memory-budget", **wanted)

    async def tools(self) -> list[Json]:
        return await self._send("GET", "/api/tools")

    async def call(
        self, name: str, arguments: Any = None, *, user: Any = None, agent: Any = None, **at: Any
    ) -> Json:
        given = {} if arguments is None else arguments
        body = {"arguments": given, **whom(user, agent), **at}
        return await self._send("POST", f"/api/tools/{name}", body)

    async def document(self, user: Any, *, agent: Any = None) -> Json:
        path = f"/api/users/{id_of(user)}/memory-document"
        return await self._send("GET", path, agent_id=id_of(agent))

    async def import_document(self, user: Any, document: Json, *, agent: Any = None) -> Json:
        path = f"/api/users/{id_of(user)}/memory-document"
        return await self._send("POST", path, document, agent_id=id_of(agent))

    async def add_place(
        self, user: Any, *, agent: Any = None, key: Any = None, **place: Any
    ) -> Json:
        path = f"/api/users/{id_of(user)}/places"
        headers = {"Idempotency-Key": key}
        return await self._send("POST", path, place, headers=headers, agent_id=id_of(agent))

    async def mention_place(
        self, user: Any, place_id: str, *, agent: Any = None, key: Any = None, **where: Any
    ) -> Json:
        path = spot_of(user, place_id) + "/mentions"
        headers = {"Idempotency-Key": key}
        return await self._send("POST", path, where, headers=headers, agent_id=id_of(agent))

    async def place(self, user: Any, place_id: str, *, agent: Any = None) -> Json:
        return await self._send("GET", spot_of(user, place_id), agent_id=id_of(agent))

    async def places(self, user: Any, *, agent: Any = None, **page: Any) -> Json:
        path = f"/api/users/{id_of(user)}/places"
        return await self._send("GET", path, agent_id=id_of(agent), **page)

    async def associate(
        self, memory_id: Any, target_id: Any, *, user: Any = None, agent: Any = None, **edge: Any
    ) -> Json:
        body = {"target_id": target_id, **edge}
        path = path_of(memory_id) + "/associations"
        return await self._send("PUT", path, body, **whom(user, agent))

    async def dissociate(
        self, memory_id: Any, target_id: Any, relation: Any = None, *, user: Any = None
    ) -> None:
        path = f"{path_of(memory_id)}/associations/{quote(target_id, safe='')}"
        await self._send("DELETE", path, relation=relation, **whom(user))

    async def associations(
        self,
        memory_id: Any,
        *,
        user: Any = None,
        agent: Any = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Json:
        path = path_of(memory_id) + "/associations"
        return await self._send("GET", path, limit=limit, cursor=cursor, **whom(user, agent))

    async def neighbours(
        self, memory_id: Any, *, user: Any = None, agent: Any = None, **wanted: Any
    ) -> Json:
        return await self._send(
            "GET", path_of(memory_id) + "/neighbours", **whom(user, agent), **wanted
        )

    async def suggestions(self, memory_id: Any, *, user: Any = None, agent: Any = None) -> Json:
        return await self._send("GET", path_of(memory_id) + "/suggestions", **whom(user, agent))

    async def listed(
        self,
        *,
        user: Any = None,
        agent: Any = None,
        limit: int = 50,
        cursor: str | None = None,
        **wanted: Any,
    ) -> Json:
        named = {IN_QUERY.get(name, name): value for name, value in wanted.items()}
        return await self._send(
            "GET", "/api/memory/", limit=limit, cursor=cursor, **whom(user, agent), **named
        )

    async def waiting(self, *, user: Any = None, agent: Any = None, **page: Any) -> Json:
        return await self._send("GET", "/api/memory/review", **whom(user, agent), **page)

    async def review(self, decisions: Any, *, user: Any = None, agent: Any = None) -> list[Json]:
        said = decisions_of(decisions)
        body = {"decisions": said, **whom(user, agent)}
        return (await self._send("POST", "/api/memory/review", body))["items"]

    async def recall(
        self, query: Any, *, user: Any = None, agent: Any = None, **wanted: Any
    ) -> Json:
        body = {"query": query, **whom(user, agent), **wanted}
        return await self._send("POST", "/api/memory/recall", body)
