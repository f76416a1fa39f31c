"""A user's memory stays within its tokens: what goes, in which order, and how it comes back."""

import asyncio
import logging
import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import httpx2
import pytest
from entry_points import Door, PythonDoor, RestDoor
from helpers import Api, audit_lines, person, rows

from remembrancer import Remembrancer, User, as_actor, tokens
from remembrancer.api import create_app
from remembrancer.memories.decay import decayed
from remembrancer.memories.schemas import Kind
from remembrancer.settings import BudgetSettings

SAID = "{} is what was said for this test"


def _with_budget(memory: Remembrancer, budget: int) -> Remembrancer:
    settings = memory.settings.model_copy(update={"budget": BudgetSettings(tokens=budget)})
    return Remembrancer(settings, memory.database, memory.embedder)


@pytest.fixture
def small(memory: Remembrancer) -> Remembrancer:
    """The store, with room for a hundred tokens a user."""
    return _with_budget(memory, 100)


@pytest.fixture(params=["python", "rest"])
def tight(request: pytest.FixtureRequest, small: Remembrancer, api: Api) -> Door:
    """Each way into it."""
    if request.param == "python":
        return PythonDoor(small, as_actor())
    transport = httpx2.ASGITransport(app=create_app(small), raise_app_exceptions=False)
    client = httpx2.AsyncClient(transport=transport, base_url="http://test")
    return RestDoor(replace(api, client=client, memory=small), api.service)


def _used(user: User) -> int:
    """Tokens of what is active or inactive, counted from the text in the database."""
    kept = rows(
        "SELECT content FROM memories WHERE owner_id = %s AND space_id IS NULL"
        " AND status IN ('active', 'inactive')",
        user.id,
    )
    return sum(tokens.count(content) for (content,) in kept)


def _evicted(user: User) -> list[str]:
    return [
        memory_id
        for (memory_id,) in rows(
            "SELECT id FROM memories WHERE owner_id = %s AND status = 'evicted'", user.id
        )
    ]


async def _remember(door: Door, user: User, word: str, **fields: object) -> str:
    content = SAID.format(word)
    return (await door.remember(content, user=user, **fields))["memory"]["id"]


async def test_what_is_over_the_budget_goes_in_order(tight: Door, ada: User) -> None:
    """Inactive first, then what is left of importance, then the oldest; pinned never."""
    pinned = await _remember(tight, ada, "Oak", kind="observation", pinned=True)
    weighty = await _remember(tight, ada, "Elm", kind="identity")
    old = await _remember(tight, ada, "Ash", kind="fact")
    young = await _remember(tight, ada, "Fir", kind="fact")
    weak = await _remember(tight, ada, "Yew", kind="observation")
    aside = await _remember(tight, ada, "Box", kind="identity")
    await tight.activate(aside, user=ada, active=False)
    used = (await tight.budget(ada))["used"]
    assert used == _used(ada)
    preview = await tight.budget(ada, adding=100)
    assert [one["id"] for one in preview["would_go"]] == [aside, weak, old, young, weighty]
    assert preview["pinned"] == tokens.count(SAID.format("Oak"))
    for word in "Pine Lime Beech Birch Alder Hazel Maple Cedar Larch Rowan Plum".split():  # noqa: SIM905
        await _remember(tight, ada, word, kind="identity")
        assert _used(ada) <= 100
    gone = [i for line in audit_lines() if line.action == "memory.evict" for i in line.target_ids]
    # Beside Elm, the newcomers are as weighty; it is the oldest of them.
    assert gone[:5] == [aside, weak, old, young, weighty]
    assert pinned not in gone


async def test_what_would_go_is_what_goes(tight: Door, ada: User) -> None:
    """The preview for as many tokens as the next statement has names just those."""
    for number, kind in enumerate(("fact", "event", "goal", "fact", "todo", "preference", "fact")):
        await _remember(tight, ada, f"Word{number}", kind=kind)
    content = "A long statement, " * 16
    would = (await tight.budget(ada, adding=tokens.count(content)))["would_go"]
    assert would
    before = set(_evicted(ada))
    await tight.remember(content, user=ada)
    assert set(_evicted(ada)) - before == {one["id"] for one in would}


async def test_an_evicted_memory_is_out_of_sight_and_can_be_restored(
    tight: Door, ada: User
) -> None:
    """Out of list and recall, in history for its owner; back again it pushes out another."""
    lost = await _remember(tight, ada, "Yew", kind="observation")
    for number in range(14):
        await _remember(tight, ada, f"Word{number}", kind="fact")
    assert lost in _evicted(ada)
    assert lost not in [m["id"] for m in (await tight.listed(user=ada))["memories"]]
    assert SAID.format("Yew") not in await tight.contents(SAID.format("Yew"), user=ada)
    listed = await tight.listed(user=ada, statuses=["evicted"])
    assert lost in [m["id"] for m in listed["memories"]]
    history = await tight.read(lost, user=ada)
    assert (history["status"], len(history["versions"])) == ("evicted", 1)
    restored = await tight.restore(lost, user=ada)
    assert restored["status"] == "active"
    assert _used(ada) <= 100
    assert (await tight.contents(SAID.format("Yew"), user=ada))[0] == SAID.format("Yew")


async def test_what_was_just_written_stays(tight: Door, ada: User) -> None:
    """However little it matters: who remembers something finds it at once."""
    for number in range(12):
        await _remember(tight, ada, f"Word{number}", kind="identity")
    written = await tight.remember("Ada yawned.", user=ada, kind="observation")
    assert written["memory"]["status"] == "active"
    assert (await tight.contents("Ada yawned.", user=ada))[0] == "Ada yawned."


async def test_an_answer_says_when_pinned_memories_leave_no_room(tight: Door, ada: User) -> None:
    """Pinned memories stay, even over the budget, and what is new is evicted at once."""
    kept = [await _remember(tight, ada, f"Word{n}", pinned=True) for n in range(12)]
    written = await tight.remember("Ada yawned.", user=ada)
    assert (written["outcome"], written["memory"]["status"]) == ("created", "evicted")
    assert not set(kept) & set(_evicted(ada))


async def test_a_batch_larger_than_the_budget_is_cut_to_it(tight: Door, ada: User) -> None:
    """All in one transaction: the answer names each one's status, and the budget holds."""
    batch = [{"content": SAID.format(f"Word{n}")} for n in range(40)]
    written = await tight.remember_many(batch, user=ada)
    statuses = [one["memory"]["status"] for one in written]
    assert 0 < statuses.count("active") < 40
    assert set(statuses) == {"active", "evicted"}
    assert _used(ada) <= 100


async def test_a_longer_version_counts(tight: Door, ada: User) -> None:
    """An update that grows pushes others out, not itself."""
    first = await _remember(tight, ada, "Yew", kind="observation")
    for number in range(8):
        await _remember(tight, ada, f"Word{number}")
    updated = await tight.update(first, user=ada, content="Yew tree " * 20)
    assert updated["status"] == "active"
    assert updated["tokens"] == tokens.count("Yew tree " * 20)
    assert _used(ada) <= 100
    assert first not in _evicted(ada)


async def test_parallel_writers_keep_to_the_budget_together(tight: Door, ada: User) -> None:
    """Twenty at once: no two of them count the same room."""
    await asyncio.gather(*(_remember(tight, ada, f"Word{n}") for n in range(20)))
    assert _used(ada) <= 100
    assert _used(ada) > 85


async def test_each_user_has_a_budget_of_their_own_and_spaces_are_not_in_it(
    tight: Door, ada: User, bob: User
) -> None:
    """Nobody pushes out what is somebody else's, shared knowledge or in a space."""
    theirs = await _remember(tight, bob, "Yew", kind="observation")
    space = await tight.create_space(user=ada, name="Gran")
    fact = await tight.remember_in(space["id"], "Gran was born in 1931.", user=ada)
    shared = await tight.remember("The kitchen closes at nine.", shared=True)
    for number in range(30):
        await _remember(tight, ada, f"Word{number}")
    for memory_id in (theirs, fact["memory"]["id"], shared["memory"]["id"]):
        assert rows("SELECT status FROM memories WHERE id = %s", memory_id) == [("active",)]


async def test_each_eviction_is_logged_with_ids_and_without_words(
    tight: Door, ada: User, caplog: pytest.LogCaptureFixture
) -> None:
    """A warning, and a line in the audit log, of the same transaction."""
    caplog.set_level(logging.WARNING)
    for number in range(12):
        await _remember(tight, ada, f"Word{number}")
    gone = _evicted(ada)
    assert gone
    warnings = [r.getMessage() for r in caplog.records if r.name.endswith("memories.budget")]
    assert all(any(memory_id in line for line in warnings) for memory_id in gone)
    assert all(str(ada.id) in line and "for this test" not in line for line in warnings)
    noted = [i for line in audit_lines() if line.action == "memory.evict" for i in line.target_ids]
    assert sorted(noted) == sorted(gone)


async def test_a_write_that_fails_evicts_nothing(small: Remembrancer, ada: User) -> None:
    """What goes, goes in the transaction of the write."""
    door = PythonDoor(small, as_actor())
    for number in range(8):
        await _remember(door, ada, f"Word{number}")
    before = _evicted(ada)
    with pytest.raises(Exception, match="no such memory"):
        await small.remember(
            "A long statement, " * 10,
            user=ada,
            associations=[{"target_id": "nowhere1", "relation": "updates"}],
        )
    assert _evicted(ada) == before


async def test_no_budget_is_no_limit(memory: Remembrancer, ada: User) -> None:
    """0 evicts nothing, and the preview says so."""
    door = PythonDoor(_with_budget(memory, 0), as_actor())
    await door.remember_many([{"content": SAID.format(n)} for n in range(200)], user=ada)
    preview = await door.budget(ada, adding=1_000_000)
    assert (preview["budget"], preview["would_go"], _evicted(ada)) == (0, [], [])
    assert preview["used"] == _used(ada)


async def test_copying_to_another_scope_keeps_to_the_budget(tight: Door, ada: User) -> None:
    """Twice the memory is twice the tokens; taking the copy back is still possible."""
    agent = await tight.create_agent(name="Helper")
    for number in range(7):
        content = SAID.format(f"Word{number}")
        await tight.remember(content, user=ada, agent=agent["id"])
    moved = await tight.move(ada, agent["id"], to="global", copy=True, dry_run=False)
    assert moved["moved"] == 7
    assert _used(ada) <= 100
    await tight.undo_move(ada, moved["undo_id"])
    assert _used(ada) <= 100


async def test_the_order_is_that_of_the_decay_in_python(memory: Remembrancer) -> None:
    """Random kinds, importances, ages and accesses: SQL ranks as the pure function does."""
    small = _with_budget(memory, 1)
    ada = await person(memory, "Ada")
    chance = random.Random(7)
    now = datetime.now(UTC)
    batch = [
        {
            "content": SAID.format(n),
            "kind": chance.choice(list(Kind)),
            "importance": chance.random(),
        }
        for n in range(60)
    ]
    await PythonDoor(_with_budget(memory, 0), as_actor()).remember_many(batch, user=ada)
    expected = []
    for memory_id, kind, importance, content in rows(
        "SELECT id, kind, importance, content FROM memories WHERE owner_id = %s", ada.id
    ):
        written, used = (now - timedelta(days=chance.uniform(0, 900)) for _ in range(2))
        used = used if chance.random() < 0.5 else None
        rows(
            "UPDATE memories SET created_at = %s, updated_at = %s, last_accessed_at = %s"
            " WHERE id = %s",
            *(written, written, used, memory_id),
        )
        left = decayed(importance, Kind(kind), max(written, used or written), now)
        expected.append((left, written, memory_id, content))
    would = await PythonDoor(small, as_actor()).budget(ada)
    assert [one["id"] for one in would["would_go"]] == [m for *_, m, _ in sorted(expected)]
    for one, (left, *_) in zip(would["would_go"], sorted(expected), strict=True):
        assert one["importance"] == pytest.approx(left, rel=1e-3)


async def test_setting_aside_and_taking_into_use_again(door: Door, ada: User, bob: User) -> None:
    """An inactive memory is out of recall and kept; done again, it does nothing."""
    made = (await door.remember("Ada likes tea.", user=ada))["memory"]["id"]
    for _ in range(2):
        assert (await door.activate(made, user=ada, active=False))["status"] == "inactive"
    assert await door.contents("tea", user=ada) == []
    assert (await door.read(made, user=ada))["status"] == "inactive"
    for _ in range(2):
        assert (await door.activate(made, user=ada))["status"] == "active"
    assert await door.contents("tea", user=ada) == ["Ada likes tea."]
    lines = [line.action for line in audit_lines() if line.action.endswith("activate")]
    assert lines == ["memory.deactivate", "memory.activate"]
    await door.forget(made, user=ada)
    for user, active in ((ada, True), (ada, False), (bob, False)):
        with pytest.raises(Exception, match="404"):
            await door.activate(made, user=user, active=active)


async def test_what_waits_for_review_takes_room_once_it_is_confirmed(
    tight: Door, ada: User
) -> None:
    """Until then it pushes nothing out; then what is weakest makes room for it."""
    weak = await _remember(tight, ada, "Yew", kind="observation")
    while _used(ada) + 2 * tokens.count(SAID.format("Yew")) <= 100:
        await _remember(tight, ada, f"Word{_used(ada)}", kind="fact")
    waiting = await _remember(tight, ada, "Pine " * 8, kind="fact", pending=True)
    assert _evicted(ada) == []
    [done] = await tight.review([(waiting, "confirm")], user=ada)
    assert done["outcome"] == "confirmed"
    assert weak in _evicted(ada)
    assert _used(ada) <= 100
