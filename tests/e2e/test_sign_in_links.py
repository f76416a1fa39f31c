"""Sign-in links of people: made by an admin in two clicks, used once."""

import re
from typing import Any

import html_pages
from pages import Browser, World, base, browsing, visitor


async def test_an_admin_makes_a_link_that_signs_a_person_in_once(
    app: Any, world: World, admin_there: Browser
) -> None:
    """Looking at the link uses nothing up; the second press finds it used."""
    page = await admin_there.get("/admin/people")
    assert f"/people/{world.ada.id}/sign-in-link" in page
    page = await admin_there.post(f"{base(world)}/sign-in-link")
    html_pages.check(admin_there.page)
    link = re.search(r"/welcome\?token=([\w-]+)", page)
    assert link
    async with await visitor(app) as client:
        for _ in range(3):
            looked = await client.get(link[0])
            assert looked.status_code == 200
            assert "set-cookie" not in looked.headers
            html_pages.check(looked.text)
        inside = await client.post("/welcome", data={"token": link[1]}, follow_redirects=True)
        assert inside.url.path == base(world)
        assert (await client.get("/admin")).status_code == 403
    async with await visitor(app) as other:
        again = await other.post("/welcome", data={"token": link[1]})
        assert again.status_code == 401
        assert "set-cookie" not in again.headers
        crossing = {"Sec-Fetch-Site": "cross-site"}
        assert (await other.post("/welcome", data={}, headers=crossing)).status_code == 403


async def test_nobody_else_makes_a_link(app: Any, world: World, ada_there: Browser) -> None:
    """Not for oneself either, and not for others."""
    await ada_there.post(f"{base(world)}/sign-in-link", 403)
    await ada_there.post(f"/people/{world.bob.id}/sign-in-link", 404)
    async with browsing(app, world.memory, world.bob, f"/people/{world.bob.id}/spaces") as bob:
        await bob.post(f"{base(world)}/sign-in-link", 404)
