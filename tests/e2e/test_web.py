"""The pages over HTTP: who may see them, what they change, and what they are made of."""

import re
from typing import Any
from uuid import uuid4

import html_pages
import httpx2
import pytest
from helpers import ADMIN, audit_lines, rows
from pages import CORPUS, Browser, World, base, secret_of, signed_in, vandalised, visitor

from remembrancer import AuditFilter, PlaceCreate, Remembrancer, SpaceCreate, as_actor
from remembrancer.access import Role
from remembrancer.keys.schemas import KeyCreate
from remembrancer.web import routes
from remembrancer.web.pages import POLICY

XSS = (
    "<script>alert(1)</script><img src=x onerror=alert(1)>\"'><svg onload=alert(1)>"
    "</textarea></title></style>{{ 1009*9973 }}${1009*9973} javascript:alert(1) &lt;b&gt; \u202e"
)


# Signing in ----------------------------------------------------------------------------


async def test_a_person_signs_in_with_their_key_and_out_again(app: Any, world: World) -> None:
    """The cookie is for this site alone and no script's; after signing out it opens nothing."""
    client = await visitor(app)
    async with client:
        assert (await client.get("/")).status_code == 401
        wrong = await client.post("/signin", data={"key": "rmb_nobody"})
        assert wrong.status_code == 401
        assert "unknown, expired or revoked" in wrong.text
        secret = await secret_of(world.memory, world.ada)
        inside = await client.post("/signin", data={"key": secret, "next": "/"})
        cookie = inside.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "samesite=strict" in cookie.lower()
        assert "secure" not in cookie.lower()
        home = await client.get("/", follow_redirects=True)
        assert home.url.path == base(world)
        token = re.search(r'name="token" value="([^"]+)"', home.text)
        assert token
        assert (await client.post("/signout", data={"token": "x"})).status_code == 403
        kept = client.cookies["remembrancer_session"]
        assert (await client.post("/signout", data={"token": token[1]})).status_code == 303
        client.cookies.set("remembrancer_session", kept)
        assert (await client.get(f"{base(world)}/memories")).status_code == 401


async def test_who_comes_and_goes_is_in_the_audit_log(app: Any, world: World) -> None:
    """Signing in by key or link, being refused, and signing out; never the secret."""
    secret = await secret_of(world.memory, world.ada)
    keys = (await world.memory.keys.list(ADMIN)).items
    [key] = [key for key in keys if key.user_id == world.ada.id]
    async with await visitor(app) as client:
        await client.post("/signin", data={"key": "rmb_nobody"})
        await client.get("/login?token=nothing")
        inside = await client.post("/signin", data={"key": secret}, follow_redirects=True)
        token = re.search(r'name="token" value="([^"]+)"', inside.text)
        assert token
        await client.post("/signout", data={"token": token[1]})
        await world.memory.keys.revoke(ADMIN, key.id)
        await client.post("/signin", data={"key": secret})
        await client.get(f"/login?token={await world.memory.sign_ins.link(ADMIN)}")
    lines = [line for line in audit_lines() if line.action.startswith("session.")]
    told = [(line.action, line.outcome, line.actor_role, line.actor_user_id) for line in lines]
    assert told == [
        ("session.start", "refused", "user", None),
        ("session.start", "refused", "user", None),
        ("session.start", "done", "user", world.ada.id),
        ("session.end", "done", "user", world.ada.id),
        ("session.start", "refused", "user", world.ada.id),
        ("session.start", "done", "admin", None),
    ]
    named = [line.target_ids for line in lines]
    assert named == [[], [], [str(key.id)], [str(key.id)], [str(key.id)], []]
    assert {line.entry_point for line in lines} == {"web"}
    own = await world.memory.audit.list(as_actor(world.ada), AuditFilter(action="session"))
    assert [line.outcome for line in own.items] == ["refused", "done", "done"]


async def test_off_this_machine_the_cookie_is_for_https_alone(app: Any, world: World) -> None:
    """Served under another name, the cookie is Secure, and plain HTTP is explained."""
    secret = await secret_of(world.memory, world.ada)
    transport = httpx2.ASGITransport(app=app)
    async with httpx2.AsyncClient(
        transport=transport, base_url="http://memory.example", headers={"Accept": "text/html"}
    ) as client:
        assert "will not keep a session" in (await client.get("/signin")).text
        answer = await client.post("/signin", data={"key": secret})
        assert "secure" in answer.headers["set-cookie"].lower()


@pytest.mark.parametrize(
    "to", ["//evil.example", "https://evil.example", "/\\evil.example", "evil", "/\t/evil.example"]
)
async def test_signing_in_leads_to_no_other_site(app: Any, world: World, to: str) -> None:
    """Where to go afterwards is a path of this server, whatever was asked for."""
    async with await visitor(app) as client:
        form = {"key": await secret_of(world.memory, world.ada), "next": to}
        assert (await client.post("/signin", data=form)).headers["location"] == "/"


async def test_a_service_key_signs_nobody_in(app: Any, world: World) -> None:
    """A service acts for everybody, and is no person."""
    key = KeyCreate(name="bot", role=Role.SERVICE)
    secret = (await world.memory.keys.create(ADMIN, key)).secret
    async with await visitor(app) as client:
        assert (await client.post("/signin", data={"key": secret})).status_code == 403


async def test_a_revoked_key_ends_its_sessions(
    app: Any, world: World, ada_there: Browser, admin_there: Browser
) -> None:
    """From the next request on, without waiting for the session to end."""
    keys = (await world.memory.keys.list(ADMIN)).items
    [own] = [key for key in keys if key.user_id == world.ada.id]
    await admin_there.get("/admin/keys")
    await admin_there.post(f"/admin/keys/{own.id}/revoke")
    await ada_there.get(f"{base(world)}/memories", 401)


async def test_another_site_signs_nobody_in(app: Any, world: World) -> None:
    """A form that the browser says comes from elsewhere is refused."""
    async with await visitor(app) as client:
        form = {"key": await secret_of(world.memory, world.ada)}
        answer = await client.post("/signin", data=form, headers={"Sec-Fetch-Site": "cross-site"})
        assert answer.status_code == 403
        assert "set-cookie" not in answer.headers


# Who may see what ----------------------------------------------------------------------


async def test_every_page_is_valid_and_carries_the_policy(
    world: World, ada_there: Browser, admin_there: Browser
) -> None:
    """HTML without errors, labels, ids and references that fit, nothing inline that runs."""
    for browser, paths in (
        (ada_there, world.pages_of_ada),
        (admin_there, [*world.pages_of_ada, *world.pages_of_admins]),
    ):
        for path in paths:
            status = 422 if path.endswith("?query=") else 200
            response = await browser.client.get(path)
            assert response.status_code == status, (path, response.text[:1000])
            assert response.headers["content-security-policy"] == POLICY
            assert response.headers["cache-control"] == "no-store"
            try:
                html_pages.check(response.text)
            except AssertionError as error:
                raise AssertionError(path) from error
    assert "unsafe" not in POLICY


async def test_pages_for_admins_are_for_nobody_else(world: World, ada_there: Browser) -> None:
    """A user who knows the address is refused, and has no link there."""
    page = await ada_there.get(f"{base(world)}/memories")
    assert "/admin" not in page
    for path in world.pages_of_admins:
        await ada_there.get(path, 403)


async def test_a_changed_id_in_an_address_finds_nothing(world: World, ada_there: Browser) -> None:
    """Another person, their memory or conversation under one's own, what is nobody's: 404."""
    mine, bobs = base(world), f"/people/{world.bob.id}"
    for path in world.pages_of_ada:
        await ada_there.get(path.replace(mine, bobs), 404)
        await ada_there.get(path.replace(mine, f"/people/{uuid4()}"), 404)
        await ada_there.get(path.replace(mine, "/people/x"), 404)
    for path in (
        f"{mine}/memories/{world.bobs}",
        f"{mine}/memories/{world.bobs}/edit",
        f"{mine}/memories/{world.bobs}/erase",
        f"{mine}/memories/zzzzzzzz",
        f"{mine}/graph/{world.bobs}",
        f"{mine}/conversations/{world.bobs_talk}",
        f"{mine}/conversations/{uuid4()}",
        f"{mine}/conversations/{world.talk}?message={uuid4()}",
        f"{mine}/agents/{uuid4()}/move",
        f"{mine}/playground?query=x&agent={uuid4()}",
        f"{mine}/memories?kept_for=x",
        f"{mine}/review/edit?memory_id={world.bobs}",
        f"{mine}/review/edit?memory_id={world.tea}",
        f"{mine}/review/edit",
        f"{mine}/places/{world.tea}/edit",
        f"{mine}/places/{world.bobs}/edit",
        f"{mine}/spaces/{uuid4()}",
        f"{mine}/spaces/x",
        "/nothing/here",
    ):
        page = await ada_there.get(path, 422 if path.endswith("=x") else 404)
        assert "geese" not in page
        html_pages.check(page if "<svg" not in page else ada_there.page)


def changes() -> list[str]:
    """The addresses of all forms."""
    return [route.path for route in _routes(routes.router) if "POST" in (route.methods or ())]


def _routes(router: Any) -> list[Any]:
    found = []
    for route in router.routes:
        inner = getattr(route, "original_router", None) or getattr(route, "routes", None)
        found += [route] if hasattr(route, "methods") and hasattr(route, "path") else []
        if not hasattr(route, "methods") and inner is not None:
            found += _routes(inner if hasattr(inner, "routes") else route)
    return found


def _filled(path: str, **ids: Any) -> str:
    return re.sub(r"\{(\w+)\}", lambda match: str(ids[match[1]]), path)


async def test_no_form_changes_anything_without_its_token(
    app: Any, world: World, ada_there: Browser, admin_there: Browser
) -> None:
    """Every address that takes a form refuses one without the session's token, and foreign ones."""
    ids = {
        "user_id": world.ada.id, "memory_id": world.tea, "agent_id": world.agents["Pantry"].id,
        "undo_id": uuid4(), "job_id": 1, "space_id": world.space,
        "member_id": world.bob.id, "conversation_id": world.talk, "message_id": uuid4(),
        "number": 1, "key_id": uuid4(), "upload_id": uuid4(), "filter_id": uuid4(),
        "workspace": "tenant",
    }  # fmt: skip
    before = rows("SELECT count(*), max(updated_at) FROM memories")
    paths = [path for path in changes() if path not in {"/signin", "/welcome"}]
    assert len(paths) >= 42
    for path in paths:
        for browser, other in ((ada_there, admin_there), (admin_there, ada_there)):
            for token in ({}, {"token": ""}, {"token": "é"}, {"token": other.token}):
                where = _filled(path, **ids)
                answer = await browser.client.post(where, data=token)
                assert answer.status_code == 403, (path, token, answer.status_code, answer.text)
            crossing = {"Sec-Fetch-Site": "cross-site"}
            right = {"token": browser.token}
            answer = await browser.client.post(where, data=right, headers=crossing)
            assert answer.status_code == 403, path
            answer = await browser.client.post(where, content=b"token=%ff%fe")
            assert answer.status_code == 422, path
    assert rows("SELECT count(*), max(updated_at) FROM memories") == before
    nobody = await visitor(app)
    async with nobody:
        for path in set(paths) - {"/language"}:  # it changes the visitor's own cookie alone
            assert (await nobody.post(_filled(path, **ids))).status_code in {401, 403}, path


async def test_no_form_reaches_another_persons_data(
    app: Any, world: World, ada_there: Browser
) -> None:
    """With the right token and a changed id, every form finds nothing, and nothing changes."""
    his = as_actor(world.bob)
    boat = await world.memory.spaces.create(his, SpaceCreate(name="Bob's boat"))
    pier = await world.memory.places.add(his, PlaceCreate(place_id="pier", place_name="Pier"))
    stored = "SELECT id, content, status, pinned, space_id FROM memories ORDER BY id"
    before = rows(stored)
    ids = {
        "agent_id": world.agents["Pantry"].id, "undo_id": uuid4(), "space_id": boat.id,
        "member_id": world.bob.id, "conversation_id": world.bobs_talk, "message_id": uuid4(),
        "number": 1, "key_id": uuid4(), "upload_id": uuid4(), "filter_id": uuid4(),
    }  # fmt: skip
    filled = {
        "content": "Mine", "scope": "agent", "to": "global", "what": "everything",
        "confirmation": "erase everything", "platform": "x", "platform_user_id": "1",
        "display_name": "Eve", "other": str(world.ada.id), "name": "Eve's", "role": "member",
        "user_id": str(world.ada.id), "decision": "confirm", "memory_id": world.bobs,
        "place_name": "Mine", "document": "{}", "invitee": "discord:nobody",
    }  # fmt: skip
    for path in changes():
        if not path.startswith("/people"):
            continue
        foreign = _filled(path, user_id=world.bob.id, memory_id=world.bobs, **ids)
        await ada_there.post(foreign, 404, **filled)
        for memory_id in (world.bobs, pier.place.memory_id):
            if any(f"{{{kind}_id}}" in path for kind in ("memory", "space", "conversation")):
                crossed = _filled(path, user_id=world.ada.id, memory_id=memory_id, **ids)
                await ada_there.post(crossed, 404, **filled)
    # And where the id is not in the address but in a field.
    mine, hers = base(world), world.tea
    for path, fields in (
        ("review", {"decision": "confirm", "memory_id": world.bobs}),
        ("review", {"one": f"reject:{world.bobs}"}),
        ("memories/forget", {"memory_id": world.bobs}),
        ("review/edit", {"memory_id": world.bobs, f"content-{world.bobs}": "Mine"}),
        (f"memories/{hers}/share", {"space_id": str(boat.id)}),
        ("memories", {"content": "Mine", "space_id": str(boat.id)}),
        ("memories", {"content": "Mine", "agent_id": str(uuid4())}),
        ("places", {"place_name": "Mine", "agent_id": str(uuid4())}),
        (f"spaces/{world.space}/members/{uuid4()}", {"role": "owner"}),
        (f"spaces/{world.space}/members/{uuid4()}/remove", {}),
    ):
        await ada_there.post(f"{mine}/{path}", 404, **fields)
    assert rows(stored) == before
    assert any(line.outcome == "refused" and line.entry_point == "web" for line in audit_lines())


async def test_a_user_cannot_do_what_is_for_admins(
    app: Any, world: World, ada_there: Browser
) -> None:
    """Links and merges of oneself, keys, policy, agents, jobs: refused."""
    ids = {"user_id": world.ada.id, "agent_id": world.agents["Pantry"].id, "key_id": uuid4()}
    filled = {"platform": "x", "platform_user_id": "1", "other": str(world.bob.id), "allow": "true"}
    filled |= {"name": "x", "role": "admin", "display_name": "x"}
    for path in changes():
        if path.startswith("/admin") or "/links" in path or "/merge" in path:
            where = _filled(
                path, undo_id=uuid4(), job_id=1, memory_id="M1", workspace="tenant", **ids
            )
            await ada_there.post(where, 403, **filled)


async def test_hostile_text_is_shown_and_never_runs(app: Any, memory: Remembrancer) -> None:
    """Markup in every text field stays text on every page, for the person and for an admin."""
    world = await vandalised(memory)
    key = KeyCreate(name=XSS[:190].replace("\u202e", ""), role=Role.ADMIN)
    await memory.keys.create(ADMIN, key)
    ada = await signed_in(app, await secret_of(memory, world.ada))
    admin = await signed_in(app, await secret_of(memory))
    shown: set[str] = set()
    for browser, paths in (
        (ada, world.pages_of_ada),
        (admin, [*world.pages_of_ada, *world.pages_of_admins]),
    ):
        for path in paths:
            response = await browser.client.get(path)
            parsed = html_pages.check(response.text)
            text = "".join(parsed.itertext())
            shown |= {one for one in CORPUS if one in text}
            assert str(1009 * 9973) not in text
    assert shown == set(CORPUS)
    await ada.client.aclose()
    await admin.client.aclose()


async def test_hostile_text_in_an_address_or_form_comes_back_as_text(
    world: World, ada_there: Browser
) -> None:
    """What was typed is in the form again, and runs nowhere."""
    for path in (
        f"{base(world)}/memories?text={XSS[:150]}",
        f"{base(world)}/playground?query={XSS}",
        f"{base(world)}/memories?kind={XSS}",
        f"{base(world)}/memories?cursor={XSS}",
        f"{base(world)}/{XSS}",
    ):
        html_pages.check((await ada_there.client.get(path)).text)
    answer = await ada_there.client.post(
        f"{base(world)}/memories",
        data={"token": ada_there.token, "content": XSS, "importance": "1000", "subject": XSS},
    )
    assert answer.status_code == 422
    parsed = html_pages.check(answer.text)
    assert "<script>alert(1)" in parsed.find(".//textarea").text
