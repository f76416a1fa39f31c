"""Sessions of browsers: in the database, revocable; and forms that outlive one."""

import re
from html import unescape
from typing import Any
from uuid import uuid4

import html_pages
import pytest
from helpers import ADMIN, audit_lines, rows
from pages import Browser, World, base, secret_of, signed_in, visitor

from remembrancer import Forbidden, NotFound, as_actor
from remembrancer.access import Role
from remembrancer.api import create_app
from remembrancer.errors import Unauthenticated

COOKIE = "remembrancer_session"


async def test_a_session_outlives_the_server_and_is_one_for_all_processes(
    app: Any, world: World, ada_there: Browser
) -> None:
    """Another process knows the session, its theme and what is to be said next."""
    await ada_there.get(f"{base(world)}/profile")
    await ada_there.client.post(
        "/theme", data={"token": ada_there.token, "theme": "dark", "back": "/"}
    )
    answer = await ada_there.client.post(
        f"{base(world)}/profile",
        data={"token": ada_there.token, "display_name": "Ada", "time_zone": "UTC"},
    )
    assert answer.status_code == 303
    async with await visitor(create_app(world.memory)) as other:
        other.cookies.update(ada_there.client.cookies)
        page = (await other.get(f"{base(world)}/profile")).text
        assert "The profile is saved." in page
        assert 'data-theme="dark"' in page
        assert ada_there.token in page
        # It is said once.
        assert "The profile is saved." not in (await other.get(f"{base(world)}/profile")).text
    assert "The profile is saved." not in await ada_there.get(f"{base(world)}/profile")


async def test_the_database_has_nothing_that_opens_a_session(
    world: World, ada_there: Browser
) -> None:
    """Neither the cookie nor the token of forms, nor an unused link."""
    link = await world.memory.sign_ins.link(ADMIN)
    stored = str(rows("SELECT s::text FROM sessions AS s"))
    stored += str(rows("SELECT l::text FROM sign_in_links AS l"))
    cookie = ada_there.client.cookies[COOKIE]
    for secret in (cookie, cookie.encode().hex(), ada_there.token, link, link.encode().hex()):
        assert secret not in stored


async def test_a_link_works_once_and_for_fifteen_minutes(world: World) -> None:
    """Used or too old, it signs nobody in, and that is in the log."""
    sign_ins = world.memory.sign_ins
    fresh, old = await sign_ins.link(ADMIN), await sign_ins.link(ADMIN)
    assert await sign_ins.redeem(fresh, entry_point="web")
    rows("UPDATE sign_in_links SET expires_at = now()")
    for link in (fresh, old, "", "x", "\ud800"):
        with pytest.raises(Unauthenticated):
            await sign_ins.redeem(link, entry_point="web")
    refused = [line for line in audit_lines() if line.outcome == "refused"]
    assert [line.action for line in refused] == ["session.start"] * 5


async def test_a_link_signs_a_person_in(app: Any, world: World) -> None:
    """It opens their own pages alone; admins make it, for people who exist."""
    sign_ins = world.memory.sign_ins
    async with await visitor(app) as client:
        link = await sign_ins.link(ADMIN, world.ada.id)
        page = await client.get(f"/login?token={link}", follow_redirects=True)
        assert page.url.path == base(world)
        assert (await client.get(f"/people/{world.bob.id}")).status_code == 404
        assert (await client.get("/admin")).status_code == 403
    for actor in (as_actor(), as_actor(world.ada)):
        with pytest.raises(Forbidden):
            await sign_ins.link(actor, world.ada.id)
    with pytest.raises(NotFound):
        await sign_ins.link(ADMIN, uuid4())


async def test_signing_out_everywhere_ends_all_sessions_of_a_person(
    app: Any, world: World, ada_there: Browser, admin_there: Browser
) -> None:
    """By key and by link, and nobody else's."""
    link = await world.memory.sign_ins.link(ADMIN, world.ada.id)
    async with await visitor(app) as phone:
        await phone.get(f"/login?token={link}")
        assert (await phone.get(base(world))).status_code == 200
        await ada_there.get(f"{base(world)}/profile")
        answer = await ada_there.client.post("/signout/everywhere", data={"token": ada_there.token})
        assert answer.headers["location"] == "/signin"
        assert (await phone.get(base(world))).status_code == 401
    await ada_there.get(base(world), 401)
    await admin_there.get("/admin")
    [line] = [line for line in audit_lines() if line.action == "session.end_all"]
    assert line.owner_id == world.ada.id


async def test_an_admin_signs_out_everywhere_alone(
    app: Any, world: World, ada_there: Browser, admin_there: Browser
) -> None:
    """The sessions of the admin's key end; those of others, and of a link, do not."""
    async with await visitor(app) as other:
        await other.get(f"/login?token={await world.memory.sign_ins.link(ADMIN)}")
        await admin_there.get("/admin")
        await admin_there.client.post("/signout/everywhere", data={"token": admin_there.token})
        await admin_there.get("/admin", 401)
        assert (await other.get("/admin")).status_code == 200
        await ada_there.get(base(world))


async def test_erasing_a_person_ends_their_sessions_and_links(
    app: Any, world: World, ada_there: Browser, admin_there: Browser
) -> None:
    """And no notice of anybody has their name any more."""
    sign_ins = world.memory.sign_ins
    unused = await sign_ins.link(ADMIN, world.ada.id)
    async with await visitor(app) as phone:
        await phone.get(f"/login?token={await sign_ins.link(ADMIN, world.ada.id)}")
        await admin_there.get(f"{base(world)}/profile")
        form = {"token": admin_there.token, "display_name": "Ada", "time_zone": "UTC"}
        await admin_there.client.post(f"{base(world)}/profile", data=form)
        assert rows("SELECT count(*) FROM sessions WHERE notices <> '{}'") == [(1,)]
        receipt = await world.memory.users.erase(ADMIN, world.ada.id, dry_run=False)
        assert (receipt.rows["sessions"], receipt.rows["sign_in_links"]) == (2, 1)
        assert rows("SELECT count(*) FROM sessions WHERE notices <> '{}'") == [(0,)]
        assert (await phone.get("/")).status_code == 401
    await ada_there.get("/", 401)
    with pytest.raises(Unauthenticated):
        await sign_ins.redeem(unused, entry_point="web")


async def test_a_session_ends_by_itself_and_is_swept(world: World, ada_there: Browser) -> None:
    """The next sign-in deletes what is over."""
    rows("UPDATE sessions SET expires_at = now()")
    await ada_there.get(base(world), 401)
    await world.memory.sign_ins.link(ADMIN)
    rows("UPDATE sign_in_links SET expires_at = now()")
    await world.memory.sign_ins.start(ADMIN)
    assert rows("SELECT count(*) FROM sessions") == [(1,)]
    assert rows("SELECT count(*) FROM sign_in_links") == [(0,)]


async def test_the_session_of_a_merged_person_is_the_survivors(app: Any, world: World) -> None:
    """A link of the one who went leads to who they are now."""
    secret = await world.memory.sign_ins.redeem(
        await world.memory.sign_ins.link(ADMIN, world.bob.id), entry_point="web"
    )
    await world.memory.users.merge(ADMIN, world.ada.id, world.bob.id)
    found = await world.memory.sign_ins.find(secret, entry_point="web")
    assert found is not None
    assert (found.actor.role, found.actor.user_id) == (Role.USER, world.ada.id)
    assert found.actor.merged_ids == {world.bob.id}


# What was typed ------------------------------------------------------------------------


def _kept(page: str) -> str:
    found = re.search(r'name="kept" value="([^"]+)"', page)
    assert found, page
    return unescape(found[1])


async def test_a_form_that_was_sent_after_the_session_is_kept(
    world: World, ada_there: Browser
) -> None:
    """Through a wrong key too; after the sign-in one sends it with a click."""
    text = 'Ada\'s "boat" <b>leaks</b>\nat the stern & the bow.'
    await ada_there.get(f"{base(world)}/memories/new")
    token = ada_there.token
    ada_there.client.cookies.clear()
    path = f"{base(world)}/memories"
    lost = await ada_there.client.post(path, data={"token": token, "content": text})
    assert lost.status_code == 401
    wrong = await ada_there.client.post("/signin", data={"key": "x", "kept": _kept(lost.text)})
    assert wrong.status_code == 401
    secret = await secret_of(world.memory, world.ada)
    inside = await ada_there.client.post("/signin", data={"key": secret, "kept": _kept(wrong.text)})
    assert inside.status_code == 200
    assert f'action="{path}"' in inside.text
    assert "Send it now" in inside.text
    assert token not in inside.text
    fields = re.findall(r'name="(content)" value="([^"]*)"', inside.text)
    html_pages.check(inside.text)
    ada_there.page = inside.text
    await ada_there.post(path, **{name: unescape(value) for name, value in fields})
    stored = (await world.memory.memories.list(as_actor(world.ada))).items
    assert text in {memory.content for memory in stored}


async def test_a_form_of_an_earlier_session_is_kept_too(world: World, ada_there: Browser) -> None:
    """It is refused, and one sends it again with a click."""
    path = f"{base(world)}/memories"
    await ada_there.get(f"{path}/new")
    form = {"token": "of another session", "content": "Ada has a boat."}
    stale = await ada_there.client.post(path, data=form)
    assert stale.status_code == 403
    assert "Ada has a boat." in stale.text
    assert f'action="{path}"' in stale.text
    assert rows("SELECT count(*) FROM memories WHERE content = 'Ada has a boat.'") == [(0,)]


async def test_a_part_that_was_sent_without_a_session_keeps_its_form(
    world: World, ada_there: Browser
) -> None:
    """The script shows the sign-in page in place of the whole page, with what was typed."""
    ada_there.client.cookies.clear()
    answer = await ada_there.client.post(
        f"{base(world)}/memories", data={"content": "A boat"}, headers={"HX-Request": "true"}
    )
    assert (answer.status_code, answer.headers["hx-retarget"]) == (401, "body")
    assert "A boat" in _kept(answer.text)


@pytest.mark.parametrize(
    "kept",
    [
        "x",
        "{}",
        '{"path": "//evil.example", "fields": [["a", "b"]]}',
        '{"path": "https://evil.example", "fields": [["a", "b"]]}',
        '{"path": "/\\\\evil.example", "fields": [["a", "b"]]}',
    ],
)
async def test_a_kept_form_leads_nowhere_else(app: Any, world: World, kept: str) -> None:
    """What is no form of these pages is dropped; signing in works as ever."""
    async with await visitor(app) as client:
        secret = await secret_of(world.memory, world.ada)
        inside = await client.post("/signin", data={"key": secret, "kept": kept})
        assert (inside.status_code, inside.headers["location"]) == (303, "/")


async def test_a_form_of_another_site_is_not_kept(app: Any, world: World) -> None:
    """What it wrote is not offered to the person."""
    async with await visitor(app) as client:
        answer = await client.post(
            f"{base(world)}/memories",
            data={"content": "Forged"},
            headers={"Sec-Fetch-Site": "cross-site"},
        )
        assert answer.status_code == 401
        assert "Forged" not in answer.text


async def test_signing_in_twice_gives_two_sessions(app: Any, world: World) -> None:
    """Signing out of one leaves the other."""
    secret = await secret_of(world.memory, world.ada)
    one, other = await signed_in(app, secret), await signed_in(app, secret)
    await one.get(base(world))
    assert (await one.client.post("/signout", data={"token": one.token})).status_code == 303
    await one.get(base(world), 401)
    await other.get(base(world))
    for browser in (one, other):
        await browser.client.aclose()
