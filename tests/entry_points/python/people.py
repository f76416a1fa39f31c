"""Users, identity, agents, preferences, policy, erasure and audit."""

from typing import Any
from uuid import UUID

from helpers import exported

from entry_points.base import Json, id_of
from entry_points.python.base import PythonCalls, parsed
from remembrancer import (
    AgentCreate,
    AgentUpdate,
    AuditFilter,
    MoveRequest,
    PlatformLink,
    PolicyUpdate,
    PreferenceFile,
    PreferencesUpdate,
    PreferenceUpdate,
    ResolveUser,
    ToggleUpdate,
    UserUpdate,
)
from remembrancer.preferences.files import from_csv, to_csv


class PythonPeople(PythonCalls):
    """Users, identity, agents, preferences, policy, erasure and audit."""

    async def resolve(self, **who: Any) -> Json:
        wanted = parsed(ResolveUser, who)
        return await self._tried(lambda: self.memory.users.resolve(self.actor, wanted))

    async def change_user(self, user_id: Any, **changes: Any) -> Json:
        wanted = parsed(UserUpdate, changes)
        return await self._tried(
            lambda: self.memory.users.update(self.actor, id_of(user_id), wanted)
        )

    async def user(self, user_id: Any) -> Json:
        return await self._tried(lambda: self.memory.users.get(self.actor, id_of(user_id)))

    async def links(self, user: Any) -> list[Json]:
        links = await self._tried(lambda: self.memory.users.links(self.actor, id_of(user)))
        return links["items"]

    async def link(self, user: Any, **link: Any) -> Json:
        wanted = parsed(PlatformLink, link)
        return await self._tried(lambda: self.memory.users.link(self.actor, id_of(user), wanted))

    async def unlink(self, user: Any, **link: Any) -> None:
        wanted = parsed(PlatformLink, link)
        await self._tried(lambda: self.memory.users.unlink(self.actor, id_of(user), wanted))

    async def merge(self, user: Any, other: Any) -> Json:
        return await self._tried(
            lambda: self.memory.users.merge(self.actor, id_of(user), id_of(other))
        )

    async def preview_merge(self, user: Any, other: Any) -> Json:
        return await self._tried(
            lambda: self.memory.users.preview_merge(self.actor, id_of(user), id_of(other))
        )

    async def unmerge(self, user: Any, undo_id: Any) -> Json:
        which = parsed(UUID, undo_id)
        return await self._tried(
            lambda: self.memory.users.undo_merge(self.actor, id_of(user), which)
        )

    async def preference(self, user: Any, agent: Any) -> Json:
        return await self._tried(
            lambda: self.memory.preferences.get(self.actor, id_of(user), id_of(agent))
        )

    async def prefer(self, user: Any, agent: Any, allow: Any) -> Json:
        wanted = parsed(PreferenceUpdate, {"allow_agent_specific_memory": allow})
        return await self._tried(
            lambda: self.memory.preferences.set(self.actor, id_of(user), id_of(agent), wanted)
        )

    async def reset_preference(self, user: Any, agent: Any) -> None:
        await self._tried(
            lambda: self.memory.preferences.reset(self.actor, id_of(user), id_of(agent))
        )

    async def preferences(self, user: Any) -> list[Json]:
        listed = await self._tried(lambda: self.memory.preferences.list(self.actor, id_of(user)))
        return listed["items"]

    async def prefer_many(self, user: Any, **wanted: Any) -> Json:
        asked = parsed(PreferencesUpdate, wanted)
        return await self._tried(
            lambda: self.memory.preferences.set_many(self.actor, id_of(user), asked)
        )

    async def reset_preferences(self, user: Any) -> int:
        return await self._tried(lambda: self.memory.preferences.reset_all(self.actor, id_of(user)))

    async def scope(self, user: Any, agent: Any) -> Json:
        return await self._tried(
            lambda: self.memory.preferences.scope(self.actor, id_of(user), id_of(agent))
        )

    async def scopes(self, user: Any, *, limit: int = 50, cursor: str | None = None) -> Json:
        return await self._tried(
            lambda: self.memory.preferences.scopes(
                self.actor, id_of(user), limit=limit, cursor=cursor
            )
        )

    async def export_preferences(self, user: Any = None, *, kind: str = "json") -> Any:
        service = self.memory.preferences
        if user is None:
            file = await self._tried(lambda: service.export_all(self.actor))
        else:
            file = await self._tried(lambda: service.export(self.actor, id_of(user)))
        return to_csv(PreferenceFile.model_validate(file)) if kind == "csv" else file

    async def import_preferences(self, file: Any, user: Any = None) -> Json:
        service = self.memory.preferences

        async def call() -> Any:
            rows = from_csv(file) if isinstance(file, str) else parsed(PreferenceFile, file)
            if user is None:
                return await service.import_all(self.actor, rows)
            return await service.import_(self.actor, id_of(user), rows)

        return await self._tried(call)

    async def toggle(self, user: Any) -> Json:
        return await self._tried(lambda: self.memory.preferences.toggle(self.actor, id_of(user)))

    async def set_toggle(self, user: Any, allow: Any) -> Json:
        wanted = parsed(ToggleUpdate, {"allow_agent_specific_memory": allow})
        return await self._tried(
            lambda: self.memory.preferences.set_toggle(self.actor, id_of(user), wanted)
        )

    async def policy(self) -> Json:
        return await self._tried(lambda: self.memory.policies.get(self.actor))

    async def set_policy(self, allow: Any) -> Json:
        wanted = parsed(PolicyUpdate, {"allow_agent_specific_memory_globally": allow})
        return await self._tried(lambda: self.memory.policies.set(self.actor, wanted))

    async def statistics(self) -> Json:
        return await self._tried(lambda: self.memory.policies.statistics(self.actor))

    async def move(self, user: Any, agent: Any, *, key: Any = None, **wanted: Any) -> Json:
        asked = parsed(MoveRequest, wanted)
        return await self._tried(
            lambda: self.memory.moves.move(
                self.actor, id_of(user), id_of(agent), asked, idempotency_key=key
            )
        )

    async def undo_move(self, user: Any, undo_id: Any) -> Json:
        which = parsed(UUID, undo_id)
        return await self._tried(lambda: self.memory.moves.undo(self.actor, id_of(user), which))

    async def erase_user(self, user: Any, **how: Any) -> Json:
        return await self._tried(lambda: self.memory.users.erase(self.actor, id_of(user), **how))

    async def erase_memory(self, memory_id: str, *, user: Any = None, **how: Any) -> Json:
        return await self._tried(
            lambda: self.memory.memories.erase(self._for(user), memory_id, **how)
        )

    async def exported(self, user: Any) -> list[Json]:
        async def lines() -> list[Json]:
            return await exported(self.memory, id_of(user), self.actor)

        return await self._tried(lines)

    async def audited(self, *, limit: int = 50, cursor: str | None = None, **wanted: Any) -> Json:
        asked = parsed(AuditFilter, wanted)
        return await self._tried(
            lambda: self.memory.audit.list(
                self.actor,
                asked,
                limit=limit,
                cursor=cursor,
            )
        )

    async def known_users(self, agent: Any = None, **page: Any) -> Json:
        which = parsed(UUID | None, id_of(agent))
        return await self._tried(lambda: self.memory.users.overview(self.actor, which, **page))

    async def create_agent(self, **agent: Any) -> Json:
        wanted = parsed(AgentCreate, agent)
        return await self._tried(lambda: self.memory.agents.create(self.actor, wanted))

    async def resolve_agent(self, **agent: Any) -> Json:
        return await self._tried(lambda: self.memory.agents.resolve(self.actor, **agent))

    async def change_agent(self, agent_id: Any, **changes: Any) -> Json:
        wanted = parsed(AgentUpdate, changes)
        return await self._tried(
            lambda: self.memory.agents.update(self.actor, id_of(agent_id), wanted)
        )
