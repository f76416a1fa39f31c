"""The first run: a person, what they connect, and the history they bring."""

import json
import re
from datetime import datetime
from html import unescape
from pathlib import Path
from typing import Any
from uuid import uuid4
from zoneinfo import ZoneInfo

import exports
import pytest
from exports import zipped
from helpers import ADMIN, Api, rows
from pages import Browser, World, base, browsing, visitor

from remembrancer import (
    Conflict,
    ConversationCreate,
    MessageCreate,
    NotFound,
    Remembrancer,
    Role,
    User,
    as_actor,
)
from remembrancer.access import Actor
from remembrancer.importers.uploads import serve_uploads
from remembrancer.mcp_clients import ClientName, merge, server_entry
from remembrancer.uploads.service import MOST
from remembrancer.web.connections import PROGRAMS

# You -----------------------------------------------------------------------------------


async def test_an_empty_server_asks_who_one_is(app: Any, memory: Remembrancer) -> None:
    """A name is enough, and leads to the next step."""
    async with await visitor(app) as client:
        link = f"/login?token={await memory.sign_ins.link(ADMIN)}"
        browser = Browser(client)
        page = await client.get(link, follow_redirects=True)
        assert page.url.path == "/start"
        browser.page = page.text
        wrong = await client.post(
            "/start", data={"token": browser.token, "time_zone": "Europe/Riga"}
        )
        assert wrong.status_code == 422
        assert "<option selected>Europe/Riga" in wrong.text
        there = await client.post(
            "/start",
            data={"token": browser.token, "display_name": "Ada", "time_zone": "Europe/Riga"},
        )
        [user] = (await memory.users.list(ADMIN)).items
        assert (user.display_name, user.time_zone) == ("Ada", "Europe/Riga")
        assert there.headers["location"] == f"/people/{user.id}/start/connect"
        assert (await client.get("/", follow_redirects=True)).url.path == "/admin"


async def test_a_person_says_what_they_are_called(world: World, ada_there: Browser) -> None:
    """In the first step, by themselves."""
    await ada_there.get(f"{base(world)}/start")
    page = await ada_there.post(f"{base(world)}/start", display_name="Countess", time_zone="UTC")
    assert "Make a key for Claude Code" in page
    assert (await world.memory.users.get(ADMIN, world.ada.id)).display_name == "Countess"


# Connect -------------------------------------------------------------------------------


def _copied(page: str) -> list[str]:
    return [
        unescape(text) for text in re.findall(r'<code id="copy-\d">(.*?)</code>', page, re.DOTALL)
    ]


@pytest.mark.parametrize("program", PROGRAMS)
async def test_each_program_gets_a_key_and_what_to_copy(
    app: Any, world: World, ada_there: Browser, program: str
) -> None:
    """The lines have the key, once; it opens this person's memory alone."""
    path = f"{base(world)}/start/connect?program={program}"
    assert "rmb_" not in await ada_there.get(path)
    assert _copied(ada_there.page)
    made = await ada_there.client.post(path, data={"token": ada_there.token, "program": program})
    lines = _copied(made.text)
    secret = re.search(r"rmb_[\w-]+", "\n".join(lines))
    assert secret
    assert "http://localhost" in "\n".join(lines)
    headers = {"Authorization": f"Bearer {secret[0]}"}
    holder = await ada_there.client.get("/api/keys/own", headers=headers)
    assert holder.json() == {"role": "user", "user_id": str(world.ada.id)}
    assert secret[0] not in await ada_there.get(path)
    [key] = [
        key for key in (await world.memory.keys.list(ADMIN)).items if key.name == PROGRAMS[program]
    ]
    assert (key.role, key.user_id) == (Role.USER, world.ada.id)
    if program == ClientName.CLAUDE_DESKTOP:
        assert "remembrancer mcp install --client claude-desktop --write" in lines[0]
        assert "--url http://localhost --key-file ~/.remembrancer-key" in lines[0]
    elif program in set(ClientName):
        client = ClientName(program)
        entry = merge(client, {}, server_entry(client, [], url="http://localhost"))
        assert entry in [json.loads(text) for text in lines if text.startswith("{")]


@pytest.mark.parametrize("program", PROGRAMS)
async def test_a_program_can_remember_as_an_agent(
    world: World, ada_there: Browser, program: str
) -> None:
    """The lines name the agent; an unknown one gets no key."""
    path = f"{base(world)}/start/connect?program={program}"
    assert world.agents["Pantry"].name in await ada_there.get(path)
    data = {"token": ada_there.token, "program": program, "agent": str(world.agents["Pantry"].id)}
    made = await ada_there.client.post(path, data=data)
    assert str(world.agents["Pantry"].id) in "\n".join(_copied(made.text))
    before = len((await world.memory.keys.list(ADMIN)).items)
    for unknown, status in ((str(uuid4()), 404), ("cook", 422)):
        answer = await ada_there.client.post(path, data=data | {"agent": unknown})
        assert answer.status_code == status
    assert len((await world.memory.keys.list(ADMIN)).items) == before


async def test_an_unknown_program_is_named_as_such(world: World, ada_there: Browser) -> None:
    """And gets no key."""
    path = f"{base(world)}/start/connect"
    await ada_there.get(f"{path}?program=emacs", 422)
    before = len((await world.memory.keys.list(ADMIN)).items)
    await ada_there.get(path)
    answer = await ada_there.client.post(path, data={"token": ada_there.token, "program": "emacs"})
    assert answer.status_code == 422
    assert len((await world.memory.keys.list(ADMIN)).items) == before


async def test_a_person_sees_and_revokes_their_keys(
    app: Any, world: World, ada_there: Browser
) -> None:
    """Theirs alone; a secret is shown once."""
    path = f"{base(world)}/keys"
    bobs = Actor(Role.USER, user_id=world.bob.id)
    async with browsing(app, world.memory, world.bob, f"/people/{world.bob.id}"):
        [other] = (await world.memory.keys.list(bobs)).items
        await ada_there.get(path)
        answer = await ada_there.client.post(
            path, data={"token": ada_there.token, "name": "My phone"}
        )
        [secret] = re.findall(r'<code id="secret">(rmb_[\w-]+)</code>', answer.text)
        page = await ada_there.get(path)
        assert "My phone" in page
        assert secret not in page
        actor = await world.memory.keys.authenticate(secret, entry_point="rest")
        await ada_there.post(f"{path}/{other.id}/revoke", 404)
        await ada_there.get(path)
        page = await ada_there.post(f"{path}/{actor.key_id}/revoke")
        assert "The key My phone is revoked." in page
        assert (await world.memory.keys.list(bobs)).items == [other]
        await ada_there.get("/admin/keys", 403)


# History -------------------------------------------------------------------------------


async def _upload(browser: Browser, world: World, file: Path, status: int = 303) -> str:
    path = f"{base(world)}/start/history"
    await browser.get(path)
    with file.open("rb") as content:
        answer = await browser.client.post(
            path, data={"token": browser.token}, files={"file": (file.name, content)}
        )
    assert answer.status_code == status, answer.text[:2000]
    return unescape(answer.text)


async def _worked(memory: Remembrancer) -> None:
    serve_uploads(memory)
    await memory.worker.run(once=True)


def _chatgpt(folder: Path, name: str = "chatgpt.zip") -> Path:
    return zipped(
        folder / name,
        {
            "conversations-000.json": exports.chatgpt(),
            "export_manifest.json": {"files": ["conversations-000.json"]},
            "user.json": {"id": "user-1", "email": "ada@example.org"},
        },
    )


def _messages(world: World) -> list[Any]:
    return rows("SELECT content FROM messages WHERE content LIKE %s", "%celadon%")


async def test_an_export_is_looked_into_then_imported(
    world: World, ada_there: Browser, tmp_path: Path
) -> None:
    """Nothing is stored before one says so; again, all of it is known already."""
    path = f"{base(world)}/start/history"
    await _upload(ada_there, world, _chatgpt(tmp_path))
    page = await ada_there.get(path)
    assert "Looking into it" in page
    assert 'hx-trigger="every 2s"' in page
    await _worked(world.memory)
    page = await ada_there.get(path)
    assert "ChatGPT" in page
    assert "1 conversation, " in page
    assert _messages(world) == []
    [upload] = (await world.memory.uploads.list(as_actor(world.ada))).items
    before = upload.counts
    assert before.messages_added == upload.total > 0
    await ada_there.post(f"{path}/{upload.id}/import")
    assert "<progress" in await ada_there.get(path)
    await _worked(world.memory)
    page = await ada_there.get(path)
    assert "Imported" in page
    assert "every 2s" not in page
    assert len(_messages(world)) == 1
    assert rows("SELECT count(*) FROM upload_parts") == [(0,)]
    [upload] = (await world.memory.uploads.list(as_actor(world.ada))).items
    assert upload.counts == before
    # What was interrupted goes on: what is stored is skipped.
    await _upload(ada_there, world, _chatgpt(tmp_path))
    await _worked(world.memory)
    again, _ = (await world.memory.uploads.list(as_actor(world.ada))).items
    assert again.counts.messages_added == 0
    assert again.counts.messages_skipped == before.messages_added
    await ada_there.get(path)
    await ada_there.post(f"{path}/{again.id}/remove")
    assert [one.id for one in (await world.memory.uploads.list(as_actor(world.ada))).items] == [
        upload.id
    ]


async def test_a_person_speaks_for_nobody_else(
    world: World, ada_there: Browser, admin_there: Browser, tmp_path: Path
) -> None:
    """An export with words of others needs an admin; own words claim no platform's id."""
    group = zipped(tmp_path / "slack.zip", exports.slack())
    links = rows("SELECT count(*) FROM platform_links")
    await _upload(ada_there, world, group)
    await _upload(ada_there, world, _chatgpt(tmp_path))
    await _worked(world.memory)
    own, refused = (await world.memory.uploads.list(as_actor(world.ada))).items
    assert (own.status, refused.status) == ("ready", "failed")
    assert "ask an admin" in await ada_there.get(f"{base(world)}/start/history")
    await world.memory.uploads.start(as_actor(world.ada), own.id)
    await _worked(world.memory)
    assert rows("SELECT count(*) FROM platform_links") == links
    [(conversation,)] = rows(
        "SELECT platform_conversation_id FROM conversations WHERE platform = 'chatgpt'"
    )
    assert conversation.startswith(f"{world.ada.id}:")
    await _upload(admin_there, world, group)
    await _worked(world.memory)
    newest, *_ = (await world.memory.uploads.list(as_actor(world.ada))).items
    assert newest.status == "ready", newest.reason


async def test_what_a_file_does_not_say_is_asked(
    world: World, ada_there: Browser, admin_there: Browser, tmp_path: Path
) -> None:
    """The order of its dates, who the person is in it; its times are in their zone."""
    path = f"{base(world)}/start/history"
    chat = tmp_path / "group.txt"
    chat.write_text("03/04/2023, 09:15 - Ada B: the kiln is hot\n03/04/2023, 09:16 - Bob: good\n")
    await _upload(admin_there, world, chat)
    await _worked(world.memory)
    page = await admin_there.get(path)
    assert "Does not say who exported it." in page
    assert "--as" not in page
    [upload] = (await world.memory.uploads.list(as_actor(world.ada))).items
    for me, said in [
        ("Nobody", "Has no sender with the name you gave;"),
        ("Ada B", "Has ambiguous days and months."),
    ]:
        await admin_there.post(f"{path}/{upload.id}/check", me=me)
        await _worked(world.memory)
        page = await admin_there.get(path)
        assert said in page
        assert f'value="{me}"' in page
    await admin_there.post(f"{path}/{upload.id}/check", date_order="dmy", me="Ada B")
    await _worked(world.memory)
    [upload] = (await world.memory.uploads.list(as_actor(world.ada))).items
    assert (upload.status, upload.counts.messages_added) == ("ready", 2), upload.reason
    zone = ZoneInfo((await world.memory.users.get(ADMIN, world.ada.id)).time_zone)
    assert upload.counts.first == datetime(2023, 4, 3, 9, 15, tzinfo=zone)
    wrong = await admin_there.client.post(
        f"{path}/{upload.id}/check", data={"token": admin_there.token, "time_zone": "Mars/Base"}
    )
    assert (wrong.status_code, "Mars" in wrong.text) == (422, False)
    # One's own file has nobody else's words, so that nobody is asked for.
    await _upload(ada_there, world, chat)
    await _worked(world.memory)
    assert f'id="me-{upload.id}"' in await ada_there.get(path)
    newest, *_ = (await world.memory.uploads.list(as_actor(world.ada))).items
    assert f'id="me-{newest.id}"' not in ada_there.page


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.txt", b"no export at all"),
        ("broken.zip", b"PK\x03\x04 and no more"),
        ("x.json", b"[" * 5000),
        ("../../etc/passwd", b"{"),
        ("a\x00\u202e\ud7ff?*.json" + "\u20ac" * 300, b"\xff\xfe"),
    ],
)
async def test_what_is_no_export_says_so(
    world: World, ada_there: Browser, tmp_path: Path, name: str, content: bytes
) -> None:
    """In words, on the page; one can try again, or remove it."""
    path = f"{base(world)}/start/history"
    await ada_there.get(path)
    answer = await ada_there.client.post(
        path, data={"token": ada_there.token}, files={"file": (name, content)}
    )
    assert answer.status_code == 303, answer.text[:500]
    await _worked(world.memory)
    page = await ada_there.get(path)
    assert "Not imported" in page
    [upload] = (await world.memory.uploads.list(as_actor(world.ada))).items
    assert upload.reason
    assert "unexpected" not in upload.reason
    assert "/tmp" not in upload.reason  # noqa: S108 - nothing is opened
    await ada_there.post(f"{path}/{upload.id}/import")
    await _worked(world.memory)
    assert "Not imported" in await ada_there.get(path)
    await ada_there.post(f"{path}/{upload.id}/remove")
    assert rows("SELECT count(*) FROM uploads") == [(0,)]


@pytest.mark.parametrize(
    ("data", "files"),
    [
        ({}, {}),
        ({}, {"file": ("empty.json", b"")}),
        ({"file": "text"}, {}),
        ({}, {"other": ("x.json", b"{}")}),
    ],
)
async def test_a_form_without_a_file_is_refused(
    world: World, ada_there: Browser, data: dict[str, str], files: dict[str, Any]
) -> None:
    """The field is named, and nothing is stored."""
    path = f"{base(world)}/start/history"
    await ada_there.get(path)
    answer = await ada_there.client.post(
        path, data={"token": ada_there.token, **data}, files=files or None
    )
    assert answer.status_code == 422
    assert 'id="wrong-file"' in answer.text
    assert rows("SELECT count(*) FROM uploads") == [(0,)]


async def test_a_file_needs_the_token_of_the_session(world: World, ada_there: Browser) -> None:
    """Other sites, and forms of an earlier session, bring none."""
    path = f"{base(world)}/start/history"
    files = {"file": ("x.json", b"[]")}
    await ada_there.get(path)
    stale = await ada_there.client.post(path, data={"token": "x"}, files=files)
    foreign = await ada_there.client.post(
        path, data={"token": ada_there.token}, files=files,
        headers={"Sec-Fetch-Site": "cross-site"},
    )  # fmt: skip
    assert (stale.status_code, foreign.status_code) == (403, 403)
    assert rows("SELECT count(*) FROM uploads") == [(0,)]


async def test_uploads_are_of_one_person_and_few(
    world: World, ada_there: Browser, tmp_path: Path
) -> None:
    """Somebody else's and an unknown one are answered alike."""
    uploads = world.memory.uploads
    file = _chatgpt(tmp_path)
    for _ in range(MOST):
        await _upload(ada_there, world, file)
    assert "remove one first" in await _upload(ada_there, world, file, 409)
    own, *_ = (await uploads.list(as_actor(world.ada))).items
    assert (await uploads.list(as_actor(world.bob))).items == []
    for upload_id in (own.id, uuid4()):
        with pytest.raises(NotFound, match="no such upload"):
            await uploads.start(as_actor(world.bob), upload_id)
        with pytest.raises(NotFound, match="no such upload"):
            await uploads.remove(as_actor(world.bob), upload_id)
    with pytest.raises(Conflict):
        await uploads.start(as_actor(world.ada), own.id)


# Pause ---------------------------------------------------------------------------------


async def test_remembering_is_paused_in_one_conversation(world: World, ada_there: Browser) -> None:
    """And again not, with the button in its place."""
    path = f"{base(world)}/conversations/{world.talk}"
    await ada_there.get(path)
    page = await ada_there.post(f"{path}/pause")
    assert "Remembering is paused" in page
    assert "Paused" in await ada_there.get(f"{base(world)}/conversations")
    assert rows("SELECT count(*) FROM conversations WHERE paused_at IS NOT NULL") == [(1,)]
    page = await ada_there.post(f"{path}/resume")
    assert "Pause remembering" in page
    await ada_there.get(f"{base(world)}/conversations/{world.bobs_talk}", 404)
    await ada_there.post(f"{base(world)}/conversations/{world.bobs_talk}/pause", 404)


async def test_a_person_pauses_remembering_altogether(
    app: Any, world: World, ada_there: Browser
) -> None:
    """What they say is off the record, nothing is stored of them, and others are not concerned."""
    memory, ada, bob = world.memory, as_actor(world.ada), as_actor(world.bob)
    await ada_there.get(f"{base(world)}/profile")
    page = await ada_there.post(f"{base(world)}/pause")
    assert "Remembering is paused" in await ada_there.get(base(world))
    assert "Remember again" in page
    talk = await memory.conversations.open(ada, ConversationCreate(title="A walk"))
    said = [
        MessageCreate(content="I have a new kayak.", user_id=world.ada.id),
        MessageCreate(content="Mine is yellow.", user_id=world.bob.id),
    ]
    result = await memory.conversations.append(as_actor(), talk.id, said)
    assert not result.off_record
    stored = (await memory.conversations.messages(ada, talk.id)).items
    assert [message.off_record for message in stored] == [True, False]
    items = rows(
        "SELECT count(*) FROM recall_items WHERE source_id = ANY (%s)", [m.id for m in stored]
    )
    assert items == [(1,)]
    with pytest.raises(Conflict, match="paused"):
        await memory.remember("Ada has a kayak.", user=world.ada)
    await memory.remember("Bob has a kayak.", user=world.bob)
    answer = await ada_there.client.post(
        f"{base(world)}/memories", data={"token": ada_there.token, "content": "A kayak of mine"}
    )
    assert answer.status_code == 409
    assert "A kayak of mine" in answer.text
    await ada_there.get(f"{base(world)}/profile")
    await ada_there.post(f"{base(world)}/resume")
    assert "Remembering is paused" not in await ada_there.get(base(world))
    await memory.remember("Ada has a kayak.", user=world.ada)
    # What was said meanwhile stays off the record.
    stored = (await memory.conversations.messages(bob, talk.id)).items
    assert [message.off_record for message in stored] == [True, False]


async def test_a_program_pauses_remembering(api: Api, ada: User) -> None:
    """With a field of the user, which says since when."""
    path = f"/api/users/{ada.id}"
    paused = await api.client.patch(path, json={"paused": True}, headers=api.service)
    assert paused.json()["paused_at"]
    again = await api.client.patch(path, json={"paused": True}, headers=api.service)
    assert again.json()["paused_at"] == paused.json()["paused_at"]
    body = {"user_id": str(ada.id), "content": "Ada has a kayak."}
    refused = await api.client.post("/api/memory/", json=body, headers=api.service)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (409, "user_id")
    resumed = await api.client.patch(path, json={"paused": False}, headers=api.service)
    assert resumed.json()["paused_at"] is None
    assert (await api.client.post("/api/memory/", json=body, headers=api.service)).is_success
    wrong = await api.client.patch(path, json={"paused": None}, headers=api.service)
    assert wrong.status_code == 422
