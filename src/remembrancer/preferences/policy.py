"""The admin's word for everybody, and how scopes are used."""

from sqlalchemy import Row

from remembrancer import audit
from remembrancer.access import Actor, Role
from remembrancer.db.engine import Database
from remembrancer.ids import SHARED_OWNER
from remembrancer.preferences import repository, rules
from remembrancer.preferences.schemas import MemoryCounts, Policy, PolicyUpdate, ScopeStatistics


class Policies:
    """The policy that stands above every preference. Everybody may read it, admins set it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def get(self, actor: Actor) -> Policy:
        """Return the policy."""
        async with self._database.transaction(actor) as (connection, _):
            return _policy(await repository.policy(connection))

    async def put(self, actor: Actor, wanted: PolicyUpdate) -> Policy:
        """Set the policy. Memories stay where they are, whatever is read from now on."""
        actor.require(Role.ADMIN)
        async with self._database.transaction(actor) as (connection, actor):
            allow = wanted.allow_agent_specific_memory_globally
            row = await repository.set_policy(connection, allow)
            await audit.note(connection, actor, "policy.set", [])
            return _policy(row)

    async def statistics(self, actor: Actor) -> ScopeStatistics:
        """Return how scopes are used, counted now and exactly. For admins."""
        actor.require(Role.ADMIN)
        async with self._database.system_for(actor) as (connection, actor):
            policy = await repository.policy(connection)
            cells = await repository.cells(connection, SHARED_OWNER)
            defaults = await repository.agents_by_scope(connection)
            memories = await repository.memories_by_scope(connection, SHARED_OWNER)
            await audit.note(connection, actor, "statistics.read", [])
        numbers = rules.tabulate(cells, policy_allows=policy.allow_agent_specific_memory)
        agents = sum(defaults.values())
        users = sum(cell.users for cell in cells)
        return ScopeStatistics.model_validate(
            {
                **numbers,
                "agents": agents,
                "pairs": users * agents,
                "agents_by_default_scope": rules.scope_counts(defaults),
                "memories_by_scope": MemoryCounts.model_validate(memories),
            }
        )


def _policy(row: "Row[tuple[object, ...]]") -> Policy:
    return Policy(
        allow_agent_specific_memory_globally=row.allow_agent_specific_memory,
        updated_at=row.updated_at,
    )
