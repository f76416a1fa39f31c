"""What people do on the pages, with a keyboard or a mouse, with scripts or without."""

import re

from browsing import Site
from pages import World
from playwright.async_api import Page, expect

from remembrancer import MemoryCreate, as_actor


async def stays(page: Page) -> None:
    """Mark the page, so that :func:`stayed` can tell that it was not loaded anew."""
    await page.evaluate("() => { window.mark = true; }")


async def stayed(page: Page) -> bool:
    return bool(await page.evaluate("() => window.mark === true"))


async def test_a_switch_is_flipped_by_keyboard_and_keeps_the_focus(
    site: Site, world: World
) -> None:
    """It asks first, the badge and the words follow, the page stays, and the focus in the card."""
    async with site.visited(world.ada) as page:
        await page.goto(f"/people/{world.ada.id}/agents")
        await stays(page)
        card = page.locator("li.card", has=page.get_by_role("heading", name="Pantry"))
        switch = card.get_by_role("switch")
        await expect(switch).to_have_attribute("aria-checked", "false")
        await switch.focus()
        await page.keyboard.press("Space")
        await expect(card).to_contain_text("Not changed yet.")
        await expect(switch).to_be_focused()
        await card.get_by_role("button", name="Switch to private").focus()
        await page.keyboard.press("Enter")
        await expect(switch).to_have_attribute("aria-checked", "true")
        await expect(card.locator(":focus")).to_have_count(1)
        await expect(card.locator(".badge")).to_have_text("Private")
        await expect(page.get_by_role("status").first).to_contain_text("private memories")
        tip = card.get_by_role("button", name="Why")
        await tip.focus()
        await expect(card.get_by_role("tooltip")).to_be_visible()
        await expect(card.get_by_role("tooltip")).to_contain_text("You customized")
        await card.get_by_role("button", name="Reset to default").click()
        await expect(card.locator(".badge")).to_have_text("Global")
        assert await stayed(page)


async def test_a_list_is_searched_walked_and_mended_without_leaving_it(
    site: Site, world: World
) -> None:
    """Typing narrows it, the address follows, j and k walk, a forgotten row can be undone."""
    async with site.visited(world.ada) as page:
        await page.goto(f"/people/{world.ada.id}/memories")
        await stays(page)
        await page.keyboard.press("/")
        await page.keyboard.type("espresso")
        await expect(page.locator("li.memory")).to_have_count(1)
        await expect(page).to_have_url(re.compile("text=espresso"))
        row = page.locator("li.memory")
        await row.get_by_role("button", name="Pin").click()
        await expect(row.locator(".badge", has_text="Pinned")).to_be_visible()
        await row.get_by_role("button", name="Unpin").click()
        await expect(row.locator(".badge", has_text="Pinned")).to_have_count(0)
        await row.get_by_role("button", name="Forget").click()
        await expect(row.locator(".badge.bad")).to_have_text("Forgotten")
        await expect(page.locator(".toasts")).to_be_in_viewport()
        await expect(row.get_by_role("button", name="Restore")).to_be_focused()
        await page.keyboard.press("u")
        await expect(page.get_by_role("status").first).to_contain_text("Restored.")
        await expect(row.locator(".badge.bad")).to_have_count(0)
        await page.keyboard.press("Escape")
        await expect(page.locator(".toasts .notice")).to_have_count(0)
        assert await stayed(page)
        await page.goto(f"/people/{world.ada.id}/memories")
        await page.keyboard.press("j")
        stops = page.locator("[data-stop]")
        await expect(stops.nth(0)).to_be_focused()
        await page.keyboard.press("j")
        await expect(stops.nth(1)).to_be_focused()
        await page.keyboard.press("k")
        await expect(stops.nth(0)).to_be_focused()
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("heading", name="History")).to_be_visible()


async def test_what_comes_in_works_at_once(site: Site, world: World) -> None:
    """A button that is pressed the moment it is there does not load the page anew."""
    async with site.visited(world.ada) as page:
        await page.goto(f"/people/{world.ada.id}/memories?text=espresso")
        await stays(page)
        await page.evaluate(
            """() => {
              const watch = new MutationObserver(() => {
                const undo = document.querySelector("#notices form button");
                if (!undo) return;
                watch.disconnect();
                undo.click();
              });
              watch.observe(document.body, { childList: true, subtree: true });
            }"""
        )
        await page.locator("li.memory").get_by_role("button", name="Forget").click()
        await expect(page.get_by_role("status").first).to_contain_text("Restored.")
        assert await stayed(page)


async def test_more_of_a_long_list_comes_to_its_end(site: Site, world: World) -> None:
    """The button gives way to the next fifty, on the same page."""
    statements = [MemoryCreate(content=f"Goose {n}.", allow_similar=True) for n in range(60)]
    await site.memory.memories.remember_many(as_actor(world.bob), statements)
    async with site.visited(world.bob) as page:
        await page.goto(f"/people/{world.bob.id}/memories?text=Goose")
        await stays(page)
        await expect(page.locator("li.memory")).to_have_count(50)
        await page.get_by_role("link", name="Show more").click()
        await expect(page.locator("li.memory")).to_have_count(60)
        await expect(page.get_by_role("link", name="Show more")).to_have_count(0)
        assert await stayed(page)


async def test_a_question_is_answered_in_place_and_leads_to_its_source(
    site: Site, world: World
) -> None:
    """From the playground to a memory, from there to the message, and back to the memory."""
    async with site.visited(world.ada) as page:
        await page.goto(f"/people/{world.ada.id}/playground")
        await stays(page)
        await page.get_by_label("Question").fill("Does Ada like tea?")
        await page.get_by_role("checkbox", name="Messages").uncheck()
        await page.get_by_role("button", name="Recall").click()
        await expect(page.locator("li.hit").first).to_contain_text("green tea")
        assert await stayed(page)
        await page.locator("li.hit summary").first.click()
        await expect(page.locator("li.hit table").first).to_be_visible()
        await page.get_by_role("link", name="green tea").first.click()
        await expect(page.locator("ins", has_text="green tea").first).to_be_visible()
        await page.get_by_role("link", name="Show the message").click()
        marked = page.locator(".message.marked")
        await expect(marked).to_contain_text("Message 21")
        await marked.get_by_role("link", name="Remembered:").click()
        await expect(page.get_by_role("heading", name="green tea")).to_be_visible()
        await page.get_by_role("link", name="Show the graph").click()
        await page.get_by_role("link", name="Ada bought a teapot").first.click()
        await expect(page.locator("p.lead", has_text="teapot")).to_be_visible()


async def test_the_first_stop_skips_to_the_content(site: Site, world: World) -> None:
    """Tab, Enter: past the navigation, in the content."""
    async with site.visited(world.ada) as page:
        await page.goto(f"/people/{world.ada.id}/agents")
        await page.keyboard.press("Tab")
        skip = page.get_by_role("link", name="Skip to content")
        await expect(skip).to_be_focused()
        await expect(skip).to_be_in_viewport()
        await page.keyboard.press("Enter")
        await expect(page.locator("main")).to_be_focused()


async def test_a_theme_that_is_chosen_stays(site: Site, world: World) -> None:
    """Dark though the system is light, on every page that follows."""
    async with site.visited(world.ada, color_scheme="light") as page:
        await page.get_by_label("Theme").select_option("dark")
        await expect(page.locator("html")).to_have_attribute("data-theme", "dark")
        await page.goto(f"/people/{world.ada.id}/graph")
        await expect(page.locator("body")).to_have_css("background-color", "rgb(20, 22, 26)")


async def test_everything_essential_works_without_scripts(site: Site, world: World) -> None:
    """Sign in, add, find, forget, undo, flip a switch, review, ask: plain forms and links."""
    async with site.visited(world.bob, java_script_enabled=False) as page:
        base = f"/people/{world.bob.id}"
        await page.goto(f"{base}/memories/new")
        await page.get_by_label("What to remember").fill("Bob plays the tuba.")
        await page.get_by_role("button", name="Remember").click()
        await expect(page.get_by_role("heading", name="Bob plays the tuba.")).to_be_visible()
        await page.goto(f"{base}/memories")
        await page.get_by_role("searchbox").fill("tuba")
        await page.get_by_role("button", name="Search").click()
        await expect(page.locator("li.memory")).to_have_count(1)
        await page.locator("li.memory").get_by_role("button", name="Forget").click()
        await expect(page.get_by_role("status").first).to_contain_text("Forgotten.")
        await page.get_by_role("button", name="Undo").click()
        await expect(page.get_by_role("status").first).to_contain_text("Restored.")
        await expect(page).to_have_url(re.compile("text=tuba"))
        await expect(page.locator("li.memory")).to_have_count(1)
        await page.goto(f"{base}/agents")
        switch = page.get_by_role("switch").first
        before = await switch.get_attribute("aria-checked")
        await switch.click()
        await page.get_by_role("button", name="Switch to").click()
        after = "false" if before == "true" else "true"
        await expect(page.get_by_role("switch").first).to_have_attribute("aria-checked", after)
        for text in ("Rain is due.", "Snow is over."):
            waits = MemoryCreate(content=text, pending=True, allow_similar=True)
            await site.memory.memories.remember(as_actor(world.bob), waits)
        await page.goto(f"{base}/review")
        await page.get_by_role("button", name="Reject “Rain is due.”").click()
        await page.get_by_role("button", name="Undo").click()
        await expect(page.get_by_role("status").first).to_contain_text("1 pending again.")
        await page.get_by_role("link", name="Tick all").click()
        await page.get_by_role("button", name="Confirm", exact=True).click()
        await expect(page.get_by_role("status").first).to_contain_text("2 confirmed.")
        await page.goto(f"{base}/playground")
        await page.get_by_label("Question").fill("What does Bob play?")
        await page.get_by_role("button", name="Recall").click()
        await expect(page.locator("li.hit").first).to_contain_text("tuba")


async def test_an_error_of_a_part_is_said_on_the_page(site: Site, world: World) -> None:
    """What somebody else erased meanwhile is said; the page stays as it was."""
    written = await site.memory.remember("Bob hums.", user=world.bob)
    async with site.visited(world.bob) as page:
        await page.goto(f"/people/{world.bob.id}/memories?text=hums")
        await stays(page)
        await site.memory.memories.erase(as_actor(world.bob), written.memory.id, dry_run=False)
        await page.locator("li.memory").get_by_role("button", name="Pin").click()
        await expect(page.locator(".notice.bad")).to_contain_text("No such memory")
        assert await stayed(page)
        site.watch.wrong.clear()  # htmx writes the refused request to the console


async def test_a_bar_that_is_cut_has_a_menu_of_all_pages(site: Site, world: World) -> None:
    """On a phone its button is in view, with scripts or without; where all fits there is none."""
    for scripted in (True, False):
        size = {"width": 360, "height": 800}
        async with site.visited(world.ada, viewport=size, java_script_enabled=scripted) as page:
            await page.goto(f"/people/{world.ada.id}/memories")
            more = page.get_by_role("button", name="More", exact=True)
            await expect(more).to_be_in_viewport(ratio=1)
            await more.click()
            for link in await page.locator("#pages-about a").all():
                await expect(link).to_be_in_viewport(ratio=1)
            await page.locator("#pages-about").get_by_role("link", name="Profile").click()
            await expect(page).to_have_url(re.compile("/profile$"))
    async with site.visited(None, viewport={"width": 1280, "height": 800}) as page:
        await page.goto("/admin")
        await expect(page.get_by_role("button", name="More", exact=True)).to_be_hidden()
