"""Users, identity, agents, preferences, policy, erasure and audit."""

import json
from typing import Any

from entry_points.base import Json, id_of
from entry_points.rest.base import RestCalls, answer_of, file_of, path_of, settings_of, whom


class RestPeople(RestCalls):
    """Users, identity, agents, preferences, policy, erasure and audit."""

    async def resolve(self, **who: Any) -> Json:
        return await self._send("POST", "/api/users/resolve", who)

    async def change_user(self, user_id: Any, **changes: Any) -> Json:
        return await self._send("PATCH", f"/api/users/{id_of(user_id)}", changes)

    async def user(self, user_id: Any) -> Json:
        return await self._send("GET", f"/api/users/{id_of(user_id)}")

    async def links(self, user: Any) -> list[Json]:
        return (await self._send("GET", f"/api/users/{id_of(user)}/links"))["items"]

    async def link(self, user: Any, **link: Any) -> Json:
        return await self._send("POST", f"/api/users/{id_of(user)}/links", link)

    async def unlink(self, user: Any, **link: Any) -> None:
        await self._send("DELETE", f"/api/users/{id_of(user)}/links", **link)

    async def merge(self, user: Any, other: Any) -> Json:
        body = {"user_id": str(id_of(other))}
        return await self._send("POST", f"/api/users/{id_of(user)}/merges", body)

    async def preview_merge(self, user: Any, other: Any) -> Json:
        body = {"user_id": str(id_of(other))}
        return await self._send("POST", f"/api/users/{id_of(user)}/merges/preview", body)

    async def unmerge(self, user: Any, undo_id: Any) -> Json:
        return await self._send("POST", f"/api/users/{id_of(user)}/merges/{undo_id}/undo")

    async def preference(self, user: Any, agent: Any) -> Json:
        return await self._send("GET", settings_of(user, agent))

    async def prefer(self, user: Any, agent: Any, allow: Any) -> Json:
        body = {"allow_agent_specific_memory": allow}
        return await self._send("PUT", settings_of(user, agent), body)

    async def reset_preference(self, user: Any, agent: Any) -> None:
        await self._send("DELETE", settings_of(user, agent))

    async def preferences(self, user: Any) -> list[Json]:
        return await self._send("GET", settings_of(user))

    async def prefer_many(self, user: Any, **wanted: Any) -> Json:
        return await self._send("PUT", settings_of(user), wanted)

    async def reset_preferences(self, user: Any) -> int:
        return (await self._send("DELETE", settings_of(user)))["reset"]

    async def scope(self, user: Any, agent: Any) -> Json:
        return await self._send("GET", settings_of(user, agent, "scope"))

    async def scopes(self, user: Any, *, limit: int = 50, cursor: str | None = None) -> Json:
        path = settings_of(user, last="scopes")
        return await self._send("GET", path, limit=limit, cursor=cursor)

    async def export_preferences(self, user: Any = None, *, kind: str = "json") -> Any:
        path = f"{file_of(user)}/export?format={kind}"
        if kind == "json":
            return await self._send("GET", path)
        response = await self.api.client.get(path, headers=self.headers)
        assert response.headers["content-type"].startswith("text/csv")
        return response.text

    async def import_preferences(self, file: Any, user: Any = None) -> Json:
        path = f"{file_of(user)}/import"
        if not isinstance(file, str):
            return await self._send("POST", path, file)
        headers = {**self.headers, "Content-Type": "text/csv"}
        content = file.encode()
        return answer_of(await self.api.client.post(path, headers=headers, content=content))

    async def toggle(self, user: Any) -> Json:
        return await self._send("GET", f"/api/memory/users/{id_of(user)}/settings")

    async def set_toggle(self, user: Any, allow: Any) -> Json:
        body = {"allow_agent_specific_memory": allow}
        return await self._send("PUT", f"/api/memory/users/{id_of(user)}/settings", body)

    async def policy(self) -> Json:
        return await self._send("GET", "/api/memory/policy")

    async def set_policy(self, allow: Any) -> Json:
        body = {"allow_agent_specific_memory_globally": allow}
        return await self._send("PUT", "/api/memory/policy", body)

    async def statistics(self) -> Json:
        return await self._send("GET", "/api/memory/statistics")

    async def move(self, user: Any, agent: Any, *, key: Any = None, **wanted: Any) -> Json:
        path = settings_of(user, agent, "memories/move")
        return await self._send("POST", path, wanted, headers={"Idempotency-Key": key})

    async def undo_move(self, user: Any, undo_id: Any) -> Json:
        return await self._send("POST", f"/api/memory/users/{id_of(user)}/moves/{undo_id}/undo")

    async def erase_user(self, user: Any, **how: Any) -> Json:
        confirm = None if how.get("dry_run", True) else id_of(user)
        path = f"/api/users/{id_of(user)}/erase"
        return await self._send("POST", path, confirm=confirm, **how)

    async def erase_memory(self, memory_id: str, *, user: Any = None, **how: Any) -> Json:
        return await self._send("POST", path_of(memory_id) + "/erase", **whom(user), **how)

    async def exported(self, user: Any) -> list[Json]:
        path = f"/api/users/{id_of(user)}/export"
        response = await self.api.client.get(path, headers=self.headers)
        if not response.is_success:
            answer_of(response)
        return [json.loads(line) for line in response.content.splitlines()]

    async def audited(self, *, limit: int = 50, cursor: str | None = None, **wanted: Any) -> Json:
        return await self._send("GET", "/api/audit", limit=limit, cursor=cursor, **wanted)

    async def known_users(self, agent: Any = None, **page: Any) -> Json:
        return await self._send("GET", "/api/agents/users", **whom(None, agent), **page)

    async def create_agent(self, **agent: Any) -> Json:
        return await self._send("POST", "/api/agents", agent)

    async def resolve_agent(self, **agent: Any) -> Json:
        return await self._send("POST", "/api/agents/resolve", agent)

    async def change_agent(self, agent_id: Any, **changes: Any) -> Json:
        return await self._send("PUT", f"/api/agents/{id_of(agent_id)}", changes)
