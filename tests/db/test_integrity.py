"""`doctor --check`: nothing is wrong in a store, and whatever is done to it past us is named."""

from collections.abc import AsyncIterator

import pytest
from helpers import person, rows
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine

from remembrancer import (
    Agent,
    AssociationCreate,
    ConversationCreate,
    FactCreate,
    MemoryCreate,
    MemoryUpdate,
    MessageCreate,
    Relation,
    Remembrancer,
    SpaceCreate,
    User,
    Visibility,
    as_actor,
)
from remembrancer.db.urls import driver_url
from remembrancer.integrity import check
from remembrancer.integrity.rules import RULES
from remembrancer.integrity.service import problems

NOBODY = "'00000000-0000-7000-8000-000000000001'"

DAMAGES = {
    "positions_twice": "UPDATE messages SET position = 2 WHERE position = 1",
    "positions_beyond": "UPDATE conversations SET message_count = 59 WHERE message_count = 60",
    "summarised_beyond": "UPDATE conversations SET summarised_to = 41 WHERE summarised_to = 40",
    "chunks_overlap": "UPDATE chunks SET range_start = 20 WHERE range_start = 21",
    "chunks_beyond": "UPDATE conversations SET summarised_to = 39 WHERE summarised_to = 40",
    "chunks_stale": "UPDATE chunks SET stale = true WHERE range_start = 1",
    "versions_current": "DELETE FROM memory_versions WHERE version = 2",
    "versions_open": "UPDATE memory_versions SET superseded_at = NULL WHERE superseded_at < now()",
    "mention_counts": "UPDATE memories SET mention_count = 7 WHERE mention_count = 2",
    "owners": "DELETE FROM users WHERE display_name = 'Bob'",
    "survivors": f"UPDATE users SET merged_into = {NOBODY} WHERE display_name = 'Mia'",
    "shared_nowhere": "UPDATE memories SET space_id = NULL WHERE visibility = 'shared'",
    "orphans": "DELETE FROM spaces",
    "items_without_source": "DELETE FROM messages WHERE position = 7",
    "sources_without_item": "DELETE FROM recall_items WHERE position = 7",
    "items_twice": (
        "UPDATE recall_items AS i SET source_id = o.source_id FROM recall_items AS o"
        " WHERE i.position = 7 AND o.position = 8"
    ),
    "items_of_memories": "UPDATE recall_items SET active = false WHERE memory_id IS NOT NULL",
    "items_of_messages": "UPDATE recall_items SET position = 70 WHERE position = 7",
    "items_of_chunks": (
        "UPDATE recall_items SET conversation_id = NULL WHERE source_type = 'chunk'"
    ),
    "vectors": "UPDATE recall_items SET embedding = '[1, 2]' WHERE position = 7",
    "postings": "DELETE FROM postings WHERE ctid = (SELECT min(ctid) FROM postings)",
    "shared_postings": f"UPDATE postings SET shared_space_id = {NOBODY}",
    "shared_associations": f"UPDATE associations SET shared_space_id = {NOBODY}",
    "item_changes": "DELETE FROM item_changes",
    "foreign_key": "DELETE FROM memories WHERE subject = 'boat'",
    "memory_hashes": "UPDATE memories SET tokens = 99 WHERE subject = 'boat'",
    "item_hashes": "UPDATE messages SET content = 'Another text.' WHERE position = 7",
}
"""What is done to the store, by the rule that finds it."""


@pytest.fixture
async def whole(memory: Remembrancer, ada: User, bob: User, agent: Agent) -> Remembrancer:
    """A store with something of everything."""
    await person(memory, "Mia")
    actor = as_actor(ada, agent)
    opened = await memory.conversations.open(actor, ConversationCreate())
    said = [MessageCreate(content=f"Line {number} of the log.") for number in range(60)]
    await memory.conversations.append(actor, opened.id, said)
    await memory.conversations.summarize(actor, opened.id)
    boat = MemoryCreate(content="The boat is called Argo.", subject="boat")
    stored = (await memory.memories.remember(actor, boat)).memory
    await memory.memories.remember(actor, boat)
    await memory.memories.update(actor, stored.id, MemoryUpdate(content="The boat is Argo II."))
    other = await memory.memories.remember(actor, MemoryCreate(content="Ada sails on Sundays."))
    await memory.associations.add(
        actor,
        other.memory.id,
        AssociationCreate(target_id=stored.id, relation=Relation.PART_OF),
    )
    space = await memory.spaces.create(as_actor(bob), SpaceCreate(name="Crew"))
    fact = FactCreate(content="The crew meets at nine.", visibility=Visibility.SHARED)
    await memory.facts.add(as_actor(bob), space.id, fact)
    return memory


@pytest.fixture
async def past_us(whole: Remembrancer, database_url: str) -> AsyncIterator[AsyncConnection]:
    """A transaction of the database's owner in which no foreign key is kept; rolled back."""
    engine = create_async_engine(driver_url(database_url))
    async with engine.connect() as connection:
        await connection.execute(text("SET LOCAL session_replication_role = replica"))
        yield connection
        await connection.rollback()
    await engine.dispose()


async def test_a_whole_store_has_no_problem(whole: Remembrancer) -> None:
    """All steps are taken, and nothing is written."""
    steps: list[tuple[int, int]] = []
    before = rows("SELECT count(*) FROM audit_log")
    assert await check(whole.database, lambda done, total: steps.append((done, total))) == []
    assert steps[-1][0] == steps[-1][1] > len(RULES)
    assert before == rows("SELECT count(*) FROM audit_log")


@pytest.mark.parametrize("name", DAMAGES)
async def test_each_damage_is_named(past_us: AsyncConnection, name: str) -> None:
    """With ids, and what to do."""
    assert (await past_us.execute(text(DAMAGES[name]))).rowcount > 0  # type: ignore[attr-defined]
    found = {problem.rule.name: problem async for problem in problems(past_us, lambda *_: None)}
    assert name in found, found
    assert found[name].count >= len(found[name].ids) > 0
    assert found[name].rule.repair


def test_every_rule_has_a_damage() -> None:
    """A rule that nothing breaks in a test may find nothing."""
    assert {rule.name for rule in RULES} <= DAMAGES.keys()
