"""Memories that expire: out of recall at once, let go by a sweep, back on request."""

from datetime import UTC, datetime, timedelta

from entry_points import Door, refusals
from helpers import audit_lines, rows

from remembrancer import Agent, FactCreate, Remembrancer, SpaceCreate, User, as_actor

PARKED = "Ada's car is parked on level four."


def in_days(days: int) -> str:
    return (datetime.now(UTC) + timedelta(days=days)).isoformat()


def let_time_pass(memory_id: str) -> None:
    statement = "UPDATE memories SET expires_at = now() - interval '1 s' WHERE id = %s"
    rows(statement, memory_id)


async def test_an_expired_memory_is_out_of_everything_before_a_sweep(
    door: Door, ada: User, agent: Agent
) -> None:
    """Recall in each mode, prompts frozen or not, lists and reads; others stay."""
    whom = {"user": ada, "agent": agent}
    stored = await door.remember(PARKED, expires_at=in_days(1), **whom)
    await door.remember("Ada's car is a red van.", **whom)
    memory_id = stored["memory"]["id"]
    assert stored["memory"]["expires_at"] is not None
    talk = await door.open(user=ada, agent=agent)
    frozen = await door.context(conversation_id=talk["id"], message="the car", **whom)
    assert PARKED in frozen["stable"]["text"]
    assert PARKED in await door.contents("Where is the car parked?", **whom)

    let_time_pass(memory_id)
    for how in ({}, {"mode": "recent"}, {"as_of": datetime.now(UTC).isoformat()}):
        told = await door.contents("Where is the car parked?", **whom, **how)
        assert told == ["Ada's car is a red van."], how
    for where in ({"conversation_id": talk["id"]}, {}):
        context = await door.context(message="Where is the car parked?", **where, **whom)
        assert PARKED not in context["stable"]["text"] + context["dynamic"]["text"]
    assert (await door.listed(**whom))["total"] == 1
    refused = await refusals(
        door.read(memory_id, user=ada),
        door.update(memory_id, user=ada, content="Ada's car is on level five."),
        door.update(memory_id, user=ada, expires_at=in_days(1)),
    )
    assert [one.status for one in refused] == [404, 404, 404]


async def test_memories_that_expired_take_no_place_of_others(door: Door, ada: User) -> None:
    """As many results as there are, though many nearer memories await the sweep."""
    for level in range(40):
        parked = f"Ada's car is parked on level {level}."
        stored = await door.remember(parked, user=ada, expires_at=in_days(1))
        let_time_pass(stored["memory"]["id"])
    stays = [f"Ada's {thing} is blue." for thing in ("coat", "door", "bike", "boat", "lamp")]
    for statement in stays:
        await door.remember(statement, user=ada)
    told = await door.contents("Where is the car parked?", user=ada, limit=5)
    assert sorted(told) == sorted(stays)


async def test_a_sweep_lets_an_expired_memory_go_and_its_history_says_so(
    door: Door, memory: Remembrancer, ada: User
) -> None:
    """It is forgotten, listed as such, restored for good; a second sweep does nothing."""
    stored = await door.remember(PARKED, user=ada, expires_at=in_days(1))
    later = await door.remember("Ada flies to Oslo.", user=ada, expires_at=in_days(2))
    memory_id = stored["memory"]["id"]
    assert await memory.expiry.sweep() == 0
    let_time_pass(memory_id)
    assert await memory.expiry.sweep() == 1
    assert await memory.expiry.sweep() == 0
    [line] = [line for line in audit_lines() if line.action == "memory.expire"]
    assert (line.owner_id, line.target_ids) == (ada.id, [memory_id])
    [gone] = (await door.listed(user=ada, statuses=["forgotten"]))["memories"]
    assert (gone["id"], gone["version"], gone["source"]) == (memory_id, 2, "expiry")
    assert await door.contents("Where is the car parked?", user=ada) == ["Ada flies to Oslo."]

    restored = await door.restore(memory_id, user=ada)
    assert (restored["status"], restored["expires_at"]) == ("active", None)
    history = await door.read(memory_id, user=ada)
    assert [version["source"] for version in history["versions"]][1:] == ["expiry"]
    assert await memory.expiry.sweep() == 0
    assert (await door.contents("Where is the car parked?", user=ada))[0] == PARKED
    assert (await door.read(later["memory"]["id"], user=ada))["version"] == 1


async def test_an_expiry_is_moved_and_taken_away_until_it_has_come(door: Door, ada: User) -> None:
    """By an update, and by a mention that holds for longer; never by one that holds for less."""
    stored = await door.remember(PARKED, user=ada, expires_at=in_days(2))
    memory_id, first = stored["memory"]["id"], stored["memory"]["expires_at"]
    for wanted, longer in ((in_days(1), False), (None, False), (in_days(3), True)):
        fields = {} if wanted is None else {"expires_at": wanted}
        again = await door.remember(PARKED, user=ada, **fields)
        assert again["outcome"] == "mentioned"
        assert (again["memory"]["expires_at"] > first) is longer
    changed = await door.update(memory_id, user=ada, content="Ada's car is on level five.")
    assert changed["expires_at"] > first
    changed = await door.update(memory_id, user=ada, expires_at=None)
    assert changed["expires_at"] is None


async def test_what_is_said_again_after_an_expiry_is_remembered_anew(door: Door, ada: User) -> None:
    """Also before a sweep: a statement is never lost in a memory that nobody reads."""
    stored = await door.remember(PARKED, user=ada, subject="car", expires_at=in_days(1))
    let_time_pass(stored["memory"]["id"])
    other = await door.remember("Ada sold her car.", user=ada, subject="car")
    assert other["outcome"] == "created"
    await door.forget(other["memory"]["id"], user=ada)
    again = await door.remember(PARKED, user=ada, subject="car")
    assert again["memory"]["expires_at"] is None
    assert PARKED in await door.contents("Where is the car parked?", user=ada)


async def test_an_expiry_in_the_past_or_without_a_zone_is_refused(door: Door, ada: User) -> None:
    """On every write, alone and in bulk; nothing is stored."""
    naive = datetime.now(UTC).replace(tzinfo=None).isoformat()
    for wrong in ("2020-01-01T00:00:00Z", naive, "soon"):
        refused = await refusals(
            door.remember(PARKED, user=ada, expires_at=wrong),
            door.remember_many([{"content": PARKED, "expires_at": wrong}], user=ada),
        )
        assert {one.status for one in refused} == {422}
        assert all(one.fields[0].endswith("expires_at") for one in refused)
    kept = await door.remember_many([{"content": PARKED, "expires_at": in_days(1)}], user=ada)
    assert kept[0]["memory"]["expires_at"] is not None
    answer = await door.call(
        "memory_save",
        {"content": "Ada's locker is 12.", "confirmed": True, "expires_at": in_days(1)},
        user=ada,
    )
    assert answer["ok"], answer
    listed = (await door.listed(user=ada))["memories"]
    assert [memory["expires_at"] is None for memory in listed] == [False, False]


async def test_a_fact_that_expires_is_shared_with_its_expiry(
    memory: Remembrancer, ada: User
) -> None:
    """A copy in a space ends when the memory does."""
    space = await memory.spaces.create(as_actor(ada), SpaceCreate(name="Trips"))
    until = datetime.now(UTC) + timedelta(days=1)
    own = await memory.remember("The ferry is booked.", user=ada, expires_at=until)
    shared = await memory.facts.share(as_actor(ada), own.memory.id, space.id)
    assert shared.memory.expires_at == until
    fact = FactCreate(content="The cabin has two beds.", expires_at=until)
    added = await memory.facts.add(as_actor(ada), space.id, fact)
    assert added.memory.expires_at == until
