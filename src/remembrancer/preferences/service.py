"""Preferences of users for agents, and the scopes in effect."""

from collections.abc import Collection, Sequence
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import audit
from remembrancer.access import Actor, Role, ScopeFacts
from remembrancer.agents import repository as agents
from remembrancer.agents.schemas import Agent
from remembrancer.backend import Backend
from remembrancer.checks import check_agent, find_user, hold_user
from remembrancer.db.retries import retries_deadlocks
from remembrancer.errors import NotFound
from remembrancer.paging import Items, Page, PageMethod
from remembrancer.preferences import repository, rules
from remembrancer.preferences.schemas import (
    AgentMemoryConfig,
    Preference,
    PreferenceEntry,
    PreferenceFile,
    PreferencesResult,
    PreferencesUpdate,
    PreferenceUpdate,
    Toggle,
    ToggleUpdate,
)
from remembrancer.preferences.scopes import in_effect
from remembrancer.user_names import AnyUser
from remembrancer.users import repository as users
from remembrancer.users.rows import UserRow


@retries_deadlocks
class Preferences:
    """Preferences of users for agents, and the scopes in effect.

    Users decide for themselves, services for the user they name, admins for everybody. Nothing
    is cached: a change is in effect from the next read.
    """

    def __init__(self, backend: Backend) -> None:
        self._database = backend.database

    async def get(self, actor: Actor, user_id: AnyUser, agent_id: UUID) -> Preference:
        """Return a user's preference for an agent; ``NotFound`` if none is set."""
        async with self._database.transaction(actor.acting_for(user_id)) as (connection, actor):
            user = await find_user(connection, actor)
            await check_agent(connection, agent_id)
            preference = await repository.find(connection, user.id, agent_id)
            await _note_look(connection, actor, user, [agent_id])
        if preference is None:
            raise NotFound("No preference set for this agent")
        return preference

    async def set(
        self, actor: Actor, user_id: AnyUser, agent_id: UUID, preference: PreferenceUpdate
    ) -> Preference:
        """Set a user's preference for an agent."""
        async with self._database.transaction(actor.acting_for(user_id)) as (connection, actor):
            holder = await hold_user(connection, actor)
            await check_agent(connection, agent_id)
            setting = (holder, agent_id, preference.allow_agent_specific_memory)
            await _set(connection, actor, [setting])
            stored = await repository.find(connection, holder, agent_id)
            assert stored is not None
            return stored

    async def reset(self, actor: Actor, user_id: AnyUser, agent_id: UUID) -> None:
        """Delete a preference: the agent's default counts again. Raises ``NotFound``."""
        async with self._database.transaction(actor.acting_for(user_id)) as (connection, actor):
            holder = await hold_user(connection, actor)
            await check_agent(connection, agent_id)
            if not await repository.reset(connection, holder, agent_id):
                raise NotFound("No preference to delete")
            await audit.note(
                connection, actor, "preference.reset", [str(agent_id)], owner_id=holder
            )

    async def list(self, actor: Actor, user_id: AnyUser) -> Items[Preference]:
        """Return all preferences of a user in the order of the agents' creation."""
        async with self._database.transaction(actor.acting_for(user_id)) as (connection, actor):
            user = await find_user(connection, actor)
            rows = await repository.find_all(connection, user.id)
            await _note_look(connection, actor, user, [row.agent_id for row in rows])
            return Items(items=rows)

    async def reset_all(self, actor: Actor, user_id: AnyUser) -> int:
        """Delete all preferences of a user; return their number."""
        async with self._database.transaction(actor.acting_for(user_id)) as (connection, actor):
            holder = await hold_user(connection, actor)
            agent_ids = await repository.reset_all(connection, holder)
            await audit.note(
                connection,
                actor,
                "preference.reset",
                [str(agent_id) for agent_id in sorted(agent_ids)],
                owner_id=holder,
            )
            return len(agent_ids)

    async def set_many(
        self, actor: Actor, user_id: AnyUser, preferences: PreferencesUpdate
    ) -> PreferencesResult:
        """Set the same preference of a user for many agents, or for all current ones."""
        async with self._database.transaction(actor.acting_for(user_id)) as (connection, actor):
            holder = await hold_user(connection, actor)
            agent_ids = None if preferences.all else preferences.agent_ids
            current = await repository.current_agents(connection, agent_ids)
            for index, agent_id in enumerate(agent_ids or ()):
                if agent_id not in current:
                    raise NotFound("no such agent", field=f"agent_ids.{index}")
            allow = preferences.allow_agent_specific_memory
            return await _set(connection, actor, [(holder, agent, allow) for agent in current])

    async def scope(self, actor: Actor, user_id: AnyUser, agent_id: UUID) -> AgentMemoryConfig:
        """Return the scope in effect for a user with an agent, and its source."""
        async with self._database.transaction(actor.acting_for(user_id)) as (connection, actor):
            user = await find_user(connection, actor)
            agent = await agents.get(connection, agent_id)
            [facts] = await repository.facts(connection, [agent_id], [user.id])
            await _note_look(connection, actor, user, [agent_id])
            preference = await repository.find(connection, user.id, agent_id)
        return _config(user, agent, facts, preference)

    @PageMethod
    async def scopes(
        self, actor: Actor, user_id: AnyUser, *, limit: int = 50, cursor: str | None = None
    ) -> Page[AgentMemoryConfig]:
        """Return the scope of a user with each agent, in the order of the agents' creation."""
        async with self._database.transaction(actor.acting_for(user_id)) as (connection, actor):
            user = await find_user(connection, actor)
            page = await agents.page(connection, limit, cursor)
            agent_ids = [agent.id for agent in page.items]
            rows = await repository.facts(connection, agent_ids, [user.id])
            preferences = await repository.find_all(connection, user.id)
            await _note_look(connection, actor, user, agent_ids)
        facts = {row.agent_id: row for row in rows}
        by_agent = {row.agent_id: row for row in preferences}
        # An agent that was retired a moment ago has no facts.
        configs = [
            _config(user, agent, facts[agent.id], by_agent.get(agent.id))
            for agent in page.items
            if agent.id in facts
        ]
        return Page(items=configs, next_cursor=page.next_cursor)

    async def export(self, actor: Actor, user_id: AnyUser) -> PreferenceFile:
        """Return a user's preferences as a file to import."""
        preferences = await self.list(actor, user_id)
        return PreferenceFile(
            preferences=[PreferenceEntry.model_validate(p) for p in preferences.items]
        )

    async def import_(
        self, actor: Actor, user_id: AnyUser, file: PreferenceFile
    ) -> PreferencesResult:
        """Set the preferences of a file, all or none; others stay. Safe to repeat.

        Raises ``InvalidInput`` for a row of another user, of an unknown agent, or of an agent
        that an earlier row has.
        """
        user_id = await self._database.user_id(user_id)
        ids = await self._ids(file)
        async with self._database.transaction(actor.acting_for(user_id)) as (connection, actor):
            holder = await hold_user(connection, actor)
            former_ids = {user_id, *actor.merged_ids}
            settings = rules.settings_of_user(file.preferences, holder, former_ids, ids)
            return await _import(connection, actor, settings)

    async def export_all(self, actor: Actor) -> PreferenceFile:
        """Return the preferences of all users. For admins."""
        actor.require(Role.ADMIN)
        async with self._database.transaction(actor) as (connection, actor):
            rows = await repository.find_all(connection)
            user_ids = sorted({str(row.user_id) for row in rows})
            await audit.note(connection, actor, "preference.export", user_ids)
            return PreferenceFile(preferences=[PreferenceEntry.model_validate(r) for r in rows])

    async def import_all(self, actor: Actor, file: PreferenceFile) -> PreferencesResult:
        """Set preferences of many users, all or none, as :meth:`import_` does. For admins."""
        actor.require(Role.ADMIN)
        ids = await self._ids(file)
        async with self._database.system_for(actor) as (connection, actor):
            current_ids = await users.hold(connection, set(ids.values()))
            settings = rules.settings_of_users(file.preferences, current_ids, ids)
            return await _import(connection, actor, settings)

    async def _ids(self, file: PreferenceFile) -> dict[AnyUser, UUID]:
        """Return the ids of the users in a file, by id or name."""
        named = [row.user_id for row in file.preferences if row.user_id is not None]
        return await self._database.user_ids(named)

    async def toggle(self, actor: Actor, user_id: AnyUser) -> Toggle:
        """Return a user's deprecated toggle for all agents at once."""
        async with self._database.transaction(actor.acting_for(user_id)) as (connection, actor):
            user = await find_user(connection, actor)
            await _note_look(connection, actor, user, [])
            return _toggle(user)

    async def set_toggle(self, actor: Actor, user_id: AnyUser, toggle: ToggleUpdate) -> Toggle:
        """Set a user's deprecated toggle. Preferences for single agents have precedence."""
        async with self._database.transaction(actor.acting_for(user_id)) as (connection, actor):
            holder = await hold_user(connection, actor)
            row = await users.set_toggle(connection, holder, toggle.allow_agent_specific_memory)
            await audit.note(connection, actor, "preference.toggle", [], owner_id=holder)
            return _toggle(row)


async def _note_look(
    connection: AsyncConnection, actor: Actor, user: UserRow, agent_ids: Sequence[UUID]
) -> None:
    by_owner = {user.id: [str(agent_id) for agent_id in agent_ids]}
    await audit.note_look(connection, actor, "preference.read", by_owner)


async def _import(
    connection: AsyncConnection, actor: Actor, settings: Sequence[rules.Setting]
) -> PreferencesResult:
    agent_ids = {agent_id for _, agent_id, _ in settings}
    rules.check_rows(settings, await repository.current_agents(connection, agent_ids))
    return await _set(connection, actor, settings)


async def _set(
    connection: AsyncConnection, actor: Actor, settings: Collection[rules.Setting]
) -> PreferencesResult:
    """Set preferences, with an audit line for each user whose preferences change."""
    changes = await repository.set_all(connection, settings)
    by_user: dict[UUID, list[str]] = {}
    for change in changes:
        by_user.setdefault(change.user_id, []).append(str(change.agent_id))
    await audit.note_each(connection, actor, "preference.set", by_user)
    created = sum(change.is_new for change in changes)
    return PreferencesResult(
        created=created,
        changed=len(changes) - created,
        unchanged=len(settings) - len(changes),
    )


def _config(
    user: UserRow, agent: Agent, facts: ScopeFacts, preference: Preference | None
) -> AgentMemoryConfig:
    effective = in_effect(facts, user.id)
    return AgentMemoryConfig(
        user_id=user.id,
        agent=agent,
        user_preference=preference,
        effective_scope=effective.scope,
        source=effective.source,
    )


def _toggle(row: UserRow) -> Toggle:
    return Toggle(
        user_id=row.id,
        allow_agent_specific_memory=row.allow_agent_specific_memory,
        migrated_at=row.toggle_migrated_at,
    )
