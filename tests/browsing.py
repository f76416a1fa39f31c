"""A real browser before a real server: what the tests of pages are made with."""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest
from pages import secret_of
from playwright.async_api import Browser, ConsoleMessage, Page, expect

from remembrancer import Remembrancer, User

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""The first is the same browser without windows, which takes half the time for a page."""
SHOTS = Path(
    os.environ.get("REMEMBRANCER_TEST_SCREENSHOTS")
    or Path(__file__).parents[1] / "build" / "screenshots"
)

ENOUGH: Final = 60.0
"""Seconds in which a browser opens and closes a page, and in which a page does what it is to do."""

expect.set_options(timeout=1000 * ENOUGH)


def chromium() -> str:
    """The browser to use; without one, these tests are skipped, or fail where it must be there."""
    named = os.environ.get("REMEMBRANCER_TEST_CHROMIUM")
    found = named or next(filter(None, map(shutil.which, NAMES)), None)
    if found:
        return found
    missing = "no Chromium is installed, so the pages were not looked at"
    if os.environ.get("CI"):
        pytest.fail(missing)
    pytest.skip(missing)


@asynccontextmanager
async def timers_stopped(page: Page) -> AsyncIterator[None]:
    """Let a page take nothing back after a while, when a slow browser has not shown it yet."""
    await page.evaluate("() => { window.later = setTimeout; window.setTimeout = () => 0; }")
    yield
    await page.evaluate("() => { window.setTimeout = window.later; }")


@dataclass
class Watch:
    """What a page must never do, and did."""

    wrong: list[str] = field(default_factory=list)

    def over(self, page: Page) -> None:
        """Watch a page."""
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        page.on("dialog", self._dialog)

    def _console(self, message: ConsoleMessage) -> None:
        # An answer of 4xx is written there, too; whether it was wanted is for the test to say.
        is_answer = message.text.startswith(("Failed to load resource", "Response Status Error"))
        if message.type in {"error", "warning"} and not is_answer:
            self.wrong.append(f"console: {message.text}")

    async def _dialog(self, dialog: Any) -> None:
        self.wrong.append(f"dialog: {dialog.message}")
        await dialog.dismiss()


@dataclass(frozen=True)
class Site:
    """A server and a browser that can be at it as anybody."""

    address: str
    memory: Remembrancer
    browser: Browser
    watch: Watch

    @asynccontextmanager
    async def visited(self, who: User | None, **context: Any) -> AsyncIterator[Page]:
        """A page of somebody who has signed in, an admin if nobody is named."""
        secret = await secret_of(self.memory, who)
        async with self.opened(**context) as page:
            await page.goto("/signin")
            await page.get_by_label("API key").fill(secret)
            await page.get_by_role("button", name="Sign in").click()
            await page.get_by_role("button", name="Sign out").wait_for()
            # Before its scripts have run, a page does nothing for a key.
            await page.wait_for_load_state()
            yield page

    @asynccontextmanager
    async def opened(self, **context: Any) -> AsyncIterator[Page]:
        """A page of nobody in particular; what it must never do fails the test."""
        self.watch.wrong.clear()
        # Playwright itself waits for these as long as it takes.
        async with asyncio.timeout(ENOUGH):
            made = await self.browser.new_context(
                base_url=self.address, reduced_motion="reduce", **{"locale": "en-GB", **context}
            )
            made.set_default_timeout(1000 * ENOUGH)
            page = await made.new_page()
        self.watch.over(page)
        try:
            yield page
        finally:
            async with asyncio.timeout(ENOUGH):
                await made.close()
        assert not self.watch.wrong, self.watch.wrong
