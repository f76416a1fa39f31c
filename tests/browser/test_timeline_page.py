"""The timeline in a browser: a slider over days, a date, a chart, and the same without scripts."""

import re
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from axe import wrong_with
from browsing import SHOTS, Site
from helpers import person, rows
from playwright.async_api import expect

from remembrancer import MemoryCreate, MemoryUpdate, User, as_actor

pytestmark = pytest.mark.usefixtures("one_day")


def _today() -> date:
    return datetime.now(UTC).date()


@pytest.fixture
async def lived(site: Site, one_day: None) -> User:
    """Somebody who learnt three things 30 days ago; 10 days later one changed and one went."""
    new = await person(site.memory, f"Long Time {uuid4()}")
    actor, ids = as_actor(new), []
    for content in ("The boat is called Heron.", "Home is in Riga.", "A parrot would be nice."):
        draft = MemoryCreate(content=content, allow_similar=True)
        ids.append((await site.memory.memories.remember(actor, draft)).memory.id)
    _set_back(ids, 10)
    await site.memory.memories.update(actor, ids[1], MemoryUpdate(content="Home is in Tartu."))
    await site.memory.memories.forget(actor, ids[2])
    _set_back(ids, 20)
    await site.memory.memories.remember(actor, MemoryCreate(content="Cello lessons began."))
    return new


def _set_back(ids: list[str], days: int) -> None:
    past = f"interval '{days} days'"
    rows(
        f"UPDATE memories SET created_at = created_at - {past},"
        f" forgotten_at = forgotten_at - {past} WHERE id = ANY (%s)",
        ids,
    )
    rows(
        f"UPDATE memory_versions SET recorded_at = recorded_at - {past},"
        f" superseded_at = superseded_at - {past} WHERE memory_id = ANY (%s)",
        ids,
    )


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 360)])
async def test_a_slider_goes_back_in_time(site: Site, lived: User, theme: Any, width: int) -> None:
    """What was known then in the words of then, and what came, changed and went since."""
    size = {"width": width, "height": 800}
    async with site.visited(lived, color_scheme=theme, viewport=size) as page:
        await page.goto(f"/people/{lived.id}/timeline")
        await expect(page.get_by_text("3 memories are known today")).to_be_visible()
        assert not await wrong_with(page)
        slider = page.get_by_role("slider", name="Day")
        await slider.focus()
        for _ in range(25):
            await page.keyboard.press("ArrowLeft")
        day = _today() - timedelta(days=25)
        await expect(page.get_by_label("What was known on")).to_have_value(day.isoformat())
        await expect(page.get_by_text("3 memories were known on")).to_be_visible()
        await expect(page.get_by_text("1 learnt, 1 changed, 1 forgotten: 3 today")).to_be_visible()
        then = page.get_by_role("region", name="Known then")
        await expect(then).to_contain_text("Home is in Riga.")
        await expect(then).to_contain_text("Forgotten since")
        changed = page.get_by_role("region", name="Changed since")
        await expect(changed.locator("ins")).to_have_text("Tartu")
        await expect(page.get_by_role("region", name="Learnt since")).to_contain_text("Cello")
        await expect(slider).to_be_focused()
        await page.wait_for_url(re.compile(f"as_of={day}"))
        assert not await wrong_with(page)
        SHOTS.mkdir(parents=True, exist_ok=True)
        await page.screenshot(path=SHOTS / f"timeline-{theme}-{width}.jpg", full_page=True)
        await page.get_by_label("What was known on").fill(_today().isoformat())
        await expect(page.get_by_text("3 memories are known today")).to_be_visible()
        await expect(slider).to_have_value("30")


async def test_the_chart_leads_to_its_days(site: Site, lived: User) -> None:
    """A column is a link to its day, and so is its row in the table."""
    async with site.visited(lived) as page:
        await page.goto(f"/people/{lived.id}/timeline")
        columns = page.locator(".over-time svg a")
        await expect(columns).to_have_count(31)
        await columns.nth(12).click(position={"x": 2, "y": 5})
        await expect(page.get_by_text("2 memories were known on")).to_be_visible()
        await page.get_by_text("As a table").click()
        await expect(page.locator(".over-time tbody tr")).to_have_count(3)
        await page.locator(".over-time tbody a").last.click()
        await expect(page.get_by_text("3 memories were known on")).to_be_visible()


async def test_the_timeline_works_without_scripts(site: Site, lived: User) -> None:
    """A date and a button; a day that is none is said beside it."""
    async with site.visited(lived, java_script_enabled=False) as page:
        await page.goto(f"/people/{lived.id}/timeline")
        await expect(page.get_by_role("slider")).to_be_hidden()
        day = _today() - timedelta(days=25)
        await page.get_by_label("What was known on").fill(day.isoformat())
        await page.get_by_role("button", name="Show").click()
        await expect(page.get_by_text("3 memories were known on")).to_be_visible()
        await page.goto(f"/people/{lived.id}/timeline?as_of=yesterday")
        await expect(page.get_by_role("alert")).to_contain_text("must be a date")
