"""Effective scopes of users with agents."""

import logging
from collections.abc import Collection
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.access import EffectiveScope, Scope, ScopeFacts, ScopeSource, effective_scope
from remembrancer.preferences import repository

log = logging.getLogger(__name__)

# One warning per user and process: every read and write reads the toggle.
_warned: set[UUID] = set()


def in_effect(facts: ScopeFacts, user_id: UUID) -> EffectiveScope:
    """Log a warning where the deprecated toggle decides, once per user."""
    scope = effective_scope(
        policy_allows=facts.policy_allows,
        preference=facts.preference,
        toggle=facts.toggle,
        agent_default=Scope(facts.agent_default),
    )
    if scope.source is ScopeSource.USER_TOGGLE and user_id not in _warned:
        _warned.add(user_id)
        log.warning(
            "user %s relies on the deprecated toggle for all agents; "
            "run `remembrancer migrate-preferences`",
            user_id,
        )
    return scope


async def scopes(
    connection: AsyncConnection, agent_id: UUID, user_ids: Collection[UUID]
) -> dict[UUID, EffectiveScope]:
    """Return the scope of each known user with a current agent, in one query."""
    rows = await repository.facts(connection, [agent_id], user_ids)
    return {row.user_id: in_effect(row, row.user_id) for row in rows}
