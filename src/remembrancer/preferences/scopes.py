"""The effective scope of users with agents: the one place that loads what decides it."""

import logging
from collections.abc import Collection
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.access import EffectiveScope, Scope, ScopeSource, effective_scope
from remembrancer.preferences import repository

log = logging.getLogger(__name__)

# One warning a user and process: the toggle is asked at every read and write.
_warned: set[UUID] = set()


def in_effect(facts: Any, user_id: UUID) -> EffectiveScope:
    """Return the scope that a row of ``access.SCOPE_FACTS`` decides for ``user_id``.

    Logs a warning where the deprecated toggle decided it, once for each user.
    """
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
    """Return the effective scope of each known user with one living agent, in one query."""
    rows = await repository.facts(connection, agent_id, user_ids)
    return {row.user_id: in_effect(row, row.user_id) for row in rows}
