"""What is wrong with a page as it is seen, by eye or by screen reader."""

from typing import Any

from axe_playwright_python.base import AXE_SCRIPT
from fastapi import FastAPI, Response
from playwright.async_api import Page
from starlette.routing import Route

PATH = "/axe.js"

TOO_WIDE = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"


def serve_axe(app: FastAPI) -> None:
    """Let the server have the script, which a browser then compiles once and not for each page."""
    headers = {"Cache-Control": "public, max-age=31536000, immutable"}
    script = Response(AXE_SCRIPT, media_type="text/javascript", headers=headers)
    # Before the pages, which answer for every other path.
    app.router.routes.insert(0, Route(PATH, lambda _: script))


async def findings(page: Page) -> list[str]:
    """What axe finds serious or critical."""
    await page.wait_for_load_state()
    if not await page.evaluate("() => 'axe' in window"):
        await page.add_script_tag(url=PATH)
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
