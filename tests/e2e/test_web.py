"""The pages over HTTP: who may see them, what they change, and what they are made of."""

import re
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import httpx2
import markup
import pytest
from pages import Browser, World, peopled, secret_of
from support import ADMIN, audit_lines, rows

from remembrancer import MemoryCreate, Remembrancer, as_actor
from remembrancer.access import Role
from remembrancer.api import create_app
from remembrancer.keys.schemas import KeyCreate
from remembrancer.web.pages import POLICY

XSS = (
    "<script>alert(1)</script><img src=x onerror=alert(1)>\"'><svg onload=alert(1)>"
    "</textarea></title></style>{{ 7*7 }}${7*7} javascript:alert(1) &lt;b&gt; \u202e"
)


@pytest.fixture
async def app(memory: Remembrancer) -> Any:
    return create_app(memory)


async def visitor(app: Any) -> httpx2.AsyncClient:
    transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
    return httpx2.AsyncClient(
        transport=transport, base_url="http://localhost", headers={"Accept": "text/html"}
    )


async def signed_in(app: Any, secret: str) -> Browser:
    browser = Browser(await visitor(app))
    await browser.get("/signin")
    response = await browser.client.post("/signin", data={"key": secret})
    assert response.status_code == 303, response.text
    return browser


@pytest.fixture
async def world(memory: Remembrancer) -> World:
    return await peopled(memory)


@pytest.fixture
async def ada_there(app: Any, world: World) -> AsyncIterator[Browser]:
    browser = await signed_in(app, await secret_of(world.memory, world.ada))
    await browser.get(f"/people/{world.ada.id}/memories")
    yield browser
    await browser.client.aclose()


@pytest.fixture
async def admin_there(app: Any, world: World) -> AsyncIterator[Browser]:
    browser = await signed_in(app, await secret_of(world.memory))
    await browser.get("/admin")
    yield browser
    await browser.client.aclose()


def base(world: World) -> str:
    return f"/people/{world.ada.id}"


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
        assert home.url.path == f"{base(world)}/memories"
        token = re.search(r'name="token" value="([^"]+)"', home.text)
        assert token
        assert (await client.post("/signout", data={"token": "x"})).status_code == 403
        kept = client.cookies["remembrancer_session"]
        assert (await client.post("/signout", data={"token": token[1]})).status_code == 303
        client.cookies.set("remembrancer_session", kept)
        assert (await client.get(f"{base(world)}/memories")).status_code == 401


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
    keys = await world.memory.keys.list(ADMIN)
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
                markup.check(response.text)
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
        "/nothing/here",
    ):
        page = await ada_there.get(path, 422 if path.endswith("=x") else 404)
        assert "geese" not in page
        markup.check(page if "<svg" not in page else ada_there.page)


def changes(app: Any) -> list[str]:
    """The addresses of all forms."""
    return [
        route.path
        for route in _routes(app.router)
        if "POST" in (route.methods or ()) and not route.path.startswith("/api")
    ]


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
        "undo_id": uuid4(), "key_id": uuid4(), "job_id": 1,
    }  # fmt: skip
    before = rows("SELECT count(*), max(updated_at) FROM memories")
    paths = [path for path in changes(app) if path != "/signin"]
    assert len(paths) >= 25
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
        for path in paths:
            assert (await nobody.post(_filled(path, **ids))).status_code in {401, 403}, path


async def test_no_form_reaches_another_persons_data(
    app: Any, world: World, ada_there: Browser
) -> None:
    """With the right token and a changed id, every form finds nothing, and nothing changes."""
    before = rows("SELECT id, content, status, pinned FROM memories ORDER BY id")
    ids = {"agent_id": world.agents["Pantry"].id, "undo_id": uuid4()}
    filled = {
        "content": "Mine", "scope": "agent", "to": "global", "what": "everything",
        "confirmation": "erase everything", "platform": "x", "platform_user_id": "1",
        "display_name": "Eve", "other": str(world.ada.id),
    }  # fmt: skip
    for path in changes(app):
        if not path.startswith("/people"):
            continue
        foreign = _filled(path, user_id=world.bob.id, memory_id=world.bobs, **ids)
        await ada_there.post(foreign, 404, **filled)
        if "{memory_id}" in path:
            crossed = _filled(path, user_id=world.ada.id, memory_id=world.bobs, **ids)
            await ada_there.post(crossed, 404, **filled)
    assert rows("SELECT id, content, status, pinned FROM memories ORDER BY id") == before
    assert any(line.outcome == "refused" and line.entry_point == "web" for line in audit_lines())


async def test_a_user_cannot_do_what_is_for_admins(
    app: Any, world: World, ada_there: Browser
) -> None:
    """Links and merges of oneself, keys, policy, agents, jobs: refused."""
    ids = {"user_id": world.ada.id, "agent_id": world.agents["Pantry"].id, "key_id": uuid4()}
    filled = {"platform": "x", "platform_user_id": "1", "other": str(world.bob.id), "allow": "true"}
    filled |= {"name": "x", "role": "admin", "display_name": "x"}
    for path in changes(app):
        if path.startswith("/admin") or "/links" in path or "/merge" in path:
            where = _filled(path, undo_id=uuid4(), job_id=1, **ids)
            await ada_there.post(where, 403, **filled)


async def test_hostile_text_is_shown_and_never_runs(app: Any, memory: Remembrancer) -> None:
    """Markup in every text field stays text on every page, for the person and for an admin."""
    world = await peopled(memory, XSS)
    key = KeyCreate(name=XSS[:190].replace("\u202e", ""), role=Role.ADMIN)
    await memory.keys.create(ADMIN, key)
    ada = await signed_in(app, await secret_of(memory, world.ada))
    admin = await signed_in(app, await secret_of(memory))
    shown = 0
    for browser, paths in (
        (ada, world.pages_of_ada),
        (admin, [*world.pages_of_ada, *world.pages_of_admins]),
    ):
        for path in paths:
            response = await browser.client.get(path)
            parsed = markup.check(response.text)
            text = "".join(parsed.itertext())
            shown += "<script>alert(1)</script>" in text
            assert "49" not in re.findall(r"\{\{ 7\*7 \}\}|\b49\b", text)
    assert shown > 20
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
        markup.check((await ada_there.client.get(path)).text)
    answer = await ada_there.client.post(
        f"{base(world)}/memories",
        data={"token": ada_there.token, "content": XSS, "importance": "1000", "subject": XSS},
    )
    assert answer.status_code == 422
    parsed = markup.check(answer.text)
    assert "<script>alert(1)" in parsed.find(".//textarea").text


# Journeys ------------------------------------------------------------------------------


async def test_a_flipped_switch_changes_the_next_recall(world: World, ada_there: Browser) -> None:
    """A preference set on the page is what the next recall goes by; reset, the default counts."""
    quiet = world.agents["Quiet Hour"]
    page = await ada_there.get(f"{base(world)}/agents")
    assert "Using agent default: agent" in page

    key = {"Authorization": f"Bearer {await secret_of(world.memory, world.ada)}"}

    async def recalled() -> str:
        asked = {"query": "a job offer in the harbour", "sources": ["memory"]}
        answer = await ada_there.client.post(
            "/api/memory/recall", json={**asked, "agent_id": str(quiet.id)}, headers=key
        )
        return " ".join(hit["content"] for hit in answer.json()["hits"])

    assert "harbour" in await recalled()
    page = await ada_there.post(f"{base(world)}/agents/{quiet.id}/scope", scope="global")
    assert "Quiet Hour will now use global memories." in page
    assert "You customized memory scope for this agent" in page
    assert "harbour" not in await recalled()
    assert "tea" in await recalled()
    page = await ada_there.post(f"{base(world)}/agents/{quiet.id}/reset")
    assert "Quiet Hour is back at its default." in page
    assert "harbour" in await recalled()


async def test_where_an_admin_forbids_it_the_switch_is_off_and_says_why(
    world: World, ada_there: Browser, admin_there: Browser
) -> None:
    """The policy set on the overview disables every switch and explains itself on each card."""
    page = await admin_there.post("/admin/policy", allow="false")
    assert "every agent is global for everybody" in page
    page = await ada_there.get(f"{base(world)}/agents")
    assert page.count("Admin has disabled agent-specific memory globally. Contact") == 2
    switches = re.findall(r'<button class="switch"[^>]*>', page)
    assert len(switches) == 2
    assert all("disabled" in one and 'aria-checked="false"' in one for one in switches)
    await admin_there.post("/admin/policy", allow="true")
    page = await ada_there.get(f"{base(world)}/agents")
    assert "disabled" not in re.findall(r'<button class="switch"[^>]*>', page)[0]


async def test_all_agents_are_set_at_once(world: World, ada_there: Browser) -> None:
    """To private, to global, and back to their defaults."""
    where = f"{base(world)}/agents/all"
    assert "2 preferences set to private." in await ada_there.post(where, scope="agent")
    page = await ada_there.post(where, scope="global")
    assert page.count('aria-checked="false"') == 2
    assert "2 preferences reset" in await ada_there.post(where, scope="reset")
    await ada_there.post(where, 422, scope="both")


async def test_memories_are_moved_after_a_preview_and_moved_back(
    world: World, ada_there: Browser
) -> None:
    """The preview's count is what moves; the undo beside the message takes it back."""
    quiet = world.agents["Quiet Hour"]
    page = await ada_there.get(f"{base(world)}/agents/{quiet.id}/move")
    assert "<dt>Would move</dt><dd>1</dd>" in page
    page = await ada_there.post(f"{base(world)}/agents/{quiet.id}/move", to="global", how="move")
    assert "1 memory moved." in page
    undo = re.search(r'action="([^"]+/moves/[^"]+/undo)"', page)
    assert undo
    assert rows("SELECT count(*) FROM memories WHERE agent_id IS NOT NULL") == [(0,)]
    assert "Taken back: 1 memory" in await ada_there.post(undo[1])
    assert rows("SELECT count(*) FROM memories WHERE agent_id IS NOT NULL") == [(1,)]
    await ada_there.post(undo[1], 409)


async def test_a_memory_is_added_edited_shared_forgotten_and_restored(
    world: World, ada_there: Browser
) -> None:
    """Each step says what was done; the history shows what changed, word by word."""
    where = f"{base(world)}/memories"
    page = await ada_there.post(
        where,
        content="Ada keeps bees on the roof.",
        kind="fact",
        category="hobby",
        subject="bees",
        importance="70",
        space_id=str(world.space),
    )
    assert "Remembered." in page
    memory_id = rows("SELECT id FROM memories WHERE content LIKE '%%bees%%'")[0][0]
    one = f"{where}/{memory_id}"
    page = await ada_there.get(f"{one}/edit")
    page = await ada_there.post(
        one, content="Ada keeps bees in the garden.", kind="fact", category="hobby",
        subject="bees", importance="70.0", expected_version="1",
    )  # fmt: skip
    assert "Saved as a new version." in page
    assert "<del>on</del><ins>in</ins>" in page
    assert "<del>roof</del><ins>garden</ins>" in page
    await ada_there.post(
        one, 409, content="Late", kind="fact", category="hobby", subject="bees",
        importance="70", expected_version="1",
    )  # fmt: skip
    assert rows("SELECT importance FROM memories WHERE id = %s", memory_id) == [(0.7,)]
    await ada_there.get(one)
    assert "Shared with the members" in await ada_there.post(f"{one}/share", visibility="shared")
    seen = await world.memory.memories.get(as_actor(world.bob), memory_id)
    assert seen.content == "Ada keeps bees in the garden."
    assert "Private to you again." in await ada_there.post(f"{one}/share", visibility="private")
    assert "Pinned: no budget evicts it." in await ada_there.post(f"{one}/pin", pinned="true")
    assert "Unpinned." in await ada_there.post(f"{one}/pin", pinned="false")
    page = await ada_there.post(f"{one}/forget")
    assert "Forgotten." in page
    assert "bees" not in page
    assert "bees" in await ada_there.get(f"{where}?status=forgotten")
    await ada_there.get(where)
    assert "Restored." in await ada_there.post(f"{one}/restore")


async def test_what_is_wrong_with_a_form_is_said_beside_the_field(
    world: World, ada_there: Browser
) -> None:
    """Nothing typed is lost, the field is named, and nothing is stored."""
    where = f"{base(world)}/memories"
    await ada_there.get(f"{where}/new")
    for fields, field, reason in [
        ({"content": " "}, "content", "Field required"),
        ({"content": "x" * 2001}, "content", "2,000 characters"),
        ({"content": "a\x00b"}, "content", "NUL"),
        ({"content": "Fine", "importance": "much"}, "importance", "0 to 100"),
        ({"content": "Fine", "importance": "nan"}, "importance", ""),
        ({"content": "Fine", "kind": "x"}, "kind", ""),
        ({"content": "Fine", "agent_id": "x"}, "agent_id", "not the id"),
        ({"content": "My card is 4111 1111 1111 1111"}, "content", "card number"),
    ]:
        page = await ada_there.post(where, 422, **fields)
        parsed = markup.check(ada_there.page)
        told = "".join(parsed.find(f".//*[@id='wrong-{field}']").itertext())
        assert reason.lower() in told.lower(), (field, told)
        assert fields["content"].strip()[:50].replace("\x00", "") in page.replace("\x00", "")
    page = await ada_there.post(where, 409, content="Ada likes mate.", subject="Ada's drink")
    assert f"{where}/{world.tea}" in page
    assert rows("SELECT count(*) FROM memories WHERE content LIKE '%%mate.%%'") == [(0,)]


async def test_the_list_is_filtered_by_everything_it_shows(
    world: World, ada_there: Browser
) -> None:
    """Kind, category, agent, scope, space, text and status; what does not match is not there."""
    where, quiet = f"{base(world)}/memories", world.agents["Quiet Hour"].id
    for query, found, missing in [
        ("kind=goal", "harbour", "teapot"),
        ("text=TEAPOT", "teapot", "harbour"),
        ("scope=agent", "harbour", "teapot"),
        ("scope=global", "teapot", "harbour"),
        (f"kept_for={quiet}", "harbour", "teapot"),
        (f"space_id={world.space}", "Gran was born", "teapot"),
        ("status=forgotten", "parrot", "teapot"),
        ("category=other&kind=preference", "green tea", "teapot"),
    ]:
        page = await ada_there.get(f"{where}?{query}")
        assert found in page, query
        assert missing not in page.replace("/teapot", ""), query
    assert "Nothing matches" in await ada_there.get(f"{where}?text=xyzzy")


async def test_a_long_list_comes_in_pages(world: World, ada_there: Browser) -> None:
    """Fifty at a time, each memory once, with and without the script."""
    statements = [
        MemoryCreate(content=f"Number {n} of many.", allow_similar=True) for n in range(90)
    ]
    await world.memory.memories.remember_many(as_actor(world.ada), statements)
    where = f"{base(world)}/memories?text=of many"
    page = await ada_there.get(where)
    first = set(re.findall(r"Number \d+ of many\.</a>", page))
    more = re.search(r'href="([^"]+)" hx-get', page)
    assert more
    page = await ada_there.get(more[1])
    second = set(re.findall(r"Number \d+ of many\.</a>", page))
    assert not first & second
    part = await ada_there.client.get(more[1], headers={"HX-Request": "true", "HX-Target": "more"})
    assert "<html" not in part.text
    assert len(re.findall(r'<li class="memory', part.text)) == len(second) > 0
    part = await ada_there.client.get(where, headers={"HX-Request": "true", "HX-Target": "results"})
    assert part.text.lstrip().startswith("<p")


async def test_a_conversation_leads_to_its_memories_and_back(
    world: World, ada_there: Browser
) -> None:
    """Messages with the summary of their range; a memory under its message; and the way back."""
    page = await ada_there.get(f"{base(world)}/conversations/{world.talk}")
    assert "Summary</strong> of messages 1 to 4" in page
    assert f"{base(world)}/memories/{world.tea}" in page
    page = await ada_there.get(f"{base(world)}/memories/{world.tea}")
    back = re.search(r'href="([^"]+/conversations/[^"]+\?message=[^"]+)"', page)
    assert back
    page = await ada_there.get(back[1])
    assert re.search(r'class="message user marked"', page)


async def test_times_are_those_of_the_person(world: World, ada_there: Browser) -> None:
    """A message of noon UTC was said at two in Riga; another zone is shown at once."""
    rows("UPDATE messages SET sent_at = '2026-01-05T12:00:00Z' WHERE owner_id = %s", world.ada.id)
    where = f"{base(world)}/conversations/{world.talk}"
    assert "5 Jan 2026, 14:00" in await ada_there.get(where)
    await ada_there.get(f"{base(world)}/profile")
    await ada_there.post(f"{base(world)}/profile", display_name="Ada", time_zone="Asia/Tokyo")
    assert "5 Jan 2026, 21:00" in await ada_there.get(where)
    await ada_there.get(f"{base(world)}/profile")
    await ada_there.post(f"{base(world)}/profile", 422, display_name="Ada", time_zone="Mars")


async def test_everything_is_erased_only_where_the_words_are_typed(
    world: World, ada_there: Browser
) -> None:
    """The page counts what would go; without the words nothing goes; with them all of it."""
    page = await ada_there.get(f"{base(world)}/erase")
    assert "rows would be deleted" in page
    await ada_there.post(f"{base(world)}/erase", 422, what="memories", confirmation="yes")
    await ada_there.post(
        f"{base(world)}/erase", 422, what="memories", confirmation="erase everything"
    )
    mine = "SELECT count(*) FROM memories WHERE owner_id = %s"
    assert rows(mine, world.ada.id)[0][0] > 5
    where = f"{base(world)}/memories/{world.tea}/erase"
    await ada_there.post(where, 422, confirmation="erase")
    await ada_there.get(where)
    assert "Erased for good." in await ada_there.post(where, confirmation=world.tea)
    page = await ada_there.post(
        f"{base(world)}/erase", what="memories", confirmation="erase memories"
    )
    assert "receipt" in page
    assert rows(mine, world.ada.id) == [(0,)]
    assert rows(mine, world.bob.id) == [(1,)]
    await ada_there.get(f"{base(world)}/erase")
    await ada_there.post(f"{base(world)}/erase", what="everything", confirmation="erase everything")
    await ada_there.get(f"{base(world)}/memories", 401)


async def test_an_export_is_a_file_of_the_person(world: World, ada_there: Browser) -> None:
    """The link on the profile hands over everything of hers, and nothing of Bob's."""
    page = await ada_there.get(f"{base(world)}/profile")
    link = re.search(r'href="(/api/users/[^"]+/export)"', page)
    assert link
    response = await ada_there.client.get(link[1])
    assert "attachment" in response.headers["content-disposition"]
    assert "green tea" in response.text
    assert "geese" not in response.text
    await ada_there.get(f"/api/users/{world.bob.id}/export", 404)


async def test_an_admin_links_merges_and_takes_it_back(world: World, admin_there: Browser) -> None:
    """Linking somebody else's id shows what merging would move, and does it when told to."""
    page = await admin_there.get(f"{base(world)}/profile")
    page = await admin_there.post(f"{base(world)}/links", platform="matrix", platform_user_id="@a")
    assert "Linked on matrix." in page
    page = await admin_there.post(
        f"{base(world)}/links/remove", platform="matrix", platform_user_id="@a"
    )
    assert "is removed" in page
    page = await admin_there.post(f"{base(world)}/links", platform="telegram", platform_user_id="7")
    assert "Merge Bob into Ada" in page
    assert '<th scope="row">memories</th><td class="number">1</td>' in page
    mine = "SELECT count(*) FROM memories WHERE owner_id = %s"
    assert rows(mine, world.bob.id) == [(1,)]
    page = await admin_there.post(f"{base(world)}/merge", other=str(world.bob.id))
    assert "one person now; 1 memory moved" in page
    assert rows(mine, world.bob.id) == [(0,)]
    undo = re.search(r'action="([^"]+/merges/[^"]+/undo)"', page)
    assert undo
    assert "two people again" in await admin_there.post(undo[1])
    assert rows(mine, world.bob.id) == [(1,)]


async def test_an_admin_makes_changes_and_retires_an_agent(
    world: World, admin_there: Browser
) -> None:
    """With its default scope, which is what the person's card goes by."""
    await admin_there.get("/admin/agents/new")
    fields = {"name": "Scribe", "description": "Takes notes.", "memory_scope": "global"}
    assert "Scribe is made." in await admin_there.post("/admin/agents", **fields)
    agent = rows("SELECT id FROM agents WHERE name = 'Scribe'")[0][0]
    assert "Using agent default: global" in await admin_there.get(f"{base(world)}/agents")
    await admin_there.get(f"/admin/agents/{agent}")
    fields |= {"sent": "1", "version": "1"}
    page = await admin_there.post(f"/admin/agents/{agent}", 422, **{**fields, "name": " "})
    page = await admin_there.post(f"/admin/agents/{agent}", **{**fields, "memory_scope": "agent"})
    assert "Scribe is saved." in page
    await admin_there.get(f"/admin/agents/{agent}")
    await admin_there.post(f"/admin/agents/{agent}", 412, **fields)
    await admin_there.get("/admin/agents")
    assert "is retired" in await admin_there.post(f"/admin/agents/{agent}/retire")
    await admin_there.get(f"/admin/agents/{agent}", 404)


async def test_an_admin_makes_a_key_whose_secret_is_shown_once(
    world: World, admin_there: Browser
) -> None:
    """The secret works, is in the page that made it, and in no other."""
    await admin_there.get("/admin/keys")
    page = await admin_there.post(
        "/admin/keys", name="Ada's phone", role="user", user_id=str(world.ada.id), days="30"
    )
    secret = re.search(r"rmb_[\w-]+", page)
    assert secret
    actor = await world.memory.keys.authenticate(secret[0], entry_point="rest")
    assert actor.user_id == world.ada.id
    assert secret[0] not in await admin_there.get("/admin/keys")
    page = await admin_there.post("/admin/keys", 422, name="x", role="user")
    assert 'id="wrong-user_id"' in page
    await admin_there.post("/admin/keys", 422, name="x", role="admin", days="9" * 30)


async def test_an_admin_retries_a_failed_job(world: World, admin_there: Browser) -> None:
    """Its work is queued anew; what succeeded is not."""
    job = rows("SELECT jobs.enqueue('none', 'none', 'none:1', '{}')")[0][0]
    rows("UPDATE jobs.procrastinate_jobs SET status = 'failed' WHERE id = %s", job)
    page = await admin_there.get("/admin/jobs?status=failed")
    assert f"/admin/jobs/{job}/retry" in page
    assert "in the queue" in await admin_there.post(f"/admin/jobs/{job}/retry")
    waiting = "SELECT count(*) FROM jobs.procrastinate_jobs WHERE status = 'todo'"
    assert rows(waiting) == [(1,)]
    await admin_there.post(f"/admin/jobs/{job}/retry", 409)
    await admin_there.post("/admin/jobs/999999999/retry", 404)
    rows("UPDATE jobs.procrastinate_jobs SET status = 'succeeded' WHERE id = %s", job)
    await admin_there.post(f"/admin/jobs/{job}/retry", 409)


async def test_the_playground_says_why(world: World, ada_there: Browser) -> None:
    """Hits with the arms that found them, in the scope that is in effect, as of a day."""
    where = f"{base(world)}/playground?query=What+does+Ada+drink%3F"
    page = await ada_there.get(f"{where}&agent={world.agents['Pantry'].id}")
    assert "green tea" in page
    assert "Why: " in page
    assert "harbour" not in page
    assert "harbour" in await ada_there.get(where.replace("drink", "do+in+the+harbour"))
    page = await ada_there.get(f"{where}&as_of=2001-01-01T10:00")
    assert "Nothing is recalled" in page
    for wrong in ("as_of=soon", "limit=0", "mode=x", "agent=x", "limit=many"):
        await ada_there.get(f"{where}&{wrong}", 422)


async def test_parts_of_pages_are_answered_as_parts(world: World, ada_there: Browser) -> None:
    """A script gets the card or row with what is to be said; an error is said as well."""
    agent = world.agents["Pantry"].id
    card = await ada_there.part(f"{base(world)}/agents/{agent}/scope", scope="agent")
    assert card.text.lstrip().startswith("<li")
    assert "Pantry will now use private memories." in card.text
    assert 'hx-swap-oob="innerHTML"' in card.text
    row = await ada_there.part(f"{base(world)}/memories/{world.tea}/forget", "memory-x")
    assert f"{base(world)}/memories/{world.tea}/restore" in row.text
    gone = await ada_there.part(f"{base(world)}/memories/{world.bobs}/forget", "memory-x")
    assert gone.status_code == 404
    assert gone.headers["hx-retarget"] == "#notices"
    assert "<html" not in gone.text


async def test_what_an_admin_looks_at_is_written_down(world: World, admin_there: Browser) -> None:
    """A person's pages, opened by an admin, are lines of the audit log."""
    for path in world.pages_of_ada:
        await admin_there.client.get(path)
    await world.memory.reads.flush()
    seen = {line.action for line in audit_lines() if line.entry_point == "web"}
    assert {
        "memory.list", "memory.read", "conversation.read", "message.read", "chunk.read",
        "association.read", "recall", "user.read", "preference.read",
    } <= seen  # fmt: skip
