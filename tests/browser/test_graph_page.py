"""The graph in a browser: the picture of the table, by mouse, by keys and without scripts."""

import re
from typing import Any

import pytest
from axe import wrong_with
from browsing import SHOTS, Site
from helpers import person
from pages import World
from playwright.async_api import Page, expect

from remembrancer import MemoryCreate, as_actor
from remembrancer.memories.schemas import AssociationCreate

OVERLAPS = """() => {
  const boxes = [...document.querySelectorAll('.graph text:not(.hides)')]
    .map((text) => text.getBoundingClientRect());
  const meet = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1;
  return boxes.flatMap((a, n) => boxes.slice(n + 1).filter((b) => meet(a, b))).length;
}"""
"""How many labels lie over another."""
CROSSED = """() => [...document.querySelectorAll('.graph .edge path')].flatMap((path) => {
  const edge = path.__data__, length = path.getTotalLength();
  const points = Array.from({length: 40}, (_, n) => path.getPointAtLength(length * n / 39));
  return [...document.querySelectorAll('.graph .dot .body')].map((circle) => circle.__data__)
    .filter((one) => one !== edge.source && one !== edge.target
      && points.some((p) => Math.hypot(p.x - one.x, p.y - one.y) < one.radius));
}).length"""
"""How often a line goes through a memory that it does not lead to."""
EDGES = """() => [...document.querySelectorAll('.graph .edge')]
  .map(({__data__: edge}) => [edge.source.key, edge.name, edge.target.key].join(' ')).sort()"""
ROWS = """() => [...document.querySelectorAll('[data-edge]')].map((row) => {
  const [one, other] = row.querySelectorAll('[data-node]');
  const name = row.querySelector('[data-name]').textContent;
  return [one.dataset.node, name, other.dataset.node].join(' ');
}).sort()"""
FOCUS = "() => document.activeElement.dataset.key"


async def _drawn(page: Page) -> None:
    """Wait for the picture; it must be what the table says, and easy to read."""
    await page.locator(".graph .dot").first.wait_for()
    assert await page.evaluate(EDGES) == await page.evaluate(ROWS)
    assert await page.evaluate(OVERLAPS) == 0
    assert await page.evaluate(CROSSED) == 0


def _dot(page: Page, words: str) -> Any:
    return page.locator(f'.graph .dot[aria-label*="{words}"] .body')


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 360)])
async def test_the_picture_is_the_table(site: Site, world: World, theme: Any, width: int) -> None:
    """All memories with associations and no other; each line where it is; readable by all."""
    size = {"width": width, "height": 800}
    async with site.visited(world.ada, color_scheme=theme, viewport=size) as page:
        for path in ("graph", f"graph/{world.tea}", f"graph/{world.tea}?depth=1"):
            await page.goto(f"/people/{world.ada.id}/{path}")
            await _drawn(page)
            await expect(page.locator(".graph .dot")).to_have_count(5)
            await expect(page.locator(".graph .edge")).to_have_count(4)
            if width > 600:
                await expect(page.locator(".graph .edge text:not(.hides)").first).to_be_visible()
            await _dot(page, "green tea").click()
            await expect(page.locator(".graph .near li")).to_have_count(4)
            assert not await wrong_with(page)
            name = re.sub(r"\W+", "-", path.replace(world.tea, "tea"))
            SHOTS.mkdir(parents=True, exist_ok=True)
            await page.screenshot(path=SHOTS / f"picture-{name}-{theme}-{width}.jpg")


async def test_a_memory_two_steps_away_hangs_on_its_neighbour(site: Site, world: World) -> None:
    """From an outer memory: one line to the middle one, three on from there, none past it."""
    async with site.visited(world.ada) as page:
        await page.goto(f"/people/{world.ada.id}/graph?text=teapot")
        await page.get_by_role("link", name="Ada bought a teapot").first.click()
        await _drawn(page)
        await expect(page.locator(".graph .dot")).to_have_count(5)


async def test_a_click_shows_neighbours_and_adds_more(site: Site, world: World) -> None:
    """The text, what it stands to, and what is around it, in the table too."""
    async with site.visited(world.ada) as page:
        await page.goto(f"/people/{world.ada.id}/graph?text=teapot")
        await expect(page.locator(".graph .dot")).to_have_count(2)
        await _dot(page, "teapot").click()
        box = page.get_by_role("region", name="The chosen memory")
        await expect(box).to_contain_text("It is a result of")
        await box.get_by_role("button", name="green tea").click()
        await expect(box).to_contain_text("It results in")
        await box.get_by_role("button", name="Add its neighbours").click()
        await expect(box).to_contain_text("3 added.")
        await expect(page.locator("[data-edge]")).to_have_count(4)
        await _drawn(page)
        await box.get_by_role("button", name="Add its neighbours").click()
        await expect(box).to_contain_text("All its neighbours are in the picture.")
        await expect(page.locator("[data-edge]")).to_have_count(4)
        await box.get_by_role("link", name="Open").click()
        await expect(page.get_by_role("heading", name="green tea")).to_be_visible()


async def test_the_picture_is_walked_by_keys(site: Site, world: World) -> None:
    """Tab comes to one memory, arrows go on, Enter opens, Escape closes, signs zoom."""
    async with site.visited(world.ada) as page:
        await page.goto(f"/people/{world.ada.id}/graph/{world.tea}")
        await _drawn(page)
        stop = page.locator('.graph .dot[tabindex="0"]')
        await expect(stop).to_have_count(1)
        await page.get_by_role("button", name="Everything").focus()
        await page.keyboard.press("Tab")
        first = await page.evaluate(FOCUS)
        assert first.endswith(world.tea)
        seen = {first}
        for key in ("ArrowUp", "ArrowDown", "ArrowDown", "ArrowLeft", "ArrowRight", "ArrowRight"):
            await page.keyboard.press(key)
            seen.add(await page.evaluate(FOCUS))
        assert len(seen) >= 3
        await expect(stop).to_have_count(1)
        await page.keyboard.press("Enter")
        box = page.get_by_role("region", name="The chosen memory")
        await expect(box).to_be_visible()
        chosen = await page.evaluate(FOCUS)
        await page.keyboard.press("Escape")
        await expect(box).to_be_hidden()
        assert await page.evaluate(FOCUS) == chosen
        view = page.locator(".graph [data-view]")
        await page.keyboard.press("0")
        before = await view.get_attribute("transform")
        await page.keyboard.press("+")
        await expect(view).not_to_have_attribute("transform", before or "")
        assert await page.evaluate(OVERLAPS) == 0
        await page.keyboard.press("0")
        await expect(view).to_have_attribute("transform", before or "")


async def test_words_mark_their_memories_and_enter_looks_in_all(site: Site, world: World) -> None:
    """While one types, the others are dim; the search itself is the server's."""
    async with site.visited(world.ada) as page:
        await page.goto(f"/people/{world.ada.id}/graph")
        await _drawn(page)
        await page.keyboard.press("/")
        await page.keyboard.type("teapot")
        await expect(page.locator("[data-count]")).to_contain_text("1 found in the picture")
        await expect(page.locator(".graph .dot.match")).to_have_count(1)
        await expect(page.locator(".graph .dot.dim")).to_have_count(4)
        await page.keyboard.press("Enter")
        await expect(page).to_have_url(re.compile(r"text=teapot"))
        await expect(page.locator(".graph .dot")).to_have_count(2)
        await page.get_by_role("link", name="Show all").click()
        await expect(page.locator(".graph .dot")).to_have_count(5)


async def test_the_graph_works_without_scripts(site: Site, world: World) -> None:
    """As a table, with a search and links from memory to memory."""
    async with site.visited(world.ada, java_script_enabled=False) as page:
        await page.goto(f"/people/{world.ada.id}/graph")
        await expect(page.locator(".graph")).to_be_hidden()
        await expect(page.locator("[data-edge]")).to_have_count(4)
        await page.get_by_label("Find a memory").fill("espresso")
        await page.get_by_role("button", name="Find").click()
        await expect(page.locator("[data-edge]")).to_have_count(1)
        await page.get_by_role("link", name="green tea").first.click()
        await expect(page.locator("p.lead")).to_contain_text("green tea")
        await expect(page.locator("[data-edge]")).to_have_count(4)


async def test_the_graph_works_without_d3(site: Site, world: World) -> None:
    """As the table, without an empty frame; the package of d3 may be missing."""
    async with site.visited(world.ada) as page:
        await page.route("**/static/d3.js*", lambda route: route.fulfill(body=""))
        await page.goto(f"/people/{world.ada.id}/graph")
        await expect(page.locator(".graph")).to_have_count(0)
        await expect(page.locator("[data-edge]")).to_have_count(4)


async def test_a_large_graph_says_that_it_shows_a_part(site: Site) -> None:
    """No more memories than can be told apart, and what to do to see the others."""
    new = await person(site.memory, "Collector")
    middle = await site.memory.memories.remember(
        as_actor(new), MemoryCreate(content="The collection of stamps.")
    )
    edge = AssociationCreate(target_id=middle.memory.id)
    await site.memory.memories.remember_many(
        as_actor(new),
        [
            MemoryCreate(content=f"Stamp {n} has a ship.", associations=[edge], allow_similar=True)
            for n in range(125)
        ],
    )
    async with site.visited(new) as page:
        await page.goto(f"/people/{new.id}/graph")
        await page.locator(".graph .dot").first.wait_for()
        await expect(page.locator(".graph .dot")).to_have_count(120)
        await expect(page.get_by_text("Of 125 associations")).to_be_visible()
        assert await page.evaluate(OVERLAPS) == 0
        assert await page.evaluate(CROSSED) == 0
