"""Agents side by side and the picker of people, in a real browser: by keyboard and without one."""

import asyncio
from typing import Any

import pytest
from axe import wrong_with
from browsing import SHOTS, Site
from helpers import ADMIN, Store, empty, person
from pages import CORPUS, World, peopled
from playwright.async_api import Locator, Page, expect

from remembrancer import ResolveUser, as_actor

WAYS = [("light", 1280), ("dark", 360)]


@pytest.fixture(params=WAYS, ids=[theme for theme, _ in WAYS])
async def way(request: pytest.FixtureRequest, site: Site) -> dict[str, Any]:
    """A theme and a width, and a store that nobody has changed yet."""
    await site.memory.reads.flush()
    await site.memory.access_counts.flush()
    await asyncio.to_thread(empty, Store.url)
    SHOTS.mkdir(parents=True, exist_ok=True)
    theme, width = request.param
    return {"color_scheme": theme, "viewport": {"width": width, "height": 800}}


async def looked_at(page: Page, name: str, way: dict[str, Any]) -> None:
    """Nothing serious for axe, nothing too wide; and a picture."""
    wrong = await wrong_with(page)
    picture = SHOTS / f"{name}-{way['color_scheme']}.jpg"
    await page.screenshot(path=picture, full_page=True)
    assert not wrong, (name, wrong)


def options(page: Page) -> Locator:
    """The people that an open picker offers."""
    return page.get_by_role("listbox", name="People found").get_by_role("option")


async def _asked(site: Site, world: World) -> list[str]:
    asked = {"user": world.ada, "agent": world.agents["Quiet Hour"], "sources": ["memory"]}
    answer = await site.memory.recall("a job offer in the harbour", **asked)
    return [hit.content for hit in answer.hits if "harbour" in hit.content]


async def test_a_person_switches_an_agent_by_keyboard(site: Site, way: dict[str, Any]) -> None:
    """What vanishes is listed before; Cancel changes nothing; with a copy it is there still."""
    world = await peopled(site.memory)
    async with site.visited(world.ada, **way) as page:
        await page.goto(f"/people/{world.ada.id}/agents")
        card = page.locator("li.card", has=page.get_by_role("heading", name="Quiet Hour"))
        switch, badge = card.get_by_role("switch"), card.locator(".card-head .badge")
        await expect(card).to_contain_text("If you switch it, 1 vanishes and")
        await switch.focus()
        await page.keyboard.press("Space")
        await expect(card.get_by_role("link", name="in the harbour")).to_be_visible()
        await expect(page.get_by_role("status").first).to_contain_text("Not changed yet.")
        await expect(switch).to_be_focused()
        await looked_at(page, "agents-asked", way)
        await card.get_by_role("link", name="Cancel").focus()
        await page.keyboard.press("Enter")
        await expect(card).not_to_contain_text("Not changed yet.")
        await expect(badge).to_have_text("Private")
        await switch.click()
        await card.get_by_role("button", name="Switch and copy 1").click()
        await expect(badge).to_have_text("Global")
        await expect(page.get_by_text("1 memory copied.")).to_be_visible()
        assert await _asked(site, world)
        await looked_at(page, "agents-switched", way)
        for label in await page.locator(".badge").all():
            box = await label.bounding_box()
            assert box is None or box["height"] < 32, await label.inner_text()
        await page.get_by_role("link", name="Side by side").click()
        await expect(page.get_by_role("heading", name="Pantry", exact=True)).to_be_visible()
        await looked_at(page, "agents-compared", way)


async def test_an_owner_picks_a_fellow_by_keyboard(site: Site, way: dict[str, Any]) -> None:
    """Typed, chosen with the arrows, closed with Escape; somebody unknown is not offered."""
    world = await peopled(site.memory)
    await person(site.memory, "Boris")
    async with site.visited(world.ada, **way) as page:
        await page.goto(f"/people/{world.ada.id}/spaces")
        await page.get_by_text("Create a space").click()
        await page.get_by_label("Name").fill("Allotment")
        await page.get_by_role("button", name="Create").click()
        await page.get_by_text("Invite somebody").click()
        await page.wait_for_load_state()
        box = page.get_by_role("combobox", name="Person")
        await box.fill("bo")
        option = options(page)
        await expect(option).to_have_text("Bob")
        await expect(box).to_have_attribute("aria-expanded", "true")
        await page.keyboard.press("ArrowDown")
        await expect(box).to_have_attribute("aria-activedescendant", "choice-1")
        await looked_at(page, "picker-open", way)
        await page.keyboard.press("Escape")
        await expect(option).to_have_count(0)
        await expect(box).to_have_value("bo")
        await page.keyboard.press("ArrowDown")
        await page.keyboard.press("ArrowDown")
        await page.keyboard.press("Enter")
        await expect(box).to_have_value("Bob")
        await page.get_by_role("button", name="Invite", exact=True).click()
        await expect(page.locator("#notices")).to_contain_text("The invitation is sent.")
        await expect(page.get_by_role("button", name="Withdraw Bob")).to_be_visible()
        await looked_at(page, "picker-invited", way)


async def test_an_admin_finds_people_as_they_type(site: Site, way: dict[str, Any]) -> None:
    """On the page of people, and in the forms; the name of an id is beside it."""
    world = await peopled(site.memory)
    await person(site.memory, "Adalbert")
    async with site.visited(None, **way) as page:
        await page.goto("/admin/people")
        await page.keyboard.press("/")
        await page.keyboard.type("adal", delay=40)
        await expect(page.locator(".count")).to_contain_text("1 person found.")
        await expect(page.get_by_label("Part of a name or id")).to_be_focused()
        await looked_at(page, "people-found", way)
        await page.goto("/admin/keys")
        await page.get_by_label("Name").fill("phone")
        await page.get_by_label("Role", exact=True).select_option("user")
        box = page.get_by_role("combobox", name="Person")
        await box.fill("ad")
        await expect(options(page)).to_have_count(2)
        await page.keyboard.press("ArrowUp")
        await page.keyboard.press("Enter")
        await expect(box).to_have_value("Adalbert")
        await box.fill("Ada")
        await expect(options(page)).to_have_count(2)
        await options(page).first.click()
        await page.get_by_role("button", name="Create a key").click()
        await expect(page.locator("#secret")).to_contain_text("rmb_")
        row = page.locator("tr", has=page.get_by_role("rowheader", name="phone"))
        await expect(row.get_by_role("link", name="Ada", exact=True)).to_have_attribute(
            "title", str(world.ada.id)
        )
        await looked_at(page, "keys-of-ada", way)


async def test_agents_and_pickers_work_without_scripts(site: Site) -> None:
    """The switch leads to a page that asks, and a name that several have to a list."""
    await asyncio.to_thread(empty, Store.url)
    world = await peopled(site.memory)
    twin = await person(site.memory, "Ada", platform="matrix")
    async with site.visited(world.ada, java_script_enabled=False) as page:
        await page.goto(f"/people/{world.ada.id}/agents")
        card = page.locator("li.card", has=page.get_by_role("heading", name="Quiet Hour"))
        await card.get_by_role("switch").click()
        heading = "Switch Quiet Hour to global memories?"
        await expect(page.get_by_role("heading", name=heading)).to_be_visible()
        await page.get_by_role("button", name="Switch to global").click()
        await expect(card.locator(".card-head .badge")).to_have_text("Global")
        await page.get_by_role("link", name="What it knows (Quiet Hour)").click()
        await page.get_by_label("The other").select_option("Quiet Hour")
        await page.get_by_role("button", name="Compare").click()
        await expect(page.get_by_text("the same agent twice")).to_be_visible()
    async with site.visited(None, java_script_enabled=False) as page:
        await page.goto("/admin/keys")
        await page.get_by_label("Name").fill("phone")
        await page.get_by_label("Role", exact=True).select_option("user")
        await page.get_by_label("Person").fill("Ada")
        await page.get_by_role("button", name="Create a key").click()
        await page.get_by_label("Who is it?").select_option(str(twin.id))
        await page.get_by_role("button", name="Create a key").click()
        await expect(page.locator("#secret")).to_contain_text("rmb_")
    assert [key.user_id for key in (await site.memory.keys.list(ADMIN)).items][-1] == twin.id


async def test_hostile_names_do_nothing_in_a_picker(site: Site) -> None:
    """Typed for, listed, marked and chosen: no dialog, nothing that the policy has to stop."""
    await asyncio.to_thread(empty, Store.url)
    await peopled(site.memory)
    for text in CORPUS:
        who = ResolveUser(platform="x", platform_user_id=text, display_name=text)
        await site.memory.users.resolve(as_actor(), who)
    async with site.visited(None, viewport={"width": 360, "height": 800}) as page:
        await page.goto("/admin/keys")
        box = page.get_by_role("combobox", name="Person")
        await box.fill("alert")
        listed = options(page)
        await expect(listed.first).to_be_visible()
        for _ in range(await listed.count()):
            await page.keyboard.press("ArrowDown")
        await page.keyboard.press("Enter")
        assert await box.input_value() in CORPUS
