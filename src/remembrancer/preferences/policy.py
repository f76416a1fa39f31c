"""The admin's policy, and statistics of scopes."""

from remembrancer import audit
from remembrancer.access import Actor, Role
from remembrancer.backend import Backend
from remembrancer.db.replica import may_use_replica
from remembrancer.db.retries import retries_deadlocks
from remembrancer.preferences import repository, rules
from remembrancer.preferences.rows import PolicyRow
from remembrancer.preferences.schemas import MemoryCounts, Policy, PolicyUpdate, ScopeStatistics


@retries_deadlocks
class Policies:
    """The admin's policy, which has precedence over preferences. Everybody may read it."""

    def __init__(self, backend: Backend) -> None:
        self._database = backend.database

    async def get(self, actor: Actor) -> Policy:
        """Return the policy."""
        async with self._database.transaction(actor) as (connection, _):
            return _policy(await repository.policy(connection))

    async def set(self, actor: Actor, policy: PolicyUpdate) -> Policy:
        """Set the policy, for reads from now on; no memory moves. For admins."""
        actor.require(Role.ADMIN)
        async with self._database.transaction(actor) as (connection, actor):
            allow = policy.allow_agent_specific_memory_globally
            row = await repository.set_policy(connection, allow)
            await audit.note(connection, actor, "policy.set", [])
            return _policy(row)

    async def statistics(self, actor: Actor) -> ScopeStatistics:
        """Return the numbers of users and agents by scope, counted exactly now. For admins."""
        actor.require(Role.ADMIN)
        async with self._database.system_for(actor) as (connection, actor):
            await audit.note(connection, actor, "statistics.read", [])
        return await self._statistics(actor)

    @may_use_replica
    async def _statistics(self, actor: Actor) -> ScopeStatistics:
        async with self._database.system_for(actor) as (connection, actor):
            policy = await repository.policy(connection)
            cells = await repository.cells(connection)
            defaults = await repository.agents_by_scope(connection)
            memories = await repository.memories_by_scope(connection)
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


def _policy(row: PolicyRow) -> Policy:
    return Policy(
        allow_agent_specific_memory_globally=row.allow_agent_specific_memory,
        updated_at=row.updated_at,
    )
