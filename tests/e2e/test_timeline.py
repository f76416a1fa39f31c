"""A person's memory over time, and all their associations at once: what is in it, for whom."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from helpers import ADMIN, audit_lines, rows
from pages import Browser, World, base

from remembrancer import (
    InvalidInput,
    MemoryCreate,
    MemoryUpdate,
    Remembrancer,
    SpaceCreate,
    User,
    as_actor,
)
from remembrancer.access import Visibility
from remembrancer.lookup.schemas import Timeline
from remembrancer.memories.schemas import AssociationCreate

pytestmark = pytest.mark.usefixtures("one_day")


def _today() -> date:
    return datetime.now(UTC).date()


def _ago(days: int) -> date:
    return _today() - timedelta(days=days)


async def _remember(memory: Remembrancer, user: User, content: str, **fields: Any) -> str:
    draft = MemoryCreate(content=content, allow_similar=True, **fields)
    return (await memory.memories.remember(as_actor(user), draft)).memory.id


def _set_back(memory_id: str, days: int) -> None:
    """Let all of a memory's past be so many days earlier."""
    past = f"interval '{days} days'"
    rows(
        f"UPDATE memories SET created_at = created_at - {past},"
        f" forgotten_at = forgotten_at - {past} WHERE id = %s",
        memory_id,
    )
    rows(
        f"UPDATE memory_versions SET recorded_at = recorded_at - {past},"
        f" superseded_at = superseded_at - {past} WHERE memory_id = %s",
        memory_id,
    )


async def _lived(memory: Remembrancer, ada: User) -> dict[str, str]:
    """Memories that came 30 days ago: one stays, one changes and one goes after 10 days; one is
    new today, and one waits for review."""
    actor = as_actor(ada)
    ids = {
        "stays": await _remember(memory, ada, "The boat is called Heron."),
        "changes": await _remember(memory, ada, "Ada lives in Riga."),
        "goes": await _remember(memory, ada, "Ada wants a parrot."),
    }
    for memory_id in ids.values():
        _set_back(memory_id, 10)
    await memory.memories.update(actor, ids["changes"], MemoryUpdate(content="Ada lives in Tartu."))
    await memory.memories.forget(actor, ids["goes"])
    for memory_id in ids.values():
        _set_back(memory_id, 20)
    ids["new"] = await _remember(memory, ada, "Ada learns the cello.")
    ids["waits"] = await _remember(memory, ada, "Ada moves in May.", pending=True)
    return ids


def _ids(timeline: Timeline) -> dict[str, set[str]]:
    parts = ("known", "learnt", "changed", "forgotten")
    return {part: {entry.id for entry in getattr(timeline, part).items} for part in parts}


async def test_what_was_known_on_a_day_and_what_changed_since(
    memory: Remembrancer, ada: User
) -> None:
    """In the words of that day; what came, changed and went later is told apart."""
    ids = await _lived(memory, ada)
    then = await memory.lookup.timeline(as_actor(ada), "UTC", _ago(25))
    assert _ids(then) == {
        "known": {ids["stays"], ids["changes"], ids["goes"]},
        "learnt": {ids["new"]},
        "changed": {ids["changes"]},
        "forgotten": {ids["goes"]},
    }
    [changed] = then.changed.items
    assert (changed.content_then, changed.content) == ("Ada lives in Riga.", "Ada lives in Tartu.")
    assert changed.at.date() == _ago(20)
    between = await memory.lookup.timeline(as_actor(ada), "UTC", _ago(15))
    assert _ids(between) == {
        "known": {ids["stays"], ids["changes"]},
        "learnt": {ids["new"]},
        "changed": set(),
        "forgotten": set(),
    }
    before = await memory.lookup.timeline(as_actor(ada), "UTC", _ago(31))
    assert before.known.total == before.changed.total == before.forgotten.total == 0
    assert before.learnt.total == 3
    now = await memory.lookup.timeline(as_actor(ada), "UTC")
    assert now.as_of == _today()
    assert now.known.total == 3


async def test_the_counts_of_any_day_add_up_to_today(memory: Remembrancer, ada: User) -> None:
    """Known then, plus learnt, minus forgotten; and the spans have each event once."""
    await _lived(memory, ada)
    for days in (0, 5, 15, 20, 25, 30, 31, 4000, 40_000):
        then = await memory.lookup.timeline(as_actor(ada), "UTC", _ago(days))
        assert then.known.total + then.learnt.total - then.forgotten.total == 3
    assert then.unit == "day"
    counts = [(span.start, span.learnt, span.changed, span.forgotten) for span in then.spans]
    assert [one for one in counts if any(one[1:])] == [
        (_ago(30), 3, 0, 0),
        (_ago(20), 0, 1, 1),
        (_today(), 1, 0, 0),
    ]


async def test_a_later_day_is_today_and_a_long_list_is_cut(memory: Remembrancer, ada: User) -> None:
    """The counts are of all."""
    for number in range(4):
        await _remember(memory, ada, f"Fact {number} of many.")
    found = await memory.lookup.timeline(as_actor(ada), "UTC", date.max, limit=3)
    assert (found.as_of, len(found.known.items), found.known.total) == (_today(), 3, 4)
    for limit in (0, 201):
        with pytest.raises(InvalidInput, match="limit"):
            await memory.lookup.timeline(as_actor(ada), "UTC", limit=limit)


async def test_what_was_erased_and_what_is_anothers_is_in_no_timeline(
    memory: Remembrancer, ada: User, bob: User
) -> None:
    """An erased memory leaves no count; and the look is in the audit log."""
    gone = await _remember(memory, ada, "Ada wants a parrot.")
    await _remember(memory, bob, "Bob is afraid of geese.")
    await memory.memories.erase(as_actor(ada), gone, dry_run=False)
    found = await memory.lookup.timeline(as_actor(ada), "UTC", _ago(1))
    assert not found.spans
    assert found.learnt.total == 0
    seen = await memory.lookup.timeline(ADMIN.acting_for(bob.id), "UTC")
    assert [entry.content for entry in seen.known.items] == ["Bob is afraid of geese."]
    await memory.reads.flush()
    assert "memory.list" in {line.action for line in audit_lines()}


async def test_the_graph_has_the_associations_that_one_sees(
    memory: Remembrancer, ada: User, bob: User
) -> None:
    """Those from and to one's own memories, with both ends visible and in use; no lone memory."""
    space = await memory.spaces.create(
        ADMIN.acting_for(ada.id), SpaceCreate(name="Gran", member_ids=[bob.id])
    )
    tea = await _remember(memory, ada, "Ada drinks tea.")
    pot = await _remember(
        memory, ada, "Ada has a teapot.", associations=[AssociationCreate(target_id=tea)]
    )
    await _remember(memory, ada, "Nothing belongs to this.")
    shared = await _remember(
        memory, ada, "Gran liked tea.", space_id=space.id, visibility=Visibility.SHARED
    )
    bobs = await _remember(
        memory, bob, "Bob pours for Gran.",
        associations=[AssociationCreate(target_id=shared, weight=0.9)],
    )  # fmt: skip
    hers = await memory.lookup.graph(as_actor(ada))
    assert {node.id for node in hers.nodes} == {tea, pot}
    assert [(edge.memory_id, edge.target_id) for edge in hers.edges] == [(pot, tea)]
    assert hers.total == 1
    his = await memory.lookup.graph(as_actor(bob))
    assert {node.id for node in his.nodes} == {bobs, shared}
    assert (await memory.lookup.graph(as_actor(ada), "TEAPOT")).total == 1
    assert (await memory.lookup.graph(as_actor(ada), "gran")).total == 0
    await memory.memories.forget(as_actor(ada), tea)
    assert (await memory.lookup.graph(as_actor(ada))).edges == []


async def test_a_large_graph_is_cut_to_its_strongest(memory: Remembrancer, ada: User) -> None:
    """And says how many associations there are."""
    middle = await _remember(memory, ada, "The harbour.")
    for number in range(6):
        edge = AssociationCreate(target_id=middle, weight=number / 10)
        await _remember(memory, ada, f"Boat {number}.", associations=[edge])
    found = await memory.lookup.graph(as_actor(ada), limit=4)
    assert [edge.weight for edge in found.edges] == [0.5, 0.4, 0.3]
    assert (len(found.nodes), found.total) == (4, 6)


async def test_case_15_the_graph_stops_at_shared_knowledge(
    memory: Remembrancer, ada: User, bob: User
) -> None:
    """Ada's memory and Bob's lead to the same one: each sees their own way to it, and no other."""
    shared = (
        await memory.memories.remember(
            as_actor(), MemoryCreate(content="The harbour is closed.", shared=True)
        )
    ).memory.id
    edge = AssociationCreate(target_id=shared)
    hers = await _remember(memory, ada, "Ada's boat stays out.", associations=[edge])
    his = await _remember(memory, bob, "Bob's boat stays in.", associations=[edge])
    for user, own in ((ada, hers), (bob, his)):
        found = await memory.lookup.graph(as_actor(user))
        assert {(node.user_id, node.id) for node in found.nodes} == {(user.id, own), (None, shared)}
        assert found.total == 1


async def test_case_59_looking_back_changes_nothing(world: World, ada_there: Browser) -> None:
    """The timeline and the graph, three times: no access is counted, nothing moves."""
    stored = "SELECT id, access_count, last_accessed_at, updated_at FROM memories ORDER BY id"
    before = rows(stored)
    for _ in range(3):
        assert "green tea" in await ada_there.get(f"{base(world)}/timeline")
        assert "Nothing was known yet" in await ada_there.get(
            f"{base(world)}/timeline?as_of=2020-01-01"
        )
        assert "teapot" in await ada_there.get(f"{base(world)}/graph")
        await ada_there.get(f"{base(world)}/graph/{world.tea}")
    await world.memory.access_counts.flush()
    assert rows(stored) == before


async def test_what_is_wrong_in_the_address_is_said(world: World, ada_there: Browser) -> None:
    """A day that is none, a limit beyond the largest, a text that cannot be stored: 422."""
    for wrong in ("timeline?as_of=x", "timeline?as_of=2026-02-30", "timeline?limit=201",
                  "timeline?limit=x", "graph?text=%00", f"graph?text={'x' * 1000}"):  # fmt: skip
        await ada_there.get(f"{base(world)}/{wrong}", 422)
    for fine in ("0001-01-01", "9999-12-31", ""):
        await ada_there.get(f"{base(world)}/timeline?as_of={fine}")


async def test_a_timeline_ends_its_days_where_the_person_lives(
    memory: Remembrancer, ada: User
) -> None:
    """Late on a day of New York is the next day in Riga."""
    late = await _remember(memory, ada, "Ada flew home.")
    for table, column in (("memories", "created_at"), ("memory_versions", "recorded_at")):
        of = "id" if table == "memories" else "memory_id"
        rows(f"UPDATE {table} SET {column} = '2026-01-10T23:30Z' WHERE {of} = %s", late)
    for zone, day in (("UTC", 10), ("Europe/Riga", 11), ("America/New_York", 10)):
        for back, known in ((0, 1), (1, 0)):
            found = await memory.lookup.timeline(as_actor(ada), zone, date(2026, 1, day - back))
            assert found.known.total == known
        [span] = [span for span in found.spans if span.learnt]
        assert span.start <= date(2026, 1, day) <= span.end
