"""What people do on the pages, over HTTP: what a form changes, and what is said of it."""

import re
from uuid import UUID

import html_pages
import pytest
from helpers import ADMIN, audit_lines, rows, texts_of
from pages import Browser, World, base, secret_of

from remembrancer import MemoryCreate, Role, as_actor
from remembrancer.keys.schemas import KeyCreate


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
    assert "<dt>To move</dt><dd>1</dd>" in page
    page = await ada_there.post(f"{base(world)}/agents/{quiet.id}/move", to="global", how="move")
    assert "1 memory moved." in page
    undo = re.search(r'action="([^"]+/moves/[^"]+/undo)"', page)
    assert undo
    assert rows("SELECT count(*) FROM memories WHERE agent_id IS NOT NULL") == [(0,)]
    assert "Undone: 1 memory" in await ada_there.post(undo[1])
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
    assert "Pinned: the budget" in await ada_there.post(f"{one}/pin", pinned="true")
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
        ({"content": " "}, "content", "is needed"),
        ({"content": "x" * 2001}, "content", "2,000 characters"),
        ({"content": "a\x00b"}, "content", "NUL"),
        ({"content": "Fine", "importance": "much"}, "importance", "0 to 100"),
        ({"content": "Fine", "importance": "nan"}, "importance", ""),
        ({"content": "Fine", "kind": "x"}, "kind", ""),
        ({"content": "Fine", "agent_id": "x"}, "agent_id", "not the id"),
        ({"content": "My card is 4111 1111 1111 1111"}, "content", "card number"),
    ]:
        page = await ada_there.post(where, 422, **fields)
        parsed = html_pages.check(ada_there.page)
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
    assert "No memory matches" in await ada_there.get(f"{where}?text=xyzzy")


async def test_a_long_list_comes_in_pages(world: World, ada_there: Browser) -> None:
    """Fifty at a time, each memory once, with and without the script."""
    statements = [
        MemoryCreate(content=f"Number {n} of many.", allow_similar=True) for n in range(90)
    ]
    await world.memory.memories.remember_many(as_actor(world.ada), statements)
    where = f"{base(world)}/memories?text=of many"
    page = await ada_there.get(where)
    row = re.compile(r'<li class="memory line" id="memory-(\w+)"')
    first = set(row.findall(page))
    more = re.search(r'<li class="more"[^>]*><a class="button" href="([^"]+)"', page)
    assert more
    page = await ada_there.get(more[1])
    second = set(row.findall(page))
    assert len(first) == 50
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


async def test_times_are_written_as_where_the_reader_lives(
    world: World, ada_there: Browser, admin_there: Browser
) -> None:
    """By the browser's language; where they are nobody's, in the zone that it says."""
    rows("UPDATE messages SET sent_at = '2026-01-05T12:00:00Z' WHERE owner_id = %s", world.ada.id)
    where = f"{base(world)}/conversations/{world.talk}"
    ada_there.client.headers["Accept-Language"] = "en-US,en;q=0.9"
    assert "Jan 5, 2026, 2:00\u202fPM" in await ada_there.get(where)
    assert "times in UTC" in await admin_there.get("/admin/keys")
    admin_there.client.cookies["zone"] = "Asia/Tokyo"
    assert "times in Asia/Tokyo" in await admin_there.get("/admin/keys")
    assert "times in Europe/Riga" in await admin_there.get(where)
    admin_there.client.cookies["zone"] = "../../etc/passwd"
    assert "times in UTC" in await admin_there.get("/admin/keys")


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
    assert "What would be deleted" in page
    assert "Versions of memories" in page
    assert "postings" not in page
    await ada_there.post(f"{base(world)}/erase", 422, what="memories", confirmation="yes")
    await ada_there.post(
        f"{base(world)}/erase", 422, what="memories", confirmation="erase everything"
    )
    mine = "SELECT count(*) FROM memories WHERE owner_id = %s"
    assert rows(mine, world.ada.id)[0][0] > 5
    where = f"{base(world)}/memories/{world.tea}/erase"
    await ada_there.post(where, 422, confirmation="erase")
    await ada_there.get(where)
    assert "Erased permanently." in await ada_there.post(where, confirmation=world.tea)
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
    links = re.findall(r'href="(/api/users/[^"]+/export[^"]*)"', page)
    endings = []
    for link in links:
        response = await ada_there.client.get(link)
        named = response.headers["content-disposition"]
        name = re.fullmatch(r'attachment; filename=".+\.(\w+)"', named)
        assert name
        endings.append(name[1])
        text = texts_of(response.content)
        assert "green tea" in text
        assert "geese" not in text
    assert endings == ["zip", "jsonl", "jsonld"]
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
    assert '<th scope="row">Memories</th><td class="number">1</td>' in page
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
    assert "Scribe is created." in await admin_there.post("/admin/agents", **fields)
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


async def test_a_key_gets_a_new_secret_beside_the_old(
    world: World, ada_there: Browser, admin_there: Browser
) -> None:
    """On both pages of keys; a key that is not valid has no button, and says so when asked."""
    for browser, path, key in (
        (ada_there, f"{base(world)}/keys", await _key_named(world, "user key")),
        (admin_there, "/admin/keys", await _key_named(world, "admin key")),
    ):
        assert f"{path}/{key}/rotate" in await browser.get(path)
        page = await browser.post(f"{path}/{key}/rotate")
        assert f"{path}/{key}/rotate" in page, "the old one is still valid"
        secret = re.search(r"rmb_[\w-]+", page)
        assert secret
        assert "has a new secret. Copy it now" in re.sub("<.*?>", "", page)
        await world.memory.keys.authenticate(secret[0], entry_point="rest")
        spare = await world.memory.keys.create(
            ADMIN, KeyCreate(name="spare", role=Role.USER, user_id=world.ada.id)
        )
        await world.memory.keys.revoke(ADMIN, spare.id)
        assert f"{path}/{spare.id}/rotate" not in await browser.get(path)
        await browser.post(f"{path}/{spare.id}/rotate", 409)


async def _key_named(world: World, name: str) -> UUID:
    return next(k.id for k in (await world.memory.keys.list(ADMIN)).items if k.name == name)


async def test_an_admin_retries_a_failed_job(world: World, admin_there: Browser) -> None:
    """Its work is queued anew; what succeeded is not."""
    job = rows("SELECT jobs.enqueue('none', 'none', 'none:1', '{}')")[0][0]
    rows("UPDATE jobs.procrastinate_jobs SET status = 'failed' WHERE id = %s", job)
    page = await admin_there.get("/admin/jobs?status=failed")
    assert f"/admin/jobs/{job}/retry" in page
    assert "is queued" in await admin_there.post(f"/admin/jobs/{job}/retry")
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
    assert "No hits" in page
    for wrong in ("as_of=soon", "limit=0", "mode=x", "agent=x", "limit=many"):
        await ada_there.get(f"{where}&{wrong}", 422)


@pytest.mark.parametrize(
    ("shown", "asked", "header"),
    [
        ("", "?text=t", "hx-push-url"),
        ("?text=t", "?text=te", "hx-replace-url"),
        ("?text=te", "?text=", "hx-replace-url"),
        ("?text=te", "?text=te&kind=goal", "hx-push-url"),
        ("?text=te&kind=", "?text=te", None),
        ("[", "?text=te", "hx-push-url"),
        ("?text=%zz&%ff", "?text=te", "hx-replace-url"),
    ],
)
async def test_a_search_is_one_entry_of_the_history(
    world: World, ada_there: Browser, shown: str, asked: str, header: str | None
) -> None:
    """A letter more takes the place of the address; a filter and a new search add one."""
    where = f"{base(world)}/memories"
    headers = {"HX-Request": "true", "HX-Target": "results", "HX-Current-URL": f"//x{shown}"}
    answer = await ada_there.client.get(f"{where}{asked}", headers=headers)
    assert answer.status_code == 200
    sent = [name for name in ("hx-push-url", "hx-replace-url") if name in answer.headers]
    assert sent == ([header] if header else [])
    if header:
        assert answer.headers[header] == where + ("" if asked == "?text=" else asked)


async def test_case_59_asking_and_searching_change_nothing(
    world: World, ada_there: Browser
) -> None:
    """Home, a search and the page of a memory, three times: no access is counted, nothing moves."""
    stored = "SELECT id, access_count, last_accessed_at, updated_at FROM memories ORDER BY id"
    before = rows(stored)
    for _ in range(3):
        assert "green tea" in await ada_there.get(f"{base(world)}?q=What+tea+does+Ada+prefer%3F")
        await ada_there.get(f"{base(world)}/memories?text=tea")
        await ada_there.get(f"{base(world)}/memories/{world.tea}")
    await world.memory.access_counts.flush()
    assert rows(stored) == before


async def test_an_answer_quotes_no_message_that_left_recall(
    world: World, ada_there: Browser
) -> None:
    """A forgotten memory took it along: the memory that rests on it too stands without a quote."""
    asked = f"{base(world)}?q=Does+Ada+prefer+green+tea%3F"
    quote = re.compile(r"<blockquote[^>]*>Message 21")
    assert quote.search(await ada_there.get(asked))
    message = "SELECT message_id FROM mentions WHERE memory_id = %s ORDER BY id LIMIT 1"
    [(message_id,)] = rows(message, world.tea)
    rows(
        "INSERT INTO withheld_messages (owner_id, memory_id, message_id) VALUES (%s, 'x', %s)",
        world.ada.id,
        message_id,
    )
    page = await ada_there.get(asked)
    assert "green tea" in page
    assert not quote.search(page)


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


async def test_a_part_for_who_is_signed_out_becomes_the_sign_in_page(
    world: World, ada_there: Browser
) -> None:
    """The script is told to load the page anew, which says how to sign in."""
    token = ada_there.token
    ada_there.client.cookies.clear()
    answer = await ada_there.client.post(
        f"{base(world)}/agents/all", data={"token": token}, headers={"HX-Request": "true"}
    )
    assert (answer.status_code, answer.headers["hx-refresh"]) == (401, "true")
    plain = await ada_there.client.get(f"{base(world)}/agents", headers={"Accept": "*/*"})
    assert plain.json()["detail"] == "sign in first"
