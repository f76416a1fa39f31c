"""Filters of the memories list under a name: saved, used, renamed, deleted, and of nobody else."""

import asyncio
import re
from uuid import uuid4

import html_pages
import pytest
from helpers import ADMIN, audit_lines, exported, rows
from pages import Browser, World, base

from remembrancer import as_actor
from remembrancer.errors import Conflict, InvalidInput, NotFound
from remembrancer.memories.schemas import Kind, MemoryFilter, SortBy

GOALS = MemoryFilter(kinds=[Kind.GOAL], text="tea & cake", pinned=False, sort=SortBy.IMPORTANCE)


async def test_filters_are_saved_under_names_of_their_own(world: World) -> None:
    """In any case of letters: saved again they are replaced, renamed to another's name refused."""
    filters, ada = world.memory.saved_filters, as_actor(world.ada)
    goals = await filters.save(ada, "Goals", GOALS)
    pinned = await filters.save(ada, "a pin", MemoryFilter(pinned=True))
    listed = (await filters.list(ada)).items
    assert [(one.name, one.filters) for one in listed] == [
        ("a pin", pinned.filters),
        ("Goals", GOALS),
    ]
    again = await filters.save(ada, "GOALS", MemoryFilter())
    assert (again.id, again.name, again.filters) == (goals.id, "GOALS", MemoryFilter())
    with pytest.raises(Conflict):
        await filters.rename(ada, pinned.id, "goals")
    assert (await filters.rename(ada, goals.id, "goals")).name == "goals"
    assert await filters.delete(ada, pinned.id) == pinned
    with pytest.raises(NotFound):
        await filters.delete(ada, pinned.id)
    assert [one.name for one in (await filters.list(ada)).items] == ["goals"]
    at_once = [filters.save(ada, "twice", MemoryFilter()) for _ in range(4)]
    assert len({one.id for one in await asyncio.gather(*at_once)}) == 1


async def test_names_of_filters_are_short_and_not_too_many(world: World) -> None:
    """The field is named; the fifty-first is refused, an old name is not."""
    filters, ada = world.memory.saved_filters, as_actor(world.ada)
    for name in ("", "  ", "a\nb", "x" * 61, "\x00"):
        with pytest.raises(InvalidInput) as error:
            await filters.save(ada, name, MemoryFilter())
        assert error.value.field == "name"
    await filters.save(ada, "first", MemoryFilter())
    rows(
        "INSERT INTO saved_filters (user_id, id, name, filters)"
        " SELECT %s, gen_random_uuid(), 'n' || g, '{}' FROM generate_series(2, 50) AS g",
        world.ada.id,
    )
    with pytest.raises(InvalidInput, match="50"):
        await filters.save(ada, "one more", MemoryFilter())
    await filters.save(ada, "first", GOALS)


async def test_nobody_reads_or_changes_the_filters_of_others(world: World) -> None:
    """An id of somebody else's and an unknown one are answered alike; the log has ids alone."""
    filters, ada, bob = world.memory.saved_filters, as_actor(world.ada), as_actor(world.bob)
    one = await filters.save(ada, "secret name", GOALS)
    assert (await filters.list(bob)).items == []
    refused = []
    for filter_id in (one.id, uuid4()):
        for act in (filters.delete(bob, filter_id), filters.rename(bob, filter_id, "mine")):
            with pytest.raises(NotFound) as error:
                await act
            refused.append(str(error.value))
    assert len(set(refused)) == 1
    with pytest.raises(NotFound):
        await filters.list(as_actor(uuid4()))
    with pytest.raises(NotFound):
        await filters.save(as_actor(uuid4()), "nobody's", GOALS)
    assert (await filters.list(ada)).items == [one]
    [line] = [line for line in audit_lines() if line.action.startswith("filter.")]
    assert line.target_ids == [str(one.id)]


async def test_filters_go_along_with_a_merge_and_come_back(world: World) -> None:
    """Those saved before; what is saved meanwhile stays with who stays."""
    filters, users = world.memory.saved_filters, world.memory.users
    ada, bob = as_actor(world.ada), as_actor(world.bob)
    hers = await filters.save(ada, "Same", GOALS)
    his = await filters.save(bob, "Same", MemoryFilter(pinned=True))
    merged = await users.merge(ADMIN, world.ada.id, world.bob.id)
    assert {one.id for one in (await filters.list(ada)).items} == {hers.id, his.id}
    later = await filters.save(bob, "Later", MemoryFilter())
    await users.undo_merge(ADMIN, world.ada.id, merged.undo_id)
    assert {one.id for one in (await filters.list(ada)).items} == {hers.id, later.id}
    assert (await filters.list(bob)).items == [his]


async def test_filters_are_exported_and_erased_with_the_memories(world: World) -> None:
    """They may have words of the memories in them."""
    filters, ada = world.memory.saved_filters, as_actor(world.ada)
    await filters.save(ada, "Goals", GOALS)
    kept = await filters.save(as_actor(world.bob), "Goals", GOALS)
    lines = await exported(world.memory, world.ada, ADMIN)
    [line] = lines[0]["saved_filters"]
    assert (line["name"], line["filters"]["text"]) == ("Goals", "tea & cake")
    await world.memory.users.erase(ADMIN, world.ada.id, memories_only=True, dry_run=False)
    assert rows("SELECT id FROM saved_filters") == [(kept.id,)]


async def test_the_list_saves_its_filters_and_opens_saved_ones(
    world: World, ada_there: Browser
) -> None:
    """As they stand in the address; what is open is named, and not offered to be saved again."""
    page = await ada_there.get(f"{base(world)}/memories")
    assert 'id="chip-saved"' not in page
    assert 'id="chip-save"' not in page
    page = await ada_there.get(f"{base(world)}/memories?kind=fact&text=tea+%26+cake&pinned=false")
    [query] = re.findall(r'name="query" value="([^"]*)"', page)
    page = await ada_there.post(f"{base(world)}/filters", name="Tea", query=query)
    assert "Saved as Tea." in page
    assert "Saved: Tea" in page
    assert 'id="chip-save"' not in page
    html_pages.check(ada_there.page)
    [address] = re.findall(r'href="(/people/[^"]*text=tea[^"]*)" hx-get', page)[:1]
    assert "Saved: Tea" in await ada_there.get(address)
    assert "Saved: Tea" not in await ada_there.get(f"{base(world)}/memories?kind=fact")
    assert 'aria-current="true">Tea' not in ada_there.page
    other = f"{base(world)}/memories?kind=goal"
    page = await ada_there.post(f"{base(world)}/filters", name="tea", query="kind=goal")
    assert "Saved: tea" in await ada_there.get(other)


async def test_saved_filters_are_renamed_and_deleted_on_their_page(
    world: World, ada_there: Browser
) -> None:
    """Each says what it filters; a deletion is undone; what was typed is kept."""
    where = f"{base(world)}/filters"
    assert "No saved filters yet" in await ada_there.get(where)
    html_pages.check(ada_there.page)
    pantry = world.agents["Pantry"].id
    query = f"kind=goal&kept_for={pantry}&status=forgotten&text=tea"
    await ada_there.post(where, name="Tea", query=query)
    await ada_there.post(where, name="Pins", query="pinned=true")
    page = await ada_there.get(where)
    assert "“tea”, Kind: Goal, Private to: Pantry, Status: Forgotten" in page
    html_pages.check(ada_there.page)
    [(tea,)] = rows("SELECT id FROM saved_filters WHERE name = 'Tea'")
    page = await ada_there.post(f"{where}/{tea}/rename", 409, name="pins", filter_id=str(tea))
    assert 'value="pins"' in page
    html_pages.check(ada_there.page)
    await ada_there.post(f"{where}/{tea}/rename", 422, name="x" * 61, filter_id=str(tea))
    assert "Renamed to Leaves." in await ada_there.post(f"{where}/{tea}/rename", name="Leaves")
    page = await ada_there.post(f"{where}/{tea}/delete")
    assert "Leaves is deleted." in page
    undo = dict(re.findall(r'<input type="hidden" name="(name|query)" value="([^"]*)">', page))
    assert "Saved: Leaves" in await ada_there.post(where, **undo)
    await ada_there.post(f"{where}/{tea}/delete", 404)


async def test_filters_that_are_none_are_not_saved(world: World, ada_there: Browser) -> None:
    """The page says which field is wrong, and has the name that was typed."""
    where = f"{base(world)}/filters"
    await ada_there.get(f"{base(world)}/memories")
    for query in ("kind=nothing", "space_id=x", "sort=up", f"text={'x' * 300}"):
        page = await ada_there.post(where, 422, name="Mine", query=query)
        assert 'value="Mine"' in page, query
    page = await ada_there.post(where, 422, query="kind=goal")
    assert 'id="wrong-name"' in page
    html_pages.check(ada_there.page)
    await ada_there.post(where, 422, name="Mine", query="kind=goal&" * 2000)
    assert rows("SELECT count(*) FROM saved_filters") == [(0,)]
    eves = f"/people/{world.bob.id}/filters"
    await ada_there.post(eves, 404, name="Mine", query="kind=goal")
    await ada_there.get(eves, 404)
