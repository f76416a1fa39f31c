"""Begin to bring an export back: the user, their links, preferences, filters and spaces."""

from contextlib import suppress
from uuid import UUID

from sqlalchemy import select

from remembrancer import audit
from remembrancer.access import Actor
from remembrancer.agents.service import Agents
from remembrancer.backend import Backend
from remembrancer.db import tables
from remembrancer.db.retries import retries_deadlocks
from remembrancer.db.sql import among
from remembrancer.errors import InvalidInput
from remembrancer.lookup.saved_filters import SavedFilters
from remembrancer.memories.budget import Budget
from remembrancer.portability.records import UserRecord
from remembrancer.portability.restore import Restoration, check_remembered
from remembrancer.preferences import repository as preferences
from remembrancer.users import repository as users

ACTION = "user.restore"


@retries_deadlocks
class Restorations:
    """Begins to bring exports back."""

    def __init__(self, backend: Backend, budget: Budget, agents: Agents) -> None:
        self._backend = backend
        self._budget = budget
        self._agents = agents
        self._filters = SavedFilters(backend)

    async def begin(
        self, actor: Actor, record: UserRecord, *, is_own: bool, dry_run: bool = False
    ) -> Restoration:
        """Bring back what the user has beside conversations and memories; return what does those.

        What a user uploads ``is_own``: it links no platforms, creates no agents, and its
        conversations are none of a platform, since others may be in these. Name, time zone and
        pause are those of the export where the user has never changed theirs. Raises ``Conflict``
        where remembering is paused.
        """
        async with self._backend.database.system_for(actor) as (connection, actor):
            owner_id = await users.hold_current(connection, actor.require_user())
            await check_remembered(connection, owner_id)
        actor = actor.now(owner_id)
        agents = await self._known_agents(actor, record, create=not (is_own or dry_run))
        restoration = Restoration(
            self._backend, self._budget, actor, record, agents=agents, is_own=is_own
        )
        if not dry_run:
            await self._profile(actor, restoration)
        return restoration

    async def _known_agents(
        self, actor: Actor, record: UserRecord, *, create: bool
    ) -> dict[UUID, UUID]:
        """Return agents by their exported ids: those with the id, else with the name."""
        column = tables.agents.c
        exported = {agent.id: agent.name for agent in record.agents}
        async with self._backend.database.system() as connection:
            query = select(column.id).where(among(column.id, exported))
            found = {agent_id: agent_id for agent_id in (await connection.scalars(query)).all()}
            names = select(column.name, column.id).where(
                among(column.name, exported.values()), column.deleted_at.is_(None)
            )
            named: dict[str, list[UUID]] = {}
            for row in await connection.execute(names):
                named.setdefault(row.name, []).append(row.id)
        for agent_id, name in exported.items():
            same = named.get(name, [])
            if agent_id not in found and len(same) == 1:
                found[agent_id] = same[0]
            elif agent_id not in found and not same and create:
                found[agent_id] = (await self._agents.resolve(actor, name)).id
        return found

    async def _profile(self, actor: Actor, restoration: Restoration) -> None:
        record, owner_id = restoration.user, actor.require_user()
        async with self._backend.database.system_for(actor) as (connection, actor):
            await users.hold_current(connection, owner_id)
            if not restoration.is_own:
                for link in record.platform_links:
                    await users.add_link(connection, owner_id, link.platform, link.platform_user_id)
            await restoration.add_spaces(connection)
            chosen = {one.agent_id for one in await preferences.find_all(connection, owner_id)}
            settings = {
                agent_id: (owner_id, agent_id, one.allow_agent_specific_memory)
                for one in record.preferences
                if (agent_id := restoration.agents.get(one.agent_id)) is not None
                and agent_id not in chosen
            }
            if settings:
                await preferences.set_all(connection, list(settings.values()))
            await audit.note(connection, actor, ACTION, [str(owner_id)], owner_id=owner_id)
        known = {one.name.casefold() for one in (await self._filters.list(actor)).items}
        for one in record.saved_filters:
            if one.name.casefold() not in known:
                with suppress(InvalidInput):  # they are too many, or too long
                    await self._filters.save(actor, one.name, one.filters)
