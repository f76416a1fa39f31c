"""What each user wants of each agent, and the scope that follows."""

from collections.abc import Collection, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Row
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import audit
from remembrancer.access import Actor, Role
from remembrancer.agents import repository as agents
from remembrancer.agents.schemas import Agent
from remembrancer.db.engine import Database
from remembrancer.errors import Conflict, NotFound
from remembrancer.paging import LARGEST_PAGE, Page
from remembrancer.preferences import repository, rules
from remembrancer.preferences.schemas import (
    AgentMemoryConfig,
    Preference,
    PreferenceFile,
    PreferenceRow,
    PreferencesResult,
    PreferencesUpdate,
    PreferenceUpdate,
    Toggle,
    ToggleUpdate,
)
from remembrancer.preferences.scopes import in_effect
from remembrancer.text import check_range, id_from_cursor, to_cursor
from remembrancer.users import repository as users


class Preferences:
    """Preferences of users for agents, and the scope in effect for both.

    A user decides for themselves, a service for the user it names, an admin for everybody.
    Nothing is kept aside: what is changed here is what the next read goes by.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def get(self, actor: Actor, user_id: UUID, agent_id: UUID) -> Preference:
        """Return a user's preference for an agent; ``NotFound`` if none is set."""
        actor = actor.acting_for(user_id)
        async with self._database.transaction(actor) as (connection, actor):
            person = await _known(connection, actor)
            await _check_agent(connection, agent_id)
            row = await repository.find(connection, person, agent_id)
            await _look(connection, actor, person, [str(agent_id)])
        if row is None:
            raise NotFound("No preference set for this agent")
        return Preference.model_validate(row)

    async def put(
        self, actor: Actor, user_id: UUID, agent_id: UUID, wanted: PreferenceUpdate
    ) -> Preference:
        """Set a user's preference for an agent, whether or not there was one."""
        actor = actor.acting_for(user_id)
        async with self._database.transaction(actor) as (connection, actor):
            person = await _held(connection, actor)
            await _check_agent(connection, agent_id)
            await _write(
                connection, actor, [(person, agent_id, wanted.allow_agent_specific_memory)]
            )
            row = await repository.find(connection, person, agent_id)
            return Preference.model_validate(row)

    async def reset(self, actor: Actor, user_id: UUID, agent_id: UUID) -> None:
        """Delete a preference, so that the agent's default counts; ``NotFound`` without one."""
        actor = actor.acting_for(user_id)
        async with self._database.transaction(actor) as (connection, actor):
            person = await _held(connection, actor)
            await _check_agent(connection, agent_id)
            if not await repository.reset(connection, person, agent_id):
                raise NotFound("No preference to delete")
            await audit.note(
                connection, actor, "preference.reset", [str(agent_id)], owner_id=person
            )

    async def list(self, actor: Actor, user_id: UUID) -> Sequence[Preference]:
        """Return all preferences a user has set, by agent in the order the agents were made."""
        actor = actor.acting_for(user_id)
        async with self._database.transaction(actor) as (connection, actor):
            person = await _known(connection, actor)
            rows = await repository.of_user(connection, person)
            await _look(connection, actor, person, [str(row.agent_id) for row in rows])
            return [Preference.model_validate(row) for row in rows]

    async def reset_all(self, actor: Actor, user_id: UUID) -> int:
        """Delete all preferences of a user; return how many there were."""
        actor = actor.acting_for(user_id)
        async with self._database.transaction(actor) as (connection, actor):
            person = await _held(connection, actor)
            gone = await repository.reset_all(connection, person)
            await audit.note(
                connection,
                actor,
                "preference.reset",
                [str(agent_id) for agent_id in sorted(gone)],
                owner_id=person,
            )
            return len(gone)

    async def put_many(
        self, actor: Actor, user_id: UUID, wanted: PreferencesUpdate
    ) -> PreferencesResult:
        """Set a user's preference for many agents, or for all there are now, alike."""
        actor = actor.acting_for(user_id)
        async with self._database.transaction(actor) as (connection, actor):
            person = await _held(connection, actor)
            asked = None if wanted.all else wanted.agent_ids
            living = await repository.living_agents(connection, asked)
            for index, agent_id in enumerate(asked or ()):
                if agent_id not in living:
                    raise NotFound("no such agent", field=f"agent_ids.{index}")
            allow = wanted.allow_agent_specific_memory
            return await _write(connection, actor, [(person, agent, allow) for agent in living])

    async def scope(self, actor: Actor, user_id: UUID, agent_id: UUID) -> AgentMemoryConfig:
        """Return the scope in effect for a user with an agent, and what decided it."""
        actor = actor.acting_for(user_id)
        async with self._database.transaction(actor) as (connection, actor):
            person = await _known(connection, actor)
            agent = await _check_agent(connection, agent_id)
            [facts] = await repository.facts(connection, agent_id, [person])
            await _look(connection, actor, person, [str(agent_id)])
            preference = await repository.find(connection, person, agent_id)
        return _config(person, agent, facts, preference)

    async def scopes(
        self, actor: Actor, user_id: UUID, *, limit: int = 50, cursor: str | None = None
    ) -> Page[AgentMemoryConfig]:
        """Return the scope in effect for a user with each agent, in the order they were made."""
        check_range(limit, 1, LARGEST_PAGE, field="limit")
        after = id_from_cursor(cursor)
        actor = actor.acting_for(user_id)
        async with self._database.transaction(actor) as (connection, actor):
            person = await _known(connection, actor)
            rows = await repository.facts_of_agents(connection, person, limit, after)
            mine = {row.agent_id: row for row in await repository.of_user(connection, person)}
            await _look(connection, actor, person, [str(row.id) for row in rows[:limit]])
        items = [_config(person, row, row, mine.get(row.id)) for row in rows[:limit]]
        more = len(rows) > limit
        return Page(items=items, next_cursor=to_cursor(str(items[-1].agent.id)) if more else None)

    async def export(self, actor: Actor, user_id: UUID) -> PreferenceFile:
        """Return a user's preferences as they can be imported again."""
        preferences = await self.list(actor, user_id)
        return PreferenceFile(preferences=[PreferenceRow.model_validate(p) for p in preferences])

    async def import_(self, actor: Actor, user_id: UUID, file: PreferenceFile) -> PreferencesResult:
        """Set the preferences of a file, all or none; others stay. Again, it changes nothing.

        Raises ``InvalidInput`` for a row that names another user, an unknown agent, or an
        agent that was named before.
        """
        actor = actor.acting_for(user_id)
        async with self._database.transaction(actor) as (connection, actor):
            person = await _held(connection, actor)
            wanted = rules.owned_by(file.preferences, person, {user_id, *actor.merged_ids})
            await _check_rows(connection, wanted)
            return await _write(connection, actor, wanted)

    async def export_all(self, actor: Actor) -> PreferenceFile:
        """Return everybody's preferences. For admins."""
        actor.require(Role.ADMIN)
        async with self._database.transaction(actor) as (connection, actor):
            rows = await repository.of_everybody(connection)
            people = sorted({str(row.user_id) for row in rows})
            await audit.note(connection, actor, "preference.export", people)
            return PreferenceFile(preferences=[PreferenceRow.model_validate(r) for r in rows])

    async def import_all(self, actor: Actor, file: PreferenceFile) -> PreferencesResult:
        """Set preferences of many users, all or none, as :meth:`import_` does. For admins."""
        actor.require(Role.ADMIN)
        async with self._database.transaction(actor) as (connection, actor):
            people = {row.user_id for row in file.preferences if row.user_id is not None}
            now = await users.hold(connection, people)
            wanted = rules.owned_by_each(file.preferences, now)
            await _check_rows(connection, wanted)
            return await _write(connection, actor, wanted)

    async def toggle(self, actor: Actor, user_id: UUID) -> Toggle:
        """Return a user's deprecated toggle for all agents at once."""
        actor = actor.acting_for(user_id)
        async with self._database.transaction(actor) as (connection, actor):
            person = await _known(connection, actor)
            await _look(connection, actor, person, [])
            return _toggle(await users.find(connection, person))

    async def set_toggle(self, actor: Actor, user_id: UUID, wanted: ToggleUpdate) -> Toggle:
        """Set a user's deprecated toggle; preferences for single agents still come first."""
        actor = actor.acting_for(user_id)
        async with self._database.transaction(actor) as (connection, actor):
            person = await _held(connection, actor)
            allow = wanted.allow_agent_specific_memory
            await repository.set_toggle(connection, person, allow)
            await audit.note(connection, actor, "preference.toggle", [], owner_id=person)
            return _toggle(await users.find(connection, person))


async def _look(
    connection: AsyncConnection, actor: Actor, person: UUID, agent_ids: Sequence[str]
) -> None:
    await audit.note_look(connection, actor, "preference.read", {person: agent_ids})


async def _known(connection: AsyncConnection, actor: Actor) -> UUID:
    """Return the actor's user; raise ``NotFound`` for one nobody knows."""
    row = await users.find(connection, actor.require_user())
    if row is None:
        raise NotFound("no such user", field="user_id")
    return UUID(str(row.id))


async def _held(connection: AsyncConnection, actor: Actor) -> UUID:
    """Return the actor's user, whom nobody merges until the transaction ends."""
    person = actor.require_user()
    now = (await users.hold(connection, [person])).get(person)
    if now is None:
        raise NotFound("no such user", field="user_id")
    if now != person:
        raise Conflict("the user was merged into another at the same moment; try again")
    return person


async def _check_agent(connection: AsyncConnection, agent_id: UUID) -> Row[Any]:
    row = await agents.find(connection, agent_id)
    if row is None:
        raise NotFound("no such agent", field="agent_id")
    return row


async def _check_rows(connection: AsyncConnection, wanted: Sequence[rules.Wanted]) -> None:
    asked = {agent_id for _, agent_id, _ in wanted}
    rules.check_rows(wanted, await repository.living_agents(connection, asked))


async def _write(
    connection: AsyncConnection, actor: Actor, wanted: Collection[rules.Wanted]
) -> PreferencesResult:
    """Set preferences; leave a line in the audit log for each user whose have changed."""
    written = await repository.write(connection, wanted)
    touched: dict[UUID, list[str]] = {}
    for row in written:
        touched.setdefault(row.user_id, []).append(str(row.agent_id))
    await audit.note_each(connection, actor, "preference.set", touched)
    created = sum(1 for row in written if row.is_new)
    return PreferencesResult(
        created=created,
        changed=len(written) - created,
        unchanged=len(wanted) - len(written),
    )


def _config(
    user_id: UUID, agent: Row[Any], facts: Row[Any], preference: Row[Any] | None
) -> AgentMemoryConfig:
    decided = in_effect(facts, user_id)
    return AgentMemoryConfig(
        user_id=user_id,
        agent=Agent.model_validate(agent),
        user_preference=Preference.model_validate(preference) if preference else None,
        effective_scope=decided.scope,
        source=decided.source,
    )


def _toggle(row: Row[Any] | None) -> Toggle:
    assert row is not None
    return Toggle(
        user_id=row.id,
        allow_agent_specific_memory=row.allow_agent_specific_memory,
        migrated_at=row.toggle_migrated_at,
    )
