"""Spaces and facts."""

from typing import Any
from uuid import UUID

from entry_points.base import Json, id_of
from entry_points.python.base import PythonCalls, parsed
from remembrancer import (
    FactCreate,
    MemberAdd,
    MemberUpdate,
    MemoryFilter,
    SpaceCreate,
    SpaceUpdate,
    VisibilityUpdate,
)


class PythonSpaces(PythonCalls):
    """Spaces and facts."""

    async def create_space(self, *, user: Any = None, key: Any = None, **space: Any) -> Json:
        wanted = parsed(SpaceCreate, space)
        return await self._tried(
            lambda: self.memory.spaces.create(self._for(user), wanted, idempotency_key=key)
        )

    async def spaces(self, *, user: Any = None, **page: Any) -> Json:
        return await self._tried(lambda: self.memory.spaces.list(self._for(user), **page))

    async def space(self, space_id: Any, *, user: Any = None) -> Json:
        which = parsed(UUID, space_id)
        return await self._tried(lambda: self.memory.spaces.get(self._for(user), which))

    async def change_space(self, space_id: Any, *, user: Any = None, **changes: Any) -> Json:
        which, wanted = parsed(UUID, space_id), parsed(SpaceUpdate, changes)
        return await self._tried(lambda: self.memory.spaces.update(self._for(user), which, wanted))

    async def delete_space(self, space_id: Any, *, user: Any = None) -> None:
        which = parsed(UUID, space_id)
        await self._tried(lambda: self.memory.spaces.delete(self._for(user), which))

    async def restore_space(self, space_id: Any, *, user: Any = None) -> Json:
        which = parsed(UUID, space_id)
        return await self._tried(lambda: self.memory.spaces.restore(self._for(user), which))

    async def members(self, space_id: Any, *, user: Any = None, **page: Any) -> Json:
        which = parsed(UUID, space_id)
        return await self._tried(lambda: self.memory.spaces.members(self._for(user), which, **page))

    async def add_member(
        self, space_id: Any, member: Any, *, user: Any = None, key: Any = None, **fields: Any
    ) -> Json:
        which = parsed(UUID, space_id)
        wanted = parsed(MemberAdd, {"user_id": id_of(member), **fields})
        return await self._tried(
            lambda: self.memory.spaces.add_member(
                self._for(user), which, wanted, idempotency_key=key
            )
        )

    async def change_member(
        self, space_id: Any, member: Any, *, user: Any = None, **change: Any
    ) -> Json:
        which, wanted = parsed(UUID, space_id), parsed(MemberUpdate, change)
        return await self._tried(
            lambda: self.memory.spaces.update_member(self._for(user), which, id_of(member), wanted)
        )

    async def remove_member(self, space_id: Any, member: Any, *, user: Any = None) -> None:
        which = parsed(UUID, space_id)
        await self._tried(
            lambda: self.memory.spaces.remove_member(self._for(user), which, id_of(member))
        )

    async def leave(self, space_id: Any, *, user: Any = None) -> None:
        which = parsed(UUID, space_id)
        await self._tried(lambda: self.memory.spaces.leave(self._for(user), which))

    async def invite(
        self, space_id: Any, invitee: Any, *, user: Any = None, key: Any = None, **fields: Any
    ) -> Json:
        which = parsed(UUID, space_id)
        wanted = parsed(MemberAdd, {"user_id": id_of(invitee), **fields})
        return await self._tried(
            lambda: self.memory.spaces.invite(self._for(user), which, wanted, idempotency_key=key)
        )

    async def sent_invitations(self, space_id: Any, *, user: Any = None, **page: Any) -> Json:
        which = parsed(UUID, space_id)
        return await self._tried(
            lambda: self.memory.spaces.sent_invitations(self._for(user), which, **page)
        )

    async def withdraw(self, space_id: Any, invitee: Any, *, user: Any = None) -> None:
        which = parsed(UUID, space_id)
        await self._tried(
            lambda: self.memory.spaces.withdraw(self._for(user), which, id_of(invitee))
        )

    async def invitations(self, *, user: Any = None, **page: Any) -> Json:
        return await self._tried(lambda: self.memory.spaces.invitations(self._for(user), **page))

    async def accept(self, space_id: Any, *, user: Any = None) -> Json:
        which = parsed(UUID, space_id)
        return await self._tried(lambda: self.memory.spaces.accept(self._for(user), which))

    async def decline(self, space_id: Any, *, user: Any = None) -> None:
        which = parsed(UUID, space_id)
        await self._tried(lambda: self.memory.spaces.decline(self._for(user), which))

    async def remember_in(
        self, space_id: Any, content: Any, *, user: Any = None, key: Any = None, **fields: Any
    ) -> Json:
        which = parsed(UUID, space_id)
        fact = parsed(FactCreate, {"content": content, **fields})
        return await self._tried(
            lambda: self.memory.facts.add(self._for(user), which, fact, idempotency_key=key)
        )

    async def listed_in(self, space_id: Any, *, user: Any = None, **wanted: Any) -> Json:
        which, asked = parsed(UUID, space_id), parsed(MemoryFilter, wanted)
        return await self._tried(lambda: self.memory.spaces.memories(self._for(user), which, asked))

    async def facts(self, space_id: Any, *, user: Any = None, **page: Any) -> Json:
        which = parsed(UUID, space_id)
        return await self._tried(lambda: self.memory.facts.list(self._for(user), which, **page))

    async def show(
        self, memory_id: Any, visibility: Any, *, user: Any = None, if_version: int | None = None
    ) -> Json:
        wanted = parsed(VisibilityUpdate, {"visibility": visibility}).visibility
        return await self._tried(
            lambda: self.memory.facts.set_visibility(
                self._for(user), memory_id, wanted, if_version=if_version
            )
        )
