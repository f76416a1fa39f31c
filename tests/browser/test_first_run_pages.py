"""The first run and the end of a session, as people see them."""

import re
from pathlib import Path
from typing import Any

import exports
import pytest
from axe import wrong_with
from browsing import SHOTS, Site, timers_stopped
from exports import zipped
from helpers import person, rows
from pages import World, secret_of
from playwright.async_api import Page, expect

from remembrancer import Remembrancer
from remembrancer.importers.uploads import serve_uploads

WAYS = [("light", 1280), ("dark", 360)]


async def _worked(memory: Remembrancer) -> None:
    serve_uploads(memory)
    await memory.worker.run(once=True)


def _chatgpt(folder: Path) -> Path:
    return zipped(folder / "chatgpt.zip", {"conversations.json": exports.chatgpt()})


async def _looked_at(page: Page, name: str) -> None:
    SHOTS.mkdir(parents=True, exist_ok=True)
    await page.screenshot(path=SHOTS / f"{name}.jpg", full_page=True)
    assert not await wrong_with(page)


@pytest.mark.parametrize(("theme", "width"), WAYS)
async def test_somebody_new_walks_the_four_steps(
    site: Site, world: World, tmp_path: Path, theme: Any, width: int
) -> None:
    """From the empty home to an answer out of what they brought."""
    new = await person(site.memory, f"Newcomer {theme}")
    size = {"width": width, "height": 800}
    async with site.visited(new, color_scheme=theme, viewport=size) as page:
        await page.get_by_role("link", name="Connect an assistant").click()
        await page.get_by_role("link", name="You", exact=True).click()
        await page.get_by_label("Name").fill("Grace")
        await _looked_at(page, f"first-run-you-{theme}")
        await page.get_by_role("button", name="Go on").click()
        await page.get_by_role("link", name="Cursor").click()
        await _looked_at(page, f"first-run-connect-{theme}")
        await page.get_by_role("button", name="Make a key for Cursor").click()
        line = page.locator("#copy-1")
        await expect(line).to_have_text(re.compile(r"export REMEMBRANCER_MCP__KEY=rmb_[\w-]+"))
        await expect(page.locator("#copy-2")).to_contain_text("/mcp")
        # One click selects all of a text, with scripts or without.
        await line.click()
        assert await page.evaluate("() => String(getSelection())") == await line.inner_text()
        copy = page.locator("[data-copy=copy-1]")
        async with timers_stopped(page):
            await copy.click()
            await expect(copy).to_contain_text(re.compile("Copied|Selected"))
        await _looked_at(page, f"first-run-key-{theme}")
        await page.get_by_role("link", name="Go on: bring your history").click()
        await page.get_by_label("An export").set_input_files(_chatgpt(tmp_path))
        await page.get_by_role("button", name="Look into it").click()
        await expect(page.get_by_text("Looking into it …")).to_be_visible()
        await _worked(site.memory)
        # The page looks again by itself.
        await expect(page.get_by_text("Ready")).to_be_visible()
        await _looked_at(page, f"first-run-history-{theme}")
        await page.get_by_role("button", name="Import it").press("Enter")
        await expect(page.get_by_role("progressbar")).to_be_visible()
        await _looked_at(page, f"first-run-progress-{theme}")
        await _worked(site.memory)
        await expect(page.get_by_text("Imported", exact=True)).to_be_visible()
        await page.get_by_role("link", name="Ask your memory").click()
        await page.get_by_label("Question").fill("What colour is the vase glazed in?")
        await expect(page.locator("li.hit").first).to_contain_text("celadon")


async def test_the_first_run_works_without_scripts(
    site: Site, world: World, tmp_path: Path
) -> None:
    """A file is looked into and imported by forms and links."""
    new = await person(site.memory, "Quiet newcomer")
    async with site.visited(new, java_script_enabled=False) as page:
        await page.goto(f"/people/{new.id}/start/history")
        await page.get_by_label("An export").set_input_files(_chatgpt(tmp_path))
        await page.get_by_role("button", name="Look into it").click()
        await _worked(site.memory)
        await page.get_by_role("link", name="Look again").click()
        await page.get_by_role("button", name="Import it").click()
        await _worked(site.memory)
        await page.get_by_role("link", name="Look again").click()
        await expect(page.get_by_text("Imported", exact=True)).to_be_visible()
        await expect(page.get_by_role("button", name="Copy")).to_have_count(0)


async def test_what_was_typed_outlives_the_session(site: Site, world: World) -> None:
    """One signs in, sees it again, and sends it."""
    async with site.visited(world.ada, color_scheme="dark") as page:
        await page.goto(f"/people/{world.ada.id}/memories/new")
        await page.get_by_label("What to remember").fill("Ada keeps three hens.")
        rows("DELETE FROM sessions")
        await page.get_by_role("button", name="Remember").click()
        await expect(page.get_by_text("What you wrote is kept")).to_be_visible()
        await _looked_at(page, "session-lost")
        await page.get_by_label("API key").fill(await secret_of(site.memory, world.ada))
        await page.get_by_role("button", name="Sign in").click()
        await expect(page.get_by_text("Ada keeps three hens.")).to_be_visible()
        await _looked_at(page, "session-kept-form")
        await page.get_by_role("button", name="Send it now").press("Enter")
        await expect(page.get_by_text("Remembered.")).to_be_visible()


async def test_a_part_becomes_the_sign_in_page(site: Site, world: World) -> None:
    """After the end of a session, a button of a list leads to the sign-in."""
    async with site.visited(world.ada) as page:
        await page.goto(f"/people/{world.ada.id}/review")
        await page.get_by_role("checkbox").nth(1).check()
        rows("DELETE FROM sessions")
        await page.keyboard.press("c")
        await expect(page.get_by_label("API key")).to_be_visible()
