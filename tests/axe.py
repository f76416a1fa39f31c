"""What is wrong with a page as it is seen, by eye or by screen reader."""

from typing import Any

from axe_playwright_python.base import AXE_SCRIPT
from playwright.async_api import Page

TOO_WIDE = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"


async def findings(page: Page) -> list[str]:
    """What axe finds serious or critical."""
    await page.evaluate(AXE_SCRIPT)
    found: Any = await page.evaluate("() => axe.run({resultTypes: ['violations']})")
    return [
        f"{one['id']} ({one['impact']}): {[node['html'][:200] for node in one['nodes'][:3]]}"
        for one in found["violations"]
        if one["impact"] in {"serious", "critical"}
    ]


async def wrong_with(page: Page) -> list[str]:
    """What is serious for axe, and how much of the page is beside the screen."""
    wrong = await findings(page)
    if (wide := await page.evaluate(TOO_WIDE)) > 0:
        wrong.append(f"{wide} pixels too wide")
    return wrong
