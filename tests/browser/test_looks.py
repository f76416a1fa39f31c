"""Every page as it is seen: in both themes, wide and narrow, by eye and by screen reader."""

import re
from typing import Any

import pytest
from axe import TOO_WIDE, wrong_with
from browsing import SHOTS, Site
from pages import CORPUS, World, peopled, vandalised
from playwright.async_api import Page

WAYS = [("light", 1280), ("dark", 360)]

SHIFTED = """() => new Promise(done => {
  let sum = 0;
  new PerformanceObserver(list => { for (const one of list.getEntries()) sum += one.value; })
    .observe({type: 'layout-shift', buffered: true});
  requestAnimationFrame(() => requestAnimationFrame(() => done(sum)));
})"""


def name_of(path: str, world: World) -> str:
    """A file name for the picture of a page."""
    known = {
        world.ada.id: "ada", world.tea: "tea", world.fact: "fact", world.talk: "talk",
        world.bob.id: "bob", world.agents["Pantry"].id: "pantry", world.place: "place",
        world.space: "space", **dict.fromkeys(world.waiting, "waiting"),
    }  # fmt: skip
    for id_, name in known.items():
        path = path.replace(str(id_), name)
    return re.sub(r"[^\w]+", "-", path).strip("-")[:80]


async def looked_at(page: Page, path: str, picture: str) -> list[str]:
    """Load a page, take its picture, and return what is wrong with it."""
    await page.goto(path)
    wrong = await wrong_with(page)
    if (shifted := await page.evaluate(SHIFTED)) > 0.01:
        wrong.append(f"jumps by {shifted}")
    SHOTS.mkdir(parents=True, exist_ok=True)
    await page.screenshot(path=SHOTS / f"{picture}.jpg", full_page=True)
    return [f"{picture}: {one}" for one in wrong]


@pytest.mark.parametrize(("theme", "width"), WAYS)
async def test_every_page_can_be_read_by_everybody(
    site: Site, world: World, theme: Any, width: int
) -> None:
    """Nothing serious for axe, no sideways scrolling, no jump, nothing that the policy stops."""
    size = {"width": width, "height": 800}
    wrong: list[str] = []
    async with site.opened(color_scheme=theme, viewport=size) as page:
        wrong += await looked_at(page, "/signin", f"sign-in-{theme}-{width}")
    async with site.visited(None, color_scheme=theme, viewport=size) as page:
        for path in [*world.pages_of_admins, *world.pages_of_ada, "/admin/none"]:
            picture = f"admin-{name_of(path, world)}-{theme}-{width}"
            wrong += await looked_at(page, path, picture)
    async with site.visited(world.bob, color_scheme=theme, viewport=size) as page:
        for tab in ("memories", "agents", f"spaces/{world.space}", "profile"):
            path = f"/people/{world.bob.id}/{tab}"
            wrong += await looked_at(page, path, f"{name_of(path, world)}-{theme}-{width}")
    assert not wrong, "\n".join(wrong)


async def test_somebody_new_is_told_what_will_be_where(site: Site, world: World) -> None:
    """Pages with nothing on them say so, and what fills them."""
    from helpers import person

    new = await person(site.memory, "Newcomer")
    async with site.visited(new, color_scheme="dark") as page:
        for tab, words in [
            ("", "Nothing new this week"),
            ("memories", "No memories yet"),
            ("conversations", "No conversations yet"),
            ("timeline", "Nothing is remembered yet"),
            ("graph", "No associations yet"),
            ("review", "No pending memories"),
            ("places", "No places yet"),
            ("spaces", "No spaces yet"),
            ("document", "Memory as one document"),
        ]:
            path = f"/people/{new.id}/{tab}".rstrip("/")
            wrong = await looked_at(page, path, f"empty-{tab}")
            assert not wrong, wrong
            await page.get_by_text(words).first.wait_for()


async def test_hostile_text_does_nothing_in_a_browser(site: Site, world: World) -> None:
    """Markup in every field: no dialog, no script, nothing that the policy has to stop."""
    hostile = await vandalised(site.memory)
    size = {"width": 360, "height": 800}
    async with site.visited(None, viewport=size) as page:
        for path in [*hostile.pages_of_admins, *hostile.pages_of_ada]:
            await page.goto(path)
            assert await page.evaluate(TOO_WIDE) <= 0, path
        await page.goto(f"/people/{hostile.ada.id}/spaces")
        shown = await page.locator("main").inner_text()
        assert all(" ".join(one.split()) in " ".join(shown.split()) for one in CORPUS)


async def test_long_words_break_and_long_texts_scroll(site: Site, world: World) -> None:
    """A name, word or text of any length leaves the page as wide as the screen."""
    long = await peopled(site.memory, "Donaudampfschifffahrt" * 20)
    async with site.visited(None, viewport={"width": 360, "height": 800}) as page:
        for path in [*long.pages_of_admins, *long.pages_of_ada]:
            await page.goto(path)
            assert await page.evaluate(TOO_WIDE) <= 0, path
        await page.goto(f"/people/{long.ada.id}/memories")
        SHOTS.mkdir(parents=True, exist_ok=True)
        await page.screenshot(path=SHOTS / "long-memories-360.jpg", full_page=True)
        await page.goto(f"/people/{long.ada.id}/agents")
        await page.screenshot(path=SHOTS / "long-agents-360.jpg", full_page=True)
