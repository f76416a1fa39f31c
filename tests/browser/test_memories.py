"""The list of memories: dense, calm, and without losing one's place."""

import re
from typing import Any

import pytest
from axe import wrong_with
from browsing import SHOTS, Site
from pages import World
from playwright.async_api import Page, expect

from remembrancer import MemoryCreate, as_actor

_IN_VIEW = """() => [...document.querySelectorAll('li.memory')].filter(row => {
  const box = row.getBoundingClientRect();
  return box.top >= 0 && box.bottom <= innerHeight;
}).length"""


async def _rows_in_view(page: Page) -> int:
    await expect(page.locator("li.memory").first).to_be_visible()
    return int(await page.evaluate(_IN_VIEW))


async def test_a_screen_shows_twelve_memories_and_a_phone_five(site: Site, world: World) -> None:
    """One line each; on a phone two, with the rest beneath."""
    statements = [
        MemoryCreate(content=f"Bob counted {n} geese at the pond before the rain.", kind="event",
                     allow_similar=True)
        for n in range(30)
    ]  # fmt: skip
    await site.memory.memories.remember_many(as_actor(world.bob), statements)
    path = f"/people/{world.bob.id}/memories"
    async with site.visited(world.bob, viewport={"width": 1280, "height": 800}) as page:
        await page.goto(path)
        assert await _rows_in_view(page) >= 12
    async with site.visited(world.bob, viewport={"width": 360, "height": 800}) as page:
        await page.goto(path)
        assert await _rows_in_view(page) >= 5


async def test_a_search_is_recall_and_keeps_the_filters(site: Site, world: World) -> None:
    """Words in any order and form are found and marked; a chip stays, and goes by its cross."""
    async with site.visited(world.ada) as page:
        await page.goto(f"/people/{world.ada.id}/memories")
        await page.evaluate("() => { window.mark = history.length; }")
        await page.keyboard.press("/")
        await page.keyboard.type("noon drinking", delay=40)
        first = page.locator("li.memory").first
        await expect(first).to_contain_text("three espressos before noon")
        await expect(first.locator("mark")).to_have_text(["drinks", "noon"])
        assert await page.evaluate("() => history.length - window.mark") == 1
        await page.get_by_role("button", name="Kind").click()
        await page.get_by_role("link", name="Preference", exact=True).click()
        await expect(page).to_have_url(re.compile("text=noon\\+drinking.*kind=preference"))
        await expect(page.get_by_role("button", name="Kind: Preference")).to_be_focused()
        await expect(page.get_by_text("three espressos")).to_have_count(0)
        await page.get_by_role("link", name="Remove Kind").click()
        await expect(first).to_contain_text("three espressos before noon")
        await page.go_back()
        await expect(page).to_have_url(re.compile("kind=preference"))
        await expect(page.get_by_role("searchbox")).to_have_value("noon drinking")


async def test_a_menu_has_the_actions_on_a_phone(site: Site, world: World) -> None:
    """It opens at the bottom, Escape closes it, and an action leaves the focus in its row."""
    async with site.visited(world.ada, viewport={"width": 360, "height": 800}) as page:
        await page.goto(f"/people/{world.ada.id}/memories")
        row = page.locator("li.memory", has_text="teapot in Riga")
        more = row.get_by_role("button", name="Actions for")
        await expect(row.get_by_role("button", name="Forget")).to_be_hidden()
        await more.click()
        await expect(row.get_by_role("button", name="Forget")).to_be_in_viewport()
        await page.keyboard.press("Escape")
        await expect(row.get_by_role("button", name="Forget")).to_be_hidden()
        await expect(more).to_be_focused()
        await more.click()
        await row.get_by_role("button", name="Pin").click()
        await expect(row.locator(".badge", has_text="Pinned")).to_be_visible()
        await expect(more).to_be_focused()


async def test_a_list_is_kept_while_its_rows_change(site: Site, world: World) -> None:
    """By keyboard: pin, forget, undo; filter, scroll and focus stay where they are."""
    async with site.visited(world.ada, viewport={"width": 1280, "height": 500}) as page:
        await page.goto(f"/people/{world.ada.id}/memories?category=other")
        row = page.locator("li.memory").nth(5)
        link = row.locator("[data-stop]")
        await link.focus()
        before = await page.evaluate("() => scrollY")
        await page.keyboard.press("p")
        await expect(row.locator(".badge", has_text="Pinned")).to_be_visible()
        await expect(link).to_be_focused()
        await page.keyboard.press("f")
        await expect(row.locator(".badge.bad")).to_have_text("Forgotten")
        await expect(page.get_by_role("button", name="Undo")).to_be_in_viewport()
        await expect(row.locator(":focus")).to_have_count(1)
        await page.keyboard.press("u")
        await expect(row.locator(".badge.bad")).to_have_count(0)
        await expect(row.locator(":focus")).to_have_count(1)
        assert await page.evaluate("() => scrollY") == before
        await expect(page).to_have_url(re.compile("category=other"))


async def test_a_memory_tells_its_story(site: Site, world: World) -> None:
    """Why it is known, who may read it and who did, what it belongs to; an old version returns."""
    asked = {"user": world.ada, "agent": world.agents["Pantry"], "sources": ["memory"]}
    await site.memory.recall("What does Ada prefer to drink, tea?", **asked)
    await site.memory.reads.flush()
    async with site.visited(world.ada) as page:
        await page.goto(f"/people/{world.ada.id}/memories/{world.tea}")
        main = page.get_by_role("main")
        await expect(main).to_contain_text("You told Pantry in Dinner for six")
        await expect(main.locator("blockquote")).to_contain_text("Message 21")
        await expect(main).to_contain_text("Only Pantry may read it.")
        await expect(main).to_contain_text("Read this week by Pantry (just now)")
        line = main.locator(".lines li", has_text="The doctor told Ada")
        await expect(line).to_contain_text("It causes")
        await page.get_by_role("button", name="Bring this back version 1").click()
        await expect(page.get_by_role("status").first).to_contain_text("Version 1 is back.")
        await expect(page.get_by_role("heading", name="coffee over tea")).to_be_visible()
        await page.get_by_role("button", name="Undo").click()
        await expect(page.get_by_role("heading", name="green tea over coffee")).to_be_visible()


async def test_ticked_memories_are_forgotten_and_come_back_together(
    site: Site, world: World
) -> None:
    """By keyboard in place, with one undo; all that match a filter after a look at how many."""
    statements = [
        MemoryCreate(content=f"Bob saw heron {n}.", category="hobby", allow_similar=True)
        for n in range(60)
    ]
    await site.memory.memories.remember_many(as_actor(world.bob), statements)
    path = f"/people/{world.bob.id}/memories?category=hobby"
    async with site.visited(world.bob) as page:
        await page.goto(path)
        await expect(page.get_by_role("group", name="Ticked memories")).to_be_hidden()
        await page.keyboard.press("j")
        await page.keyboard.press("x")
        await page.keyboard.press("j")
        await page.keyboard.press("Space")
        await expect(page.locator("[data-ticked]")).to_have_text("2")
        await page.keyboard.press("f")
        await expect(page.get_by_role("status").first).to_contain_text("2 memories are forgotten.")
        await expect(page.get_by_text("58 memories match")).to_be_visible()
        await expect(page).to_have_url(re.compile("category=hobby$"))
        await page.keyboard.press("u")
        await expect(page.get_by_text("60 memories match")).to_be_visible()
        await page.locator("[data-tick]").first.check()
        await page.get_by_role("link", name="Forget all 60").click()
        await expect(page.get_by_role("heading", name="Forget 60 memories?")).to_be_visible()
        await page.get_by_role("button", name="Forget them").click()
        await expect(page.get_by_text("No memory matches")).to_be_visible()
        await page.get_by_role("button", name="Undo").click()
        await expect(page.get_by_text("60 memories match")).to_be_visible()
    async with site.visited(world.bob, java_script_enabled=False) as page:
        await page.goto(path)
        await page.locator("[data-tick]").nth(3).check()
        await page.get_by_role("group", name="Ticked").get_by_role("button").click()
        await expect(page.get_by_role("status").first).to_contain_text("1 memory is forgotten.")
        await page.get_by_role("button", name="Undo").click()
        await expect(page.get_by_text("60 memories match")).to_be_visible()


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 360)])
async def test_filters_are_saved_opened_renamed_and_deleted(
    site: Site, world: World, theme: Any, width: int
) -> None:
    """From the list, by mouse and keyboard; the menu names what is open; an undo brings it back."""
    size = {"width": width, "height": 800}
    async with site.visited(world.ada, color_scheme=theme, viewport=size) as page:

        async def looked_at(name: str) -> None:
            SHOTS.mkdir(parents=True, exist_ok=True)
            await page.screenshot(path=SHOTS / f"filters-{name}-{theme}.jpg")
            assert await wrong_with(page) == []

        await page.goto(f"/people/{world.ada.id}/memories")
        await page.get_by_role("button", name="Kind").click()
        await page.get_by_role("link", name="Goal", exact=True).click()
        await page.get_by_role("button", name="Save", exact=True).click()
        await expect(page.get_by_label("Save these filters as")).to_be_focused()
        await page.keyboard.type("My plans")
        await looked_at("save")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("button", name="Saved: My plans")).to_be_visible()
        await expect(page.get_by_role("button", name="Save", exact=True)).to_have_count(0)
        await page.goto(f"/people/{world.ada.id}/memories")
        await page.get_by_role("button", name="Saved").click()
        await looked_at("menu")
        await page.get_by_role("link", name="My plans").click()
        await expect(page).to_have_url(re.compile("kind=goal"))
        await expect(page.get_by_role("button", name="Saved: My plans")).to_be_focused()
        await expect(page.locator("li.memory")).to_have_count(1)
        await looked_at("open")
        await page.get_by_role("button", name="Saved: My plans").click()
        await page.get_by_role("link", name="Rename or delete").click()
        await page.get_by_label("New name of My plans").fill("Goals")
        await page.get_by_role("button", name="Rename My plans").click()
        await looked_at("renamed")
        await page.get_by_role("button", name="Delete Goals").click()
        await expect(page.get_by_text("No saved filters yet")).to_be_visible()
        await page.get_by_role("button", name="Undo").click()
        await expect(page.get_by_role("button", name="Saved: Goals")).to_be_visible()
        await page.goto(f"/people/{world.ada.id}/filters")
        await page.get_by_role("button", name="Delete Goals").click()
