"""A person's home: a question answered while it is typed, and what is new."""

import re

from browsing import Site
from helpers import rows
from pages import World
from playwright.async_api import expect

from remembrancer import MemoryCreate, as_actor


async def test_a_question_is_answered_as_it_is_typed(site: Site, world: World) -> None:
    """With the words it rests on, who may read it, and one entry in the history."""
    async with site.visited(world.ada) as page:
        home = f"/people/{world.ada.id}"
        await expect(page).to_have_url(re.compile(f"{home}$"))
        await page.evaluate("() => { window.mark = history.length; }")
        await page.keyboard.press("/")
        await page.keyboard.type("What does Ada like, tea", delay=60)
        first = page.locator("li.hit").first
        await expect(first).to_contain_text("green tea")
        await page.keyboard.type(" or coffee?", delay=60)
        await expect(page).to_have_url(re.compile(r"coffee%3F$"))
        await expect(first.locator("mark").first).to_be_visible()
        await expect(first.locator("blockquote")).to_contain_text("Message 21")
        await expect(first).to_contain_text("You told Pantry in Dinner for six")
        await expect(first).to_contain_text("Only Pantry may read it")
        assert await page.evaluate("() => history.length - window.mark") == 1
        await expect(page.get_by_label("Question")).to_be_focused()
        await page.go_back()
        await expect(page.get_by_label("Question")).to_have_value("")
        await expect(page.locator("li.hit")).to_have_count(0)


async def test_home_says_what_is_new_waits_and_goes(site: Site, world: World) -> None:
    """By agent and day; what waits leads to the review, what went comes back."""
    rows("UPDATE memories SET created_at = now() - interval '30 days' WHERE id = %s", world.tea)
    async with site.visited(world.ada) as page:
        main = page.get_by_role("main")
        await expect(main.get_by_text("4 memories wait for your review")).to_be_visible()
        await expect(main.locator(".counts")).to_contain_text("Pantry")
        await expect(main.get_by_role("heading", name="Today")).to_be_visible()
        await expect(main.get_by_role("link", name="teapot in Riga")).to_be_visible()
        new = page.get_by_role("region", name="New this week")
        assert "green tea over" not in await new.inner_text(), rows(
            "SELECT id, content, created_at FROM memories WHERE content ILIKE '%%green tea%%'"
        )
        await main.get_by_role("button", name="Restore “Ada wants a parrot").click()
        await expect(page.get_by_role("status").first).to_contain_text("Restored.")


async def test_home_works_without_scripts(site: Site, world: World) -> None:
    """The form asks, and the answers are links."""
    written = MemoryCreate(content="Bob plays the trombone.", allow_similar=True)
    await site.memory.memories.remember(as_actor(world.bob), written)
    async with site.visited(world.bob, java_script_enabled=False) as page:
        await page.get_by_label("Question").fill("What instrument does Bob play?")
        await page.get_by_role("button", name="Ask").click()
        await page.get_by_role("link", name="trombone").first.click()
        await expect(page.get_by_role("heading", name="Bob plays the trombone.")).to_be_visible()
