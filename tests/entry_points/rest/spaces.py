"""Spaces and facts."""

from typing import Any
from urllib.parse import quote

from entry_points.base import Json, id_of
from entry_points.rest.base import IN_QUERY, RestCalls, path_of, whom


class RestSpaces(RestCalls):
    """Spaces and facts."""

    async def create_space(self, *, user: Any = None, key: Any = None, **space: Any) -> Json:
        return await self._send(
            "POST", "/api/spaces", space, headers={"Idempotency-Key": key}, **whom(user)
        )

    async def spaces(self, *, user: Any = None, **page: Any) -> Json:
        return await self._send("GET", "/api/spaces", **whom(user), **page)

    async def space(self, space_id: Any, *, user: Any = None) -> Json:
        return await self._send("GET", f"/api/spaces/{space_id}", **whom(user))

    async def change_space(self, space_id: Any, *, user: Any = None, **changes: Any) -> Json:
        return await self._send("PATCH", f"/api/spaces/{space_id}", changes, **whom(user))

    async def delete_space(self, space_id: Any, *, user: Any = None) -> None:
        await self._send("DELETE", f"/api/spaces/{space_id}", **whom(user))

    async def restore_space(self, space_id: Any, *, user: Any = None) -> Json:
        return await self._send("POST", f"/api/spaces/{space_id}/restore", **whom(user))

    async def members(self, space_id: Any, *, user: Any = None, **page: Any) -> Json:
        return await self._send("GET", f"/api/spaces/{space_id}/members", **whom(user), **page)

    async def add_member(
        self, space_id: Any, member: Any, *, user: Any = None, key: Any = None, **fields: Any
    ) -> Json:
        return await self._send(
            "POST",
            f"/api/spaces/{space_id}/members",
            {"user_id": id_of(member), **fields},
            headers={"Idempotency-Key": key},
            **whom(user),
        )

    async def change_member(
        self, space_id: Any, member: Any, *, user: Any = None, **change: Any
    ) -> Json:
        path = f"/api/spaces/{space_id}/members/{id_of(member)}"
        return await self._send("PATCH", path, change, **whom(user))

    async def remove_member(self, space_id: Any, member: Any, *, user: Any = None) -> None:
        path = f"/api/spaces/{space_id}/members/{id_of(member)}"
        await self._send("DELETE", path, **whom(user))

    async def leave(self, space_id: Any, *, user: Any = None) -> None:
        await self._send("POST", f"/api/spaces/{space_id}/leave", **whom(user))

    async def invite(
        self, space_id: Any, invitee: Any, *, user: Any = None, key: Any = None, **fields: Any
    ) -> Json:
        return await self._send(
            "POST",
            f"/api/spaces/{space_id}/invitations",
            {"user_id": id_of(invitee), **fields},
            headers={"Idempotency-Key": key},
            **whom(user),
        )

    async def sent_invitations(self, space_id: Any, *, user: Any = None, **page: Any) -> Json:
        path = f"/api/spaces/{space_id}/invitations"
        return await self._send("GET", path, **whom(user), **page)

    async def withdraw(self, space_id: Any, invitee: Any, *, user: Any = None) -> None:
        named = quote(str(id_of(invitee)), safe="")
        path = f"/api/spaces/{space_id}/invitations/{named}"
        await self._send("DELETE", path, **whom(user))

    async def invitations(self, *, user: Any = None, **page: Any) -> Json:
        return await self._send("GET", "/api/spaces/invitations", **whom(user), **page)

    async def accept(self, space_id: Any, *, user: Any = None) -> Json:
        return await self._send("POST", f"/api/spaces/{space_id}/accept", **whom(user))

    async def decline(self, space_id: Any, *, user: Any = None) -> None:
        await self._send("POST", f"/api/spaces/{space_id}/decline", **whom(user))

    async def remember_in(
        self, space_id: Any, content: Any, *, user: Any = None, key: Any = None, **fields: Any
    ) -> Json:
        return await self._send(
            "POST",
            f"/api/spaces/{space_id}/memories",
            {"content": content, **fields},
            headers={"Idempotency-Key": key},
            **whom(user),
        )

    async def listed_in(self, space_id: Any, *, user: Any = None, **wanted: Any) -> Json:
        named = {IN_QUERY.get(name, name): value for name, value in wanted.items()}
        path = f"/api/spaces/{space_id}/memories"
        return await self._send("GET", path, **whom(user), **named)

    async def facts(self, space_id: Any, *, user: Any = None, **page: Any) -> Json:
        return await self._send("GET", f"/api/ai/legacies/{space_id}/facts", **whom(user), **page)

    async def show(
        self, memory_id: Any, visibility: Any, *, user: Any = None, if_version: int | None = None
    ) -> Json:
        tag = None if if_version is None else f'"{if_version}"'
        body = {"visibility": visibility}
        return await self._send(
            "PATCH",
            path_of(memory_id) + "/visibility",
            body,
            headers={"If-Match": tag},
            **whom(user),
        )
