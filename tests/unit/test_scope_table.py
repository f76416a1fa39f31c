"""The whole truth table of the effective scope, in Python and in the database."""

from itertools import product

import pytest
from helpers import rows
from sqlalchemy import text

from remembrancer import Actor, Agent, EffectiveScope, Remembrancer, Role, Scope, ScopeSource, User
from remembrancer.access import NAMESPACE, effective_scope, viewer_binds

A, G = Scope.AGENT, Scope.GLOBAL
ADMIN, PREFERENCE = ScopeSource.ADMIN_OVERRIDE, ScopeSource.USER_PREFERENCE
TOGGLE, DEFAULT = ScopeSource.USER_TOGGLE, ScopeSource.AGENT_DEFAULT

# policy, preference, toggle, default of the agent -> scope, source
TABLE = [
    (False, None, None, A, G, ADMIN),
    (False, None, None, G, G, ADMIN),
    (False, None, True, A, G, ADMIN),
    (False, None, True, G, G, ADMIN),
    (False, None, False, A, G, ADMIN),
    (False, None, False, G, G, ADMIN),
    (False, True, None, A, G, ADMIN),
    (False, True, None, G, G, ADMIN),
    (False, True, True, A, G, ADMIN),
    (False, True, True, G, G, ADMIN),
    (False, True, False, A, G, ADMIN),
    (False, True, False, G, G, ADMIN),
    (False, False, None, A, G, ADMIN),
    (False, False, None, G, G, ADMIN),
    (False, False, True, A, G, ADMIN),
    (False, False, True, G, G, ADMIN),
    (False, False, False, A, G, ADMIN),
    (False, False, False, G, G, ADMIN),
    (True, True, None, A, A, PREFERENCE),
    (True, True, None, G, A, PREFERENCE),
    (True, True, True, A, A, PREFERENCE),
    (True, True, True, G, A, PREFERENCE),
    (True, True, False, A, A, PREFERENCE),
    (True, True, False, G, A, PREFERENCE),
    (True, False, None, A, G, PREFERENCE),
    (True, False, None, G, G, PREFERENCE),
    (True, False, True, A, G, PREFERENCE),
    (True, False, True, G, G, PREFERENCE),
    (True, False, False, A, G, PREFERENCE),
    (True, False, False, G, G, PREFERENCE),
    (True, None, False, A, G, TOGGLE),
    (True, None, False, G, G, TOGGLE),
    (True, None, None, A, A, DEFAULT),
    (True, None, None, G, G, DEFAULT),
    (True, None, True, A, A, DEFAULT),
    (True, None, True, G, G, DEFAULT),
]


def test_the_table_has_every_case_once() -> None:
    """Policy, preference, toggle and default in every combination."""
    cases = list(product((True, False), (None, True, False), (None, True, False), Scope))
    assert sorted(map(repr, (row[:4] for row in TABLE))) == sorted(map(repr, cases))


@pytest.mark.parametrize(
    ("policy", "preference", "toggle", "default", "scope", "source"),
    TABLE,
    ids=lambda value: getattr(value, "value", str(value)),
)
async def test_scope_is_what_the_table_says_in_python_in_sql_and_from_the_service(
    memory: Remembrancer,
    ada: User,
    agent: Agent,
    policy: bool,
    preference: bool | None,
    toggle: bool | None,
    default: Scope,
    scope: Scope,
    source: ScopeSource,
) -> None:
    """The pure function, its SQL twin and the answer to a client are one."""
    assert effective_scope(
        policy_allows=policy, preference=preference, toggle=toggle, agent_default=default
    ) == EffectiveScope(scope, source)
    rows("UPDATE memory_policy SET allow_agent_specific_memory = %s", policy)
    rows("UPDATE users SET allow_agent_specific_memory = %s WHERE id = %s", toggle, ada.id)
    rows("UPDATE agents SET memory_scope = %s WHERE id = %s", default.value, agent.id)
    if preference is not None:
        rows(
            "INSERT INTO memory_preferences (user_id, agent_id, id, allow_agent_specific_memory)"
            " VALUES (%s, %s, gen_random_uuid(), %s)",
            *(ada.id, agent.id, preference),
        )
    actor = Actor(Role.USER, user_id=ada.id, agent_id=agent.id)
    async with memory.database.transaction(actor) as (connection, _):
        asked = await connection.execute(text(f"SELECT {NAMESPACE}"), viewer_binds(actor))
        assert asked.scalar() == (agent.id if scope is Scope.AGENT else None)
    told = await memory.preferences.scope(actor, ada.id, agent.id)
    assert (told.effective_scope, told.source) == (scope, source)
    assert (told.user_preference is None) == (preference is None)
    answer = await memory.recall("anything", user=ada, agent=agent)
    assert (answer.scope, answer.scope_source) == (scope, source)
