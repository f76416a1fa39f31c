"""Who read or changed which ids of whom is written down, and never what they said."""

from datetime import UTC, datetime, timedelta

from doors import Door, refusals
from support import ADMIN, Api, audit_lines, rows

from remembrancer import Agent, AuditFilter, MemoryFilter, Remembrancer, User, as_actor
from remembrancer.db.tables import metadata
from remembrancer.idempotency import forget_old_keys


async def test_reads_are_noted_with_who_and_through_what(
    door: Door, memory: Remembrancer, ada: User, agent: Agent
) -> None:
    """Lists, single reads, recalls and windows: the ids, the role, the agent, the way in."""
    made = (await door.remember("Ada keeps bees.", user=ada, agent=agent))["memory"]["id"]
    talk = (await door.open(user=ada, agent=agent))["id"]
    said = (await door.say(talk, [{"content": "Bees!"}], user=ada))["messages"][0]["id"]
    await door.listed(user=ada, agent=agent)
    await door.read(made, user=ada, agent=agent)
    await door.recall("bees", user=ada, agent=agent)
    await door.window(talk, user=ada)
    await memory.reads.flush()
    lines = {line.action: line for line in audit_lines()}
    assert lines["memory.list"].target_ids == [made]
    assert lines["memory.read"].target_ids == [made]
    assert sorted(lines["recall"].target_ids) == sorted([made, said])
    assert lines["message.read"].target_ids == [said]
    for action in ("memory.list", "memory.read", "recall"):
        line = lines[action]
        assert (line.owner_id, line.actor_role, line.actor_agent_id) == (
            ada.id,
            "service",
            agent.id,
        )
        assert line.entry_point in {"python", "rest"}
    assert "bees" not in str(audit_lines()).lower()


async def test_an_admins_read_is_noted_before_the_answer(api: Api, ada: User) -> None:
    """Nothing is read across people that is not in the log already."""
    made = (await api.memory.remember("Ada keeps bees.", user=ada)).memory.id
    answer = await api.client.get(f"/api/users/{ada.id}/memories", headers=api.admin)
    assert answer.json()["total"] == 1
    [line] = [line for line in audit_lines() if line.action == "memory.list"]
    assert (line.actor_role, line.owner_id, line.target_ids) == ("admin", ada.id, [made])
    assert line.actor_key_id
    assert line.entry_point == "rest"


async def test_the_log_is_read_by_filters_and_pages(
    door: Door, memory: Remembrancer, api: Api, ada: User, bob: User
) -> None:
    """An admin sees all of it, the latest first; the look is a line of its own."""
    made = [(await door.remember(f"Fact {n}.", user=u))["memory"]["id"]
            for n, u in enumerate((ada, bob, ada))]  # fmt: skip
    await refusals(door.forget(made[0], user=bob))
    log = memory.audit_log
    seen = await log.list(ADMIN, AuditFilter(user_id=ada.id, action="memory"))
    assert [line.target_ids for line in seen.items] == [[made[2]], [made[0]]]
    refused = await log.list(ADMIN, AuditFilter(outcome="refused"))
    assert [(line.action, line.target_ids) for line in refused.items] == [
        ("memory.forget", [made[0]])
    ]
    assert (await log.list(ADMIN, AuditFilter(target_id=made[1]))).items[0].user_id == bob.id
    none = AuditFilter(action="mem")
    assert (await log.list(ADMIN, none)).items == []
    first = await log.list(ADMIN, AuditFilter(action="memory.remember"), limit=2)
    second = await log.list(
        ADMIN, AuditFilter(action="memory.remember"), limit=2, cursor=first.next_cursor
    )
    assert [line.target_ids[0] for line in (*first.items, *second.items)] == made[::-1]
    looks = [line for line in audit_lines() if line.action == "audit.read"]
    assert len(looks) == 6
    later = AuditFilter(since=datetime.now(UTC) + timedelta(hours=1))
    assert (await log.list(ADMIN, later)).items == []


async def test_a_user_sees_what_concerns_them_and_nobody_else(
    door: Door, memory: Remembrancer, ada: User, bob: User
) -> None:
    """Whatever they ask for, the lines are about their own data."""
    await door.remember("Ada keeps bees.", user=ada)
    await door.remember("Bob keeps wasps.", user=bob)
    own = await door.of(bob)
    for wanted in ({}, {"action": "memory"}, {"user_id": str(bob.id)}):
        lines = (await own.audited(**wanted))["items"]
        assert {line["user_id"] for line in lines} == {str(bob.id)}
    [foreign] = await refusals(own.audited(user_id=str(ada.id)))
    assert foreign.status == 404
    [nobody] = await refusals(door.audited())
    assert (nobody.status, nobody.fields) == (422, ["user_id"])
    [line] = (await door.audited(user_id=str(ada.id), action="memory.remember"))["items"]
    assert line["actor_role"] == "service"


async def test_old_lines_are_removed(memory: Remembrancer, ada: User) -> None:
    """After the days that they are kept, and not before."""
    await memory.remember("Ada keeps bees.", user=ada)
    assert await memory.retention.forget() == 0
    rows("UPDATE audit_log SET at = now() - interval '366 days'")
    await memory.remember("Ada keeps wasps.", user=ada)
    assert await memory.retention.forget() == 1


# 24 Idle maintenance -------------------------------------------------------------------


async def test_maintenance_without_new_content_changes_nothing(
    memory: Remembrancer, ada: User, agent: Agent
) -> None:
    """Run twice, every job there is leaves each memory, its importance and its place as it was."""
    for number, kind in enumerate(("identity", "event", "fact", "observation")):
        await memory.remember(f"Fact number {number}.", user=ada, agent=agent, kind=kind)
    await memory.recall("fact number", user=ada, agent=agent)

    async def maintain() -> None:
        await memory.accesses.flush()
        await memory.reads.flush()
        await memory.retention.forget()
        async with memory.database.system() as connection:
            await forget_old_keys(connection)

    def stored() -> dict[str, list[str]]:
        skipped = {"audit_log"}
        return {
            t.name: [text for (text,) in rows(f"SELECT t::text FROM {t.name} AS t ORDER BY 1")]
            for t in metadata.sorted_tables
            if t.name not in skipped
        }

    await maintain()
    before = stored()
    order = await memory.memories.list(as_actor(ada, agent), MemoryFilter(sort="importance"))
    for _ in range(2):
        await maintain()
    assert stored() == before
    again = await memory.memories.list(as_actor(ada, agent), MemoryFilter(sort="importance"))
    assert again == order
