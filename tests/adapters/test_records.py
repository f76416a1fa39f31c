"""Records through the life of their user: merged, moved, exported, erased; never another's."""

import sys
from typing import Any

import pytest
from helpers import exported, rows
from scripted import Scripted, answer, fact, minded

from remembrancer import (
    Agent,
    Conflict,
    ConversationCreate,
    MemoryCreate,
    MessageCreate,
    MoveRequest,
    Remembrancer,
    Scope,
    User,
    VersionConflict,
    as_actor,
)
from remembrancer.records.schemas import Changes, RecordWrite
from remembrancer.review.schemas import Decision, ReviewDecision

A, B = ("shelf", "a"), ("shelf", "b")


async def keep(memory: Remembrancer, actor: Any, *pairs: tuple[tuple[str, ...], str]) -> None:
    """Write records."""
    writes = [RecordWrite(address, content) for address, content in pairs]
    await memory.records.write(actor, Changes(writes), source="test")


async def kept(memory: Remembrancer, actor: Any) -> dict[tuple[str, ...], str]:
    """What an actor has on the shelf."""
    found = await memory.records.search(actor, ("shelf",))
    return {one.address: one.content for one in found}


async def test_people_who_are_one_have_the_records_of_both(
    memory: Remembrancer, ada: User, bob: User
) -> None:
    """At one address the survivor's counts; the other's is set aside, and comes back undone."""
    await keep(memory, as_actor(ada), (A, "Ada's"))
    await keep(memory, as_actor(bob), (A, "Bob's"), (B, "Bob's too"))
    merge = await memory.users.merge(as_actor(), ada.id, bob.id)
    assert await kept(memory, as_actor(ada)) == {A: "Ada's", B: "Bob's too"}
    assert await kept(memory, as_actor(bob)) == {A: "Ada's", B: "Bob's too"}
    await memory.users.undo_merge(as_actor(), ada.id, merge.undo_id)
    assert await kept(memory, as_actor(ada)) == {A: "Ada's"}
    assert await kept(memory, as_actor(bob)) == {A: "Bob's", B: "Bob's too"}


async def test_records_move_between_scopes(memory: Remembrancer, ada: User, agent: Agent) -> None:
    """Each scope has its own; moving brings one's to the other, where an address is free."""
    through = as_actor(ada, agent)
    await keep(memory, through, (A, "the agent's"), (B, "the agent's too"))
    await keep(memory, as_actor(ada), (A, "everybody's"))
    assert await kept(memory, through) == {A: "the agent's", B: "the agent's too"}
    assert await kept(memory, as_actor(ada)) == {A: "everybody's"}
    wanted = MoveRequest(to=Scope.GLOBAL, dry_run=False)
    moved = await memory.moves.move(as_actor(ada), ada.id, agent.id, wanted)
    assert (moved.moved, moved.merged) == (1, 1)
    assert await kept(memory, as_actor(ada)) == {A: "everybody's", B: "the agent's too"}
    assert await kept(memory, through) == {}


async def test_records_are_exported_and_erased(memory: Remembrancer, ada: User, bob: User) -> None:
    """With their addresses, versions and vectors; other people's stay."""
    await keep(memory, as_actor(ada), (A, "first"))
    await keep(memory, as_actor(ada), (A, "second"))
    await keep(memory, as_actor(bob), (A, "Bob's"))
    [record] = [one for one in await exported(memory, ada) if one["type"] == "memory"]
    assert record["address"] == ["shelf", "a"]
    assert [one["content"] for one in record["versions"]] == ["first", "second"]
    await memory.users.erase(as_actor(ada), ada.id, dry_run=False)
    for table in ("memories", "memory_versions", "mentions", "recall_items", "postings"):
        assert rows(f"SELECT DISTINCT owner_id FROM {table}") in ([(bob.id,)], [])
    assert await kept(memory, as_actor(bob)) == {A: "Bob's"}


async def test_a_write_may_expect_a_version(memory: Remembrancer, ada: User) -> None:
    """One that finds another is refused whole, and names the version to read."""
    actor = as_actor(ada)
    await keep(memory, actor, (A, "one"))
    for expected in (0, 2):
        writes = [RecordWrite(B, "x"), RecordWrite(A, "two", expected_version=expected)]
        with pytest.raises(VersionConflict) as refusal:
            await memory.records.write(actor, Changes(writes), source="test")
        assert refusal.value.extra["current_version"] == 1
    assert await kept(memory, actor) == {A: "one"}
    await memory.records.write(
        actor, Changes([RecordWrite(A, "two", expected_version=1)]), source="test"
    )
    assert await kept(memory, actor) == {A: "two"}


async def test_moving_takes_what_lies_below_along(memory: Remembrancer, ada: User) -> None:
    """By whole names; to where nothing lies, and never below itself."""
    actor = as_actor(ada)
    below, sibling = ("shelf", "a", "x"), ("shelf", "ab", "x")
    await keep(memory, actor, (below, "1"), (sibling, "2"))
    await memory.records.move(actor, A, B)
    assert await kept(memory, actor) == {("shelf", "b", "x"): "1", sibling: "2"}
    for target in (("shelf", "ab"), ("shelf", "ab", "x", "y"), ("shelf", "b", "c")):
        with pytest.raises(Conflict):
            await memory.records.move(actor, B, target)
    await keep(memory, actor, (("shelf", "a", "x"), "3"))
    assert len(await kept(memory, actor)) == 3


async def test_what_a_program_keeps_is_the_programs_to_change(
    memory: Remembrancer, ada: User, model: Scripted
) -> None:
    """Neither a fact found in a conversation nor a confirmed revision becomes its new version."""
    actor = as_actor(ada)
    await keep(memory, actor, (A, "Ada works at Acme."))
    [record] = await memory.records.search(actor, ("shelf",))
    model.said = [
        answer("Work.", fact("Ada works at Bolt.", "Ada", 1, updates=record.memory_id)),
    ]
    talk = await memory.conversations.open(actor, ConversationCreate())
    said = [MessageCreate(content=f"I work at Bolt, for {n} days now") for n in range(21)]
    await memory.conversations.append(actor, talk.id, said)
    async with minded(memory, model.base_url, retries=0) as minds:
        await minds.conversations.summarize(actor, talk.id)
    waits = MemoryCreate(content="Ada works at Coil.", pending=True, revises=record.memory_id)
    pending = (await memory.memories.remember(actor, waits)).memory
    decision = ReviewDecision(memory_id=pending.id, decision=Decision.CONFIRM)
    await memory.review.decide(actor, [decision])
    assert await kept(memory, actor) == {A: "Ada works at Acme."}
    others = [m.content for m in (await memory.memories.list(actor)).items if not m.address]
    assert sorted(others) == ["Ada works at Bolt.", "Ada works at Coil."]


async def test_row_security_hides_records_without_any_filter(
    memory: Remembrancer, ada: User, bob: User
) -> None:
    """The database itself shows nobody another's record, whatever a statement asks."""
    from sqlalchemy import text

    await keep(memory, as_actor(ada), (A, "Ada's"))
    async with memory.database.transaction(as_actor(bob)) as (connection, _):
        found = await connection.execute(text("SELECT id FROM memories WHERE address IS NOT NULL"))
        assert found.all() == []


async def test_the_audit_log_has_ids_alone(memory: Remembrancer, ada: User) -> None:
    """Of what is written, changed and forgotten; no address, and nothing that was said."""
    actor = as_actor(ada)
    address = ("shelf", "peanut-allergy")
    await keep(memory, actor, (address, "something private"))
    await keep(memory, actor, (address, "something else"))
    await memory.records.remove(actor, address)
    actions = [a for (a,) in rows("SELECT action FROM audit_log WHERE action LIKE 'memory.%'")]
    assert {"memory.remember", "memory.update", "memory.forget"} <= set(actions)
    assert "peanut" not in str(rows("SELECT * FROM audit_log"))


@pytest.mark.parametrize(
    ("module", "framework", "extra"),
    [
        ("langgraph", "langgraph.store.base", "langgraph"),
        ("openai_agents", "agents", "openai-agents"),
        ("anthropic", "anthropic.lib.tools", "anthropic"),
        ("pydantic_ai", "pydantic_ai.toolsets", "llm"),
    ],
)
def test_a_missing_framework_names_its_extra(
    monkeypatch: pytest.MonkeyPatch, module: str, framework: str, extra: str
) -> None:
    """The error says what to install; the adapters of other frameworks need none of it."""
    import importlib

    monkeypatch.delitem(sys.modules, f"remembrancer.adapters.{module}", raising=False)
    monkeypatch.setitem(sys.modules, framework, None)
    with pytest.raises(ImportError, match=rf"remembrancer\[{extra}\]"):
        importlib.import_module(f"remembrancer.adapters.{module}")
