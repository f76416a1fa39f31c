"""Two people and an admin walk every journey, in both themes; each stop is looked at and kept."""

import asyncio
import json
import re
from dataclasses import dataclass
from typing import Any

import pytest
from axe import wrong_with
from browsing import SHOTS, Site, timers_stopped
from helpers import Store, empty, rows
from pages import World, peopled
from playwright.async_api import Locator, Page, expect

from remembrancer import RecallQuery, Visibility, as_actor

WAYS = [("light", 1280), ("dark", 360)]


@dataclass
class Walk:
    """Somebody's way through the pages."""

    page: Page
    world: World
    who: str
    theme: str
    stops: int = 0

    @property
    def status(self) -> Locator:
        return self.page.locator("#notices")

    async def go(self, path: str) -> None:
        await self.page.goto(path)

    async def press(self, name: str, within: Any = None, **how: Any) -> None:
        await (within or self.page).get_by_role("button", name=name, **how).first.click()

    async def said(self, words: str) -> None:
        await expect(self.status).to_contain_text(words)
        await self.page.wait_for_load_state()  # its scripts have run: a key is heard

    async def stop(self, name: str) -> None:
        """Look around: nothing serious for axe, nothing too wide; and take a picture."""
        self.stops += 1
        wrong = await wrong_with(self.page)
        picture = f"walk-{self.who}-{self.stops:02}-{name}-{self.theme}"
        await self.page.screenshot(path=SHOTS / f"{picture}.jpg", full_page=True)
        assert not wrong, (picture, wrong)


@pytest.fixture(params=WAYS, ids=[theme for theme, _ in WAYS])
async def way(request: pytest.FixtureRequest, site: Site) -> dict[str, Any]:
    """A theme and a width, and a world that nobody has walked through yet."""
    await site.memory.reads.flush()
    await site.memory.access_counts.flush()
    await site.memory.backend.usage_counts.flush()
    await site.memory.keys.uses.flush()
    await asyncio.to_thread(empty, Store.url)
    SHOTS.mkdir(parents=True, exist_ok=True)
    theme, width = request.param
    return {"color_scheme": theme, "viewport": {"width": width, "height": 800}}


async def test_ada_steers_what_is_remembered_of_her(site: Site, way: dict[str, Any]) -> None:
    """Memories, review by keyboard, places, agents: each changed, and taken back."""
    world = await peopled(site.memory)
    async with site.visited(world.ada, **way) as page:
        walk = Walk(page, world, "ada", way["color_scheme"])
        await _memories(walk)
        await _review(walk)
        await _places(walk)
        await _agents(walk, site)


async def _memories(walk: Walk) -> None:
    page, base = walk.page, f"/people/{walk.world.ada.id}/memories"
    await walk.go(base)
    await expect(page.get_by_role("meter", name="Budget")).to_be_visible()
    await walk.press("Kind")
    await page.get_by_role("link", name="Goal", exact=True).click()
    await expect(page.locator("li.memory")).to_have_count(1)
    await expect(page.get_by_role("button", name="Kind: Goal")).to_be_focused()
    await walk.stop("filtered")
    await walk.go(f"{base}/new")
    await page.get_by_label("What to remember").fill("My card is 4111 1111 1111 1111")
    await walk.press("Remember")
    await expect(page.locator("#wrong-content")).to_contain_text("card number")
    await walk.stop("refused")
    await page.get_by_label("What to remember").fill("Ada keeps bees on the roof.")
    await page.get_by_label("Category").select_option("hobby")
    await walk.press("Remember")
    await walk.said("Remembered.")
    await page.get_by_role("link", name="Edit").click()
    await page.get_by_label("What to remember").fill("Ada keeps bees in the garden.")
    await walk.press("Save")
    await expect(page.locator("ins", has_text="garden")).to_be_visible()
    await walk.press("Pin")
    await walk.said("Pinned")
    await walk.stop("history")
    await walk.press("Deactivate")
    await walk.said("Deactivated")
    await walk.stop("aside")
    await walk.press("Activate", page.locator("main"))
    await walk.press("Forget", page.locator("main"))
    await walk.said("Forgotten.")
    await walk.stop("forgotten")
    await walk.press("Undo")
    await walk.said("Restored.")


async def _review(walk: Walk) -> None:
    page, base = walk.page, f"/people/{walk.world.ada.id}"
    await walk.go(f"{base}/memories")
    await page.get_by_role("main").get_by_role("link", name="Review").click()
    await page.get_by_text("By keyboard").click()
    rows_, stops = page.locator("li.waiting"), page.locator("#waiting [data-stop]")
    await expect(rows_).to_have_count(4)
    await page.wait_for_load_state()
    await page.keyboard.press("j")
    await expect(stops.nth(0)).to_be_focused()
    await page.keyboard.press("j")
    await page.keyboard.press("x")
    await expect(stops.nth(1)).to_be_checked()
    await page.keyboard.press("Space")
    await expect(stops.nth(1)).not_to_be_checked()
    await walk.stop("review-by-keyboard")
    await page.keyboard.press("r")
    await walk.said("1 rejected.")
    await expect(rows_).to_have_count(3)
    await expect(stops.nth(1)).to_be_focused()
    await walk.stop("review-rejected")
    await page.keyboard.press("c")
    await walk.said("1 confirmed.")
    await expect(rows_).to_have_count(2)
    await page.keyboard.press("a")
    await expect(page.get_by_label("All on this page")).to_be_checked()
    await page.keyboard.press("e")
    await expect(page.get_by_role("heading", name="Edit and confirm")).to_be_visible()
    await page.get_by_label("What to remember").last.fill("Ada is allergic to peanuts and kiwis.")
    await walk.stop("review-edit")
    await walk.press("Save and confirm")
    await walk.said("2 confirmed.")
    await expect(page.get_by_text("No pending memories")).to_be_visible()
    await walk.stop("review-done")
    one = walk.world.waiting[0]
    await walk.go(f"{base}/memories/{one}")
    await page.get_by_role("link", name="Show the message").click()
    await expect(page.locator(".message.marked")).to_contain_text("Message 1")
    await walk.stop("source-message")


async def _places(walk: Walk) -> None:
    page = walk.page
    await walk.go(f"/people/{walk.world.ada.id}/places")
    await page.get_by_role("link", name="Add", exact=True).click()
    await page.get_by_label("Name").fill("Mill")
    await page.get_by_label("Notes").fill("By the river; opens at ten.")
    await walk.press("Remember")
    await walk.said("Mill is remembered.")
    await page.get_by_role("link", name="Edit Mill").click()
    await page.get_by_label("Name").fill("Old Mill")
    await walk.press("Save")
    await page.get_by_text("In 1 conversation").click()
    await walk.stop("places")
    await walk.press("Forget Old Mill")
    await walk.said("Old Mill is forgotten.")
    await walk.press("Undo")
    await walk.said("Old Mill is restored.")
    await walk.go(f"/people/{walk.world.ada.id}/document")
    await page.get_by_text("Import a document").click()
    await page.get_by_label("Document, as JSON").fill("{")
    await walk.press("Import")
    await expect(page.locator("#wrong-document")).to_be_visible()
    await walk.stop("document-refused")
    fact = {"id": "x1", "content": "Ada swims.", "added_at": "2025-01-01T00:00:00Z"}
    await page.get_by_label("Document, as JSON").fill(json.dumps({"facts": [fact]}))
    await walk.press("Import")
    await walk.said("1 memory and 0 places added.")


async def _agents(walk: Walk, site: Site) -> None:
    page, quiet = walk.page, walk.world.agents["Quiet Hour"]
    await walk.go(f"/people/{walk.world.ada.id}/agents")
    card = page.locator("li.card", has=page.get_by_role("heading", name="Quiet Hour"))
    badge = card.locator(".card-head .badge")
    await card.get_by_role("switch").click()
    await expect(card).to_contain_text("Not changed yet.")
    await expect(card.get_by_role("link", name="in the harbour")).to_be_visible()
    await expect(badge).to_have_text("Private")
    await walk.stop("agents-preview")
    await walk.press("Switch to global", card)
    await expect(badge).to_have_text("Global")
    asked = {"user": walk.world.ada, "agent": quiet, "sources": ["memory"]}
    answer = await site.memory.recall("a job offer in the harbour", **asked)
    assert not any("harbour" in hit.content for hit in answer.hits)
    await card.get_by_role("button", name="Why").focus()
    await expect(card.get_by_role("tooltip")).to_contain_text("You customized")
    await walk.stop("agents-tooltip")
    await walk.press("Reset to default", card)
    await expect(badge).to_have_text("Private")
    answer = await site.memory.recall("a job offer in the harbour", **asked)
    assert any("harbour" in hit.content for hit in answer.hits)
    await walk.press("Set all to private")
    await walk.said("2 preferences set to private.")
    await walk.press("Reset all to default")
    await page.get_by_role("link", name="Side by side").click()
    await expect(page.get_by_role("heading", name="What they know about you")).to_be_visible()
    await walk.stop("agents-side-by-side")
    await page.get_by_role("link", name="All agents").click()
    await card.get_by_role("link", name="Move memories").click()
    await walk.press("Move it")
    await walk.said("1 memory moved.")
    await walk.stop("agents-moved")
    await walk.press("Undo")
    await walk.said("Undone: 1 memory")


async def test_bob_shares_looks_and_asks(site: Site, way: dict[str, Any]) -> None:
    """Spaces, conversations, playground, graph and profile, up to erasing everything."""
    world = await peopled(site.memory)
    way |= {"permissions": ["clipboard-read", "clipboard-write"]}
    async with site.visited(world.bob, **way) as page:
        walk = Walk(page, world, "bob", way["color_scheme"])
        await _spaces(walk, site)
        await _conversations(walk)
        await _playground(walk)
        await _profile(walk)


async def _spaces(walk: Walk, site: Site) -> None:
    page, base = walk.page, f"/people/{walk.world.bob.id}"
    await walk.go(f"{base}/spaces")
    await page.get_by_text("Create a space").click()
    await page.get_by_label("Name").fill("The boat")
    await page.get_by_label("Description").fill("What she needs before summer.")
    await walk.stop("spaces")
    await walk.press("Create")
    await walk.said("The boat is created.")
    await page.get_by_text("Invite somebody").click()
    await page.get_by_label("Person").fill("Zoltan")
    await walk.press("Invite", exact=True)
    await expect(page.locator("#wrong-person")).to_be_visible()
    await walk.stop("space-refused")
    await page.get_by_label("Person").fill("ad")
    await expect(page.locator(".options li")).to_have_text("Ada")
    await page.keyboard.press("ArrowDown")
    await walk.stop("space-person")
    await page.keyboard.press("Enter")
    await expect(page.get_by_label("Person")).to_have_value("Ada")
    await walk.press("Invite", exact=True)
    await walk.said("The invitation is sent.")
    [(boat,)] = rows("SELECT id FROM spaces WHERE name = 'The boat'")
    await site.memory.spaces.accept(as_actor(walk.world.ada), boat)
    await walk.go(f"{base}/memories/{walk.world.bobs}")
    await page.get_by_text("Share in a space").click()
    await page.get_by_label("Space").select_option("The boat")
    await walk.press("Share", exact=True)
    await walk.said("Copied to the space.")
    await walk.stop("shared")
    hers = await site.memory.spaces.memories(as_actor(walk.world.ada), boat)
    assert [one.visibility for one in hers.items] == [Visibility.SHARED]
    await walk.go(f"{base}/spaces/{boat}")
    await walk.press("Make an owner")
    await walk.said("Ada is an owner now.")
    await page.get_by_text("Name and description").click()
    await walk.stop("space")
    await walk.press("Remove Ada")
    await walk.press("Undo")
    await walk.said("The invitation is sent.")
    await page.get_by_text("Leave or delete").click()
    await walk.press("Delete")
    await expect(page.get_by_role("alert")).to_contain_text("he space holds memories")
    await walk.stop("space-not-deleted")
    await walk.go(f"{base}/spaces/{walk.world.space}")
    await page.get_by_text("Leave this space").click()
    await walk.press("Leave")
    await walk.said("You left the space.")
    await walk.go(f"{base}/spaces/{walk.world.space}")
    await expect(page.get_by_role("heading", name="Not found")).to_be_visible()


async def _conversations(walk: Walk) -> None:
    page = walk.page
    await walk.go(f"/people/{walk.world.bob.id}/conversations")
    await page.get_by_role("link", name="Dinner for six").click()
    await walk.stop("conversation")
    await walk.go(f"/people/{walk.world.bob.id}/graph")
    await expect(page.get_by_text("No associations yet")).to_be_visible()
    await walk.go(f"/people/{walk.world.bob.id}/graph/{walk.world.bobs}")
    await walk.stop("graph-alone")


async def _playground(walk: Walk) -> None:
    page = walk.page
    await walk.go(f"/people/{walk.world.bob.id}/playground")
    await page.get_by_label("Question").fill("What is Bob afraid of?")
    await page.get_by_label("Through agent").select_option("Pantry")
    await walk.press("Recall")
    await expect(page.locator("li.hit").first).to_contain_text("geese")
    await page.locator("li.hit summary").first.click()
    await expect(page.locator("#stable-text")).to_contain_text("geese")
    await walk.stop("playground")
    async with timers_stopped(page):
        await walk.press("Copy Stable block")
        await expect(page.get_by_role("button", name="Copied Stable block")).to_be_visible()
    copied = await page.evaluate("() => navigator.clipboard.readText()")
    assert copied == await page.locator("#stable-text").evaluate("one => one.textContent")
    await page.get_by_label("As of").fill("2001-01-01T10:00")
    await walk.press("Recall")
    await expect(page.get_by_text("No hits")).to_be_visible()
    await walk.stop("playground-as-of")


async def _profile(walk: Walk) -> None:
    page, base = walk.page, f"/people/{walk.world.bob.id}"
    await walk.go(f"{base}/profile")
    await page.get_by_label("Time zone").select_option("Asia/Tokyo")
    await walk.press("Save")
    await walk.said("The profile is saved.")
    await expect(page.get_by_text("times in Asia/Tokyo")).to_be_visible()
    async with page.expect_download() as download:
        await page.get_by_role("link", name="Export as JSON", exact=True).click()
    assert "geese" in (await (await download.value).path()).read_text()
    await page.get_by_role("link", name="Erase…").click()
    await page.get_by_label("To confirm, type erase everything").fill("yes")
    await walk.press("Erase everything")
    await expect(page.locator("[aria-invalid=true]")).to_have_count(1)
    await walk.stop("erase-refused")
    await page.get_by_label("To confirm, type erase everything").fill("erase everything")
    await walk.press("Erase everything")
    await expect(page.get_by_role("heading", name="Erased")).to_be_visible()
    await walk.stop("erased")
    await walk.go(f"{base}/memories")
    await expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


async def test_an_admin_keeps_the_house(site: Site, way: dict[str, Any]) -> None:
    """Policy, people, agents, keys, audit log, jobs, usage and shared knowledge."""
    world = await peopled(site.memory)
    async with site.visited(None, **way) as page, site.visited(world.ada, **way) as hers:
        walk = Walk(page, world, "admin", way["color_scheme"])
        await _policy(walk, Walk(hers, world, "forbidden", way["color_scheme"]))
        await _people(walk)
        await _agents_and_keys(walk)
        await _audit_and_jobs(walk)
        await _usage(walk)
        await _shared_knowledge(walk)
        await walk.press("Sign out")
        await expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


async def _policy(walk: Walk, hers: Walk) -> None:
    switch = walk.page.get_by_role("switch", name="Allow agent-specific memory")
    await walk.go("/admin")
    for table in await walk.page.get_by_text("As a table").all():
        await table.click()
    await walk.stop("overview")
    await switch.click()
    await expect(switch).to_have_attribute("aria-checked", "false")
    await hers.go(f"/people/{walk.world.ada.id}/agents")
    for one in await hers.page.get_by_role("switch").all():
        await expect(one).to_be_disabled()
    await expect(hers.page.get_by_text("Contact your administrator").first).to_be_visible()
    await hers.stop("agents")
    await switch.click()
    await expect(switch).to_have_attribute("aria-checked", "true")


async def _people(walk: Walk) -> None:
    page, ada, bob = walk.page, walk.world.ada, walk.world.bob
    await walk.go("/admin/people")
    await page.get_by_label("Part of a name or id").fill("184")
    await walk.press("Find")
    await expect(page.locator(".count")).to_contain_text("1 person found.")
    await walk.press("Sign-in link for Ada")
    link = page.locator("#sign-in-link")
    await expect(link).to_contain_text("/welcome?token=")
    address = await link.inner_text()
    await link.evaluate("one => { one.textContent = 'https://…/welcome?token=…'; }")
    await walk.stop("sign-in-link")
    await page.goto(address)
    await walk.stop("welcome")
    await walk.go("/admin/people?name=184")
    await page.get_by_role("link", name="Ada").click()
    await page.get_by_text("Link a platform").click()
    await page.get_by_label("Platform").fill("telegram")
    await page.get_by_label("Id there").fill("7")
    await walk.press("Link", exact=True)
    await expect(page.get_by_role("heading", name="Merge Bob into Ada")).to_be_visible()
    await walk.stop("merge-preview")
    await walk.press("Merge")
    await walk.said("The two are one person now")
    await walk.stop("merged")
    await walk.press("Undo", walk.status)
    await walk.said("They are two people again.")
    await page.get_by_text("Link a platform").click()
    await page.get_by_label("Platform").fill("matrix")
    await page.get_by_label("Id there").fill("@ada")
    await walk.press("Link", exact=True)
    await walk.press("Unlink matrix")
    await walk.said("The link on matrix is removed.")
    assert rows("SELECT merged_into FROM users WHERE id IN (%s, %s)", ada.id, bob.id) == [
        (None,),
        (None,),
    ]


async def _agents_and_keys(walk: Walk) -> None:
    page = walk.page
    await walk.go("/admin/agents/new")
    await page.get_by_label("Name").fill("Scribe")
    await page.get_by_label("Global").check()
    await walk.press("Add")
    await walk.said("Scribe is created.")
    await page.get_by_role("link", name="Scribe").click()
    await page.get_by_text("Retire this agent").click()
    await walk.stop("agent")
    await walk.press("Retire Scribe")
    await walk.said("Scribe is retired.")
    await walk.go("/admin/keys")
    await page.get_by_label("Name").fill("phone")
    await page.get_by_label("Role", exact=True).select_option("user")
    await walk.press("Create a key")
    await expect(page.locator("#wrong-user_id")).to_be_visible()
    await walk.stop("key-refused")
    await page.get_by_label("Person").fill("discord:1844")
    await expect(page.locator(".options li")).to_have_count(1)
    await page.locator(".options li").click()
    await walk.press("Create a key")
    await expect(page.locator("#secret")).to_contain_text("rmb_")
    await page.locator("#secret").evaluate("one => { one.textContent = 'rmb_…'; }")
    await walk.stop("key-made")
    await walk.press("Revoke phone")
    await walk.said("The key phone is revoked.")


async def _audit_and_jobs(walk: Walk) -> None:
    page = walk.page
    await walk.go("/admin/audit")
    await page.get_by_label("What").select_option("session")
    await walk.press("Filter")
    first = page.locator("details.visit").first
    await expect(first.locator("summary")).to_contain_text("session started")
    await first.locator("summary").focus()
    await page.keyboard.press("Enter")
    await expect(first.locator("tbody tr").first).to_contain_text("session.start")
    await walk.stop("audit-sessions")
    await walk.go(f"/people/{walk.world.ada.id}/agents")
    await walk.go("/admin/audit")
    await page.get_by_label("Person").fill("Ada")
    await walk.press("Filter")
    await expect(first.locator("summary")).to_contain_text("about Ada")
    await walk.stop("audit-of-ada")
    job = rows("SELECT jobs.enqueue('none', 'none', 'none:1', '{}')")[0][0]
    rows("UPDATE jobs.procrastinate_jobs SET status = 'failed' WHERE id = %s", job)
    await walk.go("/admin/jobs")
    await page.get_by_role("link", name=re.compile("Failed")).click()
    await walk.stop("jobs-failed")
    await walk.press(f"Retry job {job}")
    await walk.said("The job is queued.")


async def _usage(walk: Walk) -> None:
    page, pantry = walk.page, walk.world.agents["Pantry"]
    memories = walk.world.memory.memories
    await memories.recall(as_actor(walk.world.ada, pantry), RecallQuery(query="tea"))
    await walk.go("/admin/usage")
    await page.get_by_label("Period").select_option("7")
    await walk.press("Show")
    await expect(page.get_by_role("img", name="Recalls, a column a day")).to_be_visible()
    await page.get_by_text("As a table: Recalls").click()
    await walk.stop("usage")
    await page.get_by_role("link", name="Pantry").click()
    chosen = page.get_by_role("combobox", name="Agent")
    await expect(chosen).to_have_value(str(pantry.id))
    await walk.stop("usage-of-pantry")


async def _shared_knowledge(walk: Walk) -> None:
    page, words = walk.page, "The kitchen closes at nine."
    await walk.go("/admin/shared")
    await page.get_by_role("link", name="Add").first.click()
    await page.get_by_label("What everybody may know").fill(words)
    await walk.press("Add for everybody")
    await walk.said("Added for everybody.")
    await page.keyboard.press("/")
    await page.keyboard.type("closing kitchen", delay=60)
    await expect(page.locator("mark").first).to_have_text("kitchen")
    await walk.stop("shared-search")
    await walk.press("Forget for everybody")
    await walk.said("Forgotten for everybody.")
    await walk.press("Undo", walk.status)
    await walk.said("Restored for everybody.")
    await walk.stop("shared-restored")
