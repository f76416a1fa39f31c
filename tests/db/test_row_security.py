"""Row-level security hides foreign rows on its own, when a query forgets the rule."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest
from helpers import rows
from rule_removal import row_security_off_meanwhile, rule_removal
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from remembrancer import (
    Actor,
    Agent,
    ConversationCreate,
    MemoryCreate,
    MemoryUpdate,
    MessageCreate,
    Mode,
    NotFound,
    RecallQuery,
    Remembrancer,
    Role,
    SpaceCreate,
    User,
    as_actor,
)
from remembrancer.memories import mentions, versions

OWNED = (
    "memories",
    "memory_versions",
    "mentions",
    "associations",
    "messages",
    "chunks",
    "recall_items",
    "postings",
    "withheld_messages",
)
_LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
ROLES = [Role.USER, Role.SERVICE, Role.ADMIN]


@pytest.fixture
async def filled(memory: Remembrancer, ada: User, bob: User, agent: Agent) -> Remembrancer:
    """A store where Ada and Bob both have something in every table."""
    for user in (ada, bob):
        actor = as_actor(user)
        await _remember(memory, actor, f"{user.display_name} lives in Lisbon.")
        opened = await memory.conversations.open(actor, ConversationCreate(agent_id=agent.id))
        said = [MessageCreate(content=f"I am {user.display_name} of Lisbon")]
        await memory.conversations.append(actor, opened.id, said)
        rows(
            "INSERT INTO chunks (owner_id, id, conversation_id, range_start, range_end, content)"
            " VALUES (%s, %s, %s, 1, 1, 'A summary of Lisbon')",
            *(user.id, uuid4(), opened.id),
        )
        rows(
            "INSERT INTO associations (owner_id, memory_id, target_owner_id, target_id, relation)"
            " SELECT owner_id, id, owner_id, id, 'related_to' FROM memories WHERE owner_id = %s",
            user.id,
        )
        rows(
            "INSERT INTO withheld_messages SELECT owner_id, 'gone', id FROM messages"
            " WHERE owner_id = %s",
            user.id,
        )
    return memory


async def _remember(memory: Remembrancer, actor: Actor, content: str, **fields: Any) -> str:
    made = await memory.memories.remember(actor, MemoryCreate(content=content, **fields))
    change = MemoryUpdate(importance=0.9)
    return (await memory.memories.update(actor, made.memory.id, change)).id


async def _run(store: Remembrancer, actor: Actor, statement: str, /, **binds: Any) -> Any:
    async with store.database.transaction(actor) as (connection, _):
        return await connection.execute(text(statement), binds)


@pytest.mark.parametrize("role", ROLES)
async def test_no_table_shows_a_foreign_row_without_any_predicate(
    filled: Remembrancer, ada: User, bob: User, role: Role
) -> None:
    """A plain SELECT sees one's own rows of every table, and no other's, in every role."""
    actor = Actor(role, user_id=ada.id)
    for table in OWNED:
        owners = (await _run(filled, actor, f"SELECT DISTINCT owner_id FROM {table}")).scalars()
        assert list(owners) == [ada.id], table
        assert rows(f"SELECT count(*) > 0 FROM {table} WHERE owner_id = %s", bob.id) == [(True,)]


async def _listed(store: Remembrancer, actor: Actor, _foreign: str) -> set[Any]:
    return {memory.user_id for memory in (await store.memories.list(actor)).items}


async def _recalled(store: Remembrancer, actor: Actor, _foreign: str) -> set[Any]:
    # Of others nothing is in memory: with this filter the database is searched.
    query = RecallQuery(query="Bob lives in Lisbon", limit=50, since=_LONG_AGO)
    return {hit.user_id for hit in (await store.memories.recall(actor, query)).hits}


async def _chosen_in_memory(store: Remembrancer, actor: Actor, _foreign: str) -> set[Any]:
    query = RecallQuery(query="Bob lives in Lisbon", limit=50)
    await store.memories.recall(actor, query)
    return {hit.user_id for hit in (await store.memories.recall(actor, query)).hits}


async def _recent(store: Remembrancer, actor: Actor, _foreign: str) -> set[Any]:
    query = RecallQuery(mode=Mode.RECENT, limit=50)
    return {hit.user_id for hit in (await store.memories.recall(actor, query)).hits}


async def _read(store: Remembrancer, actor: Actor, foreign: str) -> set[Any]:
    """The owner of a foreign memory read by its id, beside the actor."""
    try:
        return {actor.user_id, (await store.memories.get(actor, foreign)).user_id}
    except NotFound:
        return {actor.user_id}


READS = [_listed, _recalled, _recent, _read]


@pytest.mark.parametrize("read", [*READS, _chosen_in_memory])
@pytest.mark.parametrize("role", ROLES)
async def test_without_the_rule_row_security_still_hides_foreign_rows(
    filled: Remembrancer, ada: User, bob: User, role: Role, read: Any
) -> None:
    """The second lock holds alone: of the real statements, with the first taken off."""
    [(foreign,)] = rows("SELECT id FROM memories WHERE owner_id = %s", bob.id)
    with rule_removal() as removal, removal.needed():
        assert await read(filled, Actor(role, user_id=ada.id), foreign) == {ada.id}


@pytest.mark.parametrize("read", READS)
async def test_without_the_rule_and_row_security_foreign_rows_are_shown(
    filled: Remembrancer, ada: User, bob: User, read: Any
) -> None:
    """The counter-proof: with row-level security off, the test above would fail."""
    [(foreign,)] = rows("SELECT id FROM memories WHERE owner_id = %s", bob.id)
    actor = Actor(Role.USER, user_id=ada.id)
    async with row_security_off_meanwhile():
        assert await read(filled, actor, foreign) == {ada.id}, "the rule hides them"
        with rule_removal():
            assert await read(filled, actor, foreign) == {ada.id, bob.id}


async def test_versions_and_mentions_of_foreign_memories_are_hidden(
    filled: Remembrancer, ada: User, bob: User
) -> None:
    """The history of a memory has no rule of its own: row-level security is its only lock."""
    [(foreign,)] = rows("SELECT id FROM memories WHERE owner_id = %s", bob.id)
    actor = Actor(Role.USER, user_id=ada.id)
    async with filled.database.transaction(actor) as (connection, _):
        assert not await versions.history(connection, bob.id, foreign)
        assert not await mentions.latest(connection, bob.id, foreign)
    async with row_security_off_meanwhile(), filled.database.transaction(actor) as (connection, _):
        assert await versions.history(connection, bob.id, foreign)
        assert await mentions.latest(connection, bob.id, foreign)


async def _tables_with_an_owner() -> AsyncIterator[tuple[str, bool, bool, str]]:
    for row in rows("""
        SELECT DISTINCT c.relname, c.relrowsecurity, c.relforcerowsecurity,
               pg_get_userbyid(c.relowner)
          FROM pg_class AS c
          JOIN pg_attribute AS a ON a.attrelid = c.oid
         WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
           AND a.attname IN ('owner_id', 'user_id', 'opened_by', 'created_by')
    """):
        yield row


async def test_every_table_that_names_a_user_has_forced_row_security(memory: Remembrancer) -> None:
    """Enabled for everybody and forced even on the owner, table by table."""
    tables = [row async for row in _tables_with_an_owner()]
    assert {name for name, *_ in tables} >= {*OWNED, "participants", "audit_log", "conversations"}
    for name, enabled, forced, _owner in tables:
        assert enabled, name
        assert forced, name
    assert rows("SELECT relrowsecurity, relforcerowsecurity FROM pg_class WHERE relname='users'")


async def test_the_service_connects_in_a_role_that_can_do_nothing_special(
    memory: Remembrancer,
) -> None:
    """It owns nothing, is no superuser, and row-level security binds it."""
    [role] = rows(
        "SELECT rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, rolreplication"
        " FROM pg_roles WHERE rolname = 'remembrancer_app'"
    )
    assert not any(role)
    owned = "SELECT count(*) FROM pg_class WHERE pg_get_userbyid(relowner) = 'remembrancer_app'"
    assert rows(owned) == [(0,)]
    async with memory.database.system() as connection:
        assert (
            await connection.execute(text("SELECT current_user"))
        ).scalar() == "remembrancer_app"


async def test_with_no_settings_made_nothing_is_visible(filled: Remembrancer) -> None:
    """A connection that never said for whom it works sees no row of anybody's."""
    async with (
        filled.database._location.pool.engine.begin() as connection
    ):  # past `transaction`, on purpose
        for table in (
            *OWNED,
            "users",
            "platform_links",
            "participants",
            "conversations",
            "audit_log",
            "api_keys",
            "sessions",
            "sign_in_links",
            "idempotency_keys",
        ):
            count = await connection.execute(text(f"SELECT count(*) FROM {table}"))
            assert count.scalar() == 0, table


async def test_the_settings_end_with_their_transaction(filled: Remembrancer, ada: User) -> None:
    """What one transaction may see, the next on the same connection may not."""
    engine = filled.database._location.pool.engine
    async with engine.connect() as connection:
        async with connection.begin():
            await connection.execute(
                text("SELECT set_config('app.user_id', :id, true)"), {"id": str(ada.id)}
            )
            seen = await connection.execute(text("SELECT count(*) FROM memories"))
            assert seen.scalar() == 1
        async with connection.begin():
            seen = await connection.execute(text("SELECT count(*) FROM memories"))
            assert seen.scalar() == 0


_NEW_ROWS = {
    "memories": "(owner_id, id, kind, category, content, content_hash, tokens, importance)"
    " VALUES (:owner, 'forged12', 'fact', 'other', 'Forged', '\\x00', 1, 1)",
    "memory_versions": "(owner_id, memory_id, version, content)"
    " SELECT :owner, :memory, 9, 'Forged'",
    "mentions": "(owner_id, memory_id, id) VALUES (:owner, :memory, gen_random_uuid())",
    "associations": "(owner_id, memory_id, target_owner_id, target_id, relation)"
    " VALUES (:owner, :memory, :owner, :memory, 'updates')",
    "messages": "(owner_id, id, conversation_id, position, role, content, sent_at)"
    " VALUES (:owner, gen_random_uuid(), :conversation, 9, 'user', 'Forged', now())",
    "chunks": "(owner_id, id, conversation_id, range_start, range_end, content)"
    " VALUES (:owner, gen_random_uuid(), :conversation, 5, 6, 'Forged')",
    "recall_items": "(owner_id, source_type, at, content_hash, length, embedding)"
    " VALUES (:owner, 'memory', now(), '\\x00', 1, '[1]')",
    "postings": "(owner_id, term, item_id, frequency) VALUES (:owner, 'forged', 1, 1)",
    "item_changes": "(owner_id, version, recent) VALUES (:owner, 1, '{}')",
    "withheld_messages": "(owner_id, memory_id, message_id)"
    " VALUES (:owner, :memory, gen_random_uuid())",
    "idempotency_keys": "(owner_id, action, key, fingerprint) VALUES (:owner, 'a', 'k', '\\x00')",
    "participants": "(user_id, conversation_id) VALUES (:owner, gen_random_uuid())",
    "space_members": "(user_id, space_id) VALUES (:owner, gen_random_uuid())",
    "space_refusals": "(user_id, space_id, declined) VALUES (:owner, gen_random_uuid(), false)",
    "space_invitations": "(space_id, invitee, invited_by) VALUES (gen_random_uuid(), 'x', :owner)",
    "memory_preferences": "(user_id, agent_id, id, allow_agent_specific_memory)"
    " SELECT :owner, id, gen_random_uuid(), true FROM agents",
    "platform_links": "(platform, platform_user_id, user_id) VALUES ('x', 'y', :owner)",
    "uploads": "(owner_id, id, name, is_own) VALUES (:owner, gen_random_uuid(), 'x', true)",
    "upload_parts": "(owner_id, upload_id, number, content)"
    " VALUES (:owner, gen_random_uuid(), 0, '\\x00')",
    "sessions": "(hash, user_id, expires_at) VALUES ('\\x00', :owner, now())",
    "sign_in_links": "(hash, user_id, expires_at) VALUES ('\\x00', :owner, now())",
}


@pytest.mark.parametrize("table", _NEW_ROWS)
async def test_a_user_cannot_write_a_row_for_somebody_else(
    filled: Remembrancer, ada: User, bob: User, table: str
) -> None:
    """The database itself refuses to insert what would belong to another."""
    [(memory_id,)] = rows("SELECT id FROM memories WHERE owner_id = %s", bob.id)
    [(conversation,)] = rows("SELECT conversation_id FROM participants WHERE user_id = %s", bob.id)
    known = {"owner": bob.id, "memory": memory_id, "conversation": conversation}
    statement = f"INSERT INTO {table} {_NEW_ROWS[table]}"
    binds = {name: value for name, value in known.items() if f":{name}" in statement}
    with pytest.raises(DBAPIError, match="row-level security"):
        await _run(filled, Actor(Role.USER, user_id=ada.id), statement, **binds)


async def test_a_user_cannot_write_shared_knowledge(filled: Remembrancer, ada: User) -> None:
    """Only staff write what everybody reads; the database holds to it as well."""
    statement = f"INSERT INTO memories {_NEW_ROWS['memories']}"
    with pytest.raises(DBAPIError, match="row-level security"):
        await _run(filled, Actor(Role.USER, user_id=ada.id), statement, owner=UUID(int=0))
    await _run(filled, Actor(Role.SERVICE), statement, owner=UUID(int=0))
    for change in ("UPDATE memories SET pinned = true", "DELETE FROM memories"):
        changed = await _run(
            filled, Actor(Role.USER, user_id=ada.id), f"{change} WHERE id = 'forged12'"
        )
        assert changed.rowcount == 0


async def test_a_row_cannot_be_moved_to_another_owner(
    filled: Remembrancer, ada: User, bob: User
) -> None:
    """An UPDATE of the owner is refused, to or from oneself."""
    actor = Actor(Role.USER, user_id=ada.id)
    statement = "UPDATE recall_items SET owner_id = :bob WHERE owner_id = :ada"
    with pytest.raises(DBAPIError, match="row-level security"):
        await _run(filled, actor, statement, ada=ada.id, bob=bob.id)
    stolen = await _run(filled, actor, statement, ada=bob.id, bob=ada.id)
    assert stolen.rowcount == 0


@pytest.mark.parametrize("role", ROLES)
async def test_a_shared_row_of_a_co_member_is_read_and_never_changed(
    filled: Remembrancer, ada: User, bob: User, role: Role
) -> None:
    """In a space, members see each other's shared facts with all that hangs on them."""
    together = SpaceCreate(name="Family", member_ids=[bob.id])
    space = await filled.spaces.create(as_actor(ada), together)
    shared = {"space_id": space.id, "visibility": "shared"}
    await _remember(filled, as_actor(bob), "Gran was born in 1931.", **shared)
    actor = Actor(role, user_id=ada.id)
    for table in ("memories", "memory_versions", "mentions", "recall_items", "postings"):
        mine = f"FROM {table} WHERE owner_id = :bob"
        assert (await _run(filled, actor, f"SELECT count(*) {mine}", bob=bob.id)).scalar() > 0
        before = rows(f"SELECT count(*), max(ctid::text) FROM {table}")
        update = f"UPDATE {table} SET owner_id = owner_id WHERE owner_id = :bob"
        assert (await _run(filled, actor, update, bob=bob.id)).rowcount == 0
        assert (await _run(filled, actor, f"DELETE {mine}", bob=bob.id)).rowcount == 0
        assert rows(f"SELECT count(*), max(ctid::text) FROM {table}") == before


async def test_a_shared_row_needs_membership_of_its_writer(
    filled: Remembrancer, ada: User, bob: User
) -> None:
    """A user cannot place a shared fact in a space of others by writing past the service."""
    theirs = await filled.spaces.create(as_actor(bob), SpaceCreate(name="Bob's"))
    statement = (
        "INSERT INTO memories (owner_id, id, kind, category, content, content_hash, tokens,"
        " importance, space_id, visibility)"
        " VALUES (:me, 'forged12', 'fact', 'other', 'Forged', '\\x00', 1, 1, :space, 'shared')"
    )
    with pytest.raises(DBAPIError, match="row-level security"):
        await _run(filled, Actor(Role.USER, user_id=ada.id), statement, me=ada.id, space=theirs.id)


async def test_the_audit_log_is_added_to_and_never_rewritten(
    filled: Remembrancer, ada: User, bob: User
) -> None:
    """Nobody edits a line; a user reads their own and removes none."""
    lines = rows("SELECT count(*) FROM audit_log")
    actor = Actor(Role.USER, user_id=ada.id)
    for statement in ("UPDATE audit_log SET action = 'x'", "DELETE FROM audit_log"):
        assert (await _run(filled, actor, statement)).rowcount == 0
    owners = await _run(filled, actor, "SELECT DISTINCT owner_id FROM audit_log")
    assert list(owners.scalars()) == [ada.id]
    async with filled.database.system() as connection:
        assert (await connection.execute(text("UPDATE audit_log SET action = 'x'"))).rowcount == 0
    assert rows("SELECT count(*) FROM audit_log") == lines
