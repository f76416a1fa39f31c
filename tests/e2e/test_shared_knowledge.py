"""Shared knowledge is everybody's: who changes it, what the answer says, where it is listed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from entry_points import Door, PythonDoor, refusals
from helpers import Api, audit_lines
from pages import Browser, World
from test_client import client_of
from test_mcp import connected, refused

from remembrancer import (
    Agent,
    MemoryFilter,
    Remembrancer,
    Status,
    User,
    as_actor,
)
from remembrancer.chat.dispatch import ChatCommands
from remembrancer.chat.handler import SHARED
from remembrancer.cli import main
from remembrancer.settings import ToolSettings
from remembrancer.testing import FakePlatform

CLOSED = "The kitchen closes at nine."


async def _told(door: Door) -> str:
    return str((await door.remember(CLOSED, shared=True))["memory"]["id"])


async def test_only_a_request_for_nobody_changes_it(door: Door, ada: User, agent: Agent) -> None:
    """A user, and a service that acts for one, are told who may; nothing changes, both are
    logged."""
    shared = await _told(door)
    for way, user in ((door, ada), (await door.of(ada), None)):
        for refusal in await refusals(
            way.forget(shared, user=user),
            way.update(shared, user=user, content="The kitchen never closes."),
            way.pin(shared, user=user),
            way.activate(shared, user=user, active=False),
            way.associate(shared, shared, user=user),
            way.erase_memory(shared, user=user, dry_run=False),
        ):
            assert refusal.status == 403
    assert (await door.read(shared))["version"] == 1
    lines = [line for line in audit_lines() if line.outcome == "refused"]
    assert len(lines) == 12
    assert {tuple(line.target_ids) for line in lines} == {(shared,)}


async def test_the_answer_says_that_it_is_everybodys(door: Door, ada: User) -> None:
    """Whoever changes it reads so; the memory of one person does not say it."""
    shared = await _told(door)
    own = await door.remember("Ada likes tea.", user=ada)
    assert own["memory"]["shared"] is False
    for changed in (
        await door.update(shared, content="The kitchen closes at ten."),
        await door.forget(shared),
        await door.restore(shared),
    ):
        assert changed["shared"] is True
    assert await door.contents("When does the kitchen close?", user=ada, sources=["memory"]) == [
        "The kitchen closes at ten.",
        "Ada likes tea.",
    ]


async def test_it_is_a_list_of_its_own(door: Door, ada: User) -> None:
    """With the forgotten ones, for who may change it; a user's list can leave it out."""
    shared = await _told(door)
    gone = (await door.remember("The office is in Lisbon.", shared=True))["memory"]["id"]
    own = (await door.remember("Ada likes tea.", user=ada))["memory"]["id"]
    await door.forget(gone)

    async def ids(way: Door, **filters: Any) -> list[str]:
        return [one["id"] for one in (await way.listed(**filters))["memories"]]

    assert await ids(door, shared=True) == [shared]
    assert await ids(door, shared=True, user=ada) == [shared]
    assert await ids(door, shared=False, user=ada) == [own]
    forgotten = {"shared": True, "statuses": ["forgotten"]}
    assert await ids(door, **forgotten) == [gone]
    assert await ids(door, **forgotten, user=ada) == []
    assert await ids(await door.of(ada), **forgotten) == []
    [unknown] = await refusals((await door.of(ada)).forget(gone))
    assert unknown.status == 404
    await door.restore(gone)
    assert await ids(door, shared=True) == [gone, shared]


async def test_the_client_lists_it_and_restores_it(api: Api, ada: User) -> None:
    """By the same filter and methods as the library."""
    async with client_of(api, api.service) as client:
        kept = await client.remember(CLOSED, shared=True)
        assert (await client.memories.forget(kept.memory.id)).shared
        gone = MemoryFilter(shared=True, statuses=[Status.FORGOTTEN])
        [listed] = (await client.memories.list(gone)).items
        await client.memories.restore(listed.id)
        assert (await client.memories.list(MemoryFilter(shared=True))).total == 1
        assert (await client.memories.list(MemoryFilter(shared=False), user=ada)).total == 0


async def test_a_tool_changes_it_only_if_the_settings_say_so(
    door: Door, memory: Remembrancer, ada: User
) -> None:
    """Then as the agent itself, and the result says it; never with a user's own key."""
    shared = await _told(door)
    refusal = await door.call("forget_memory", {"memory_id": shared}, user=ada)
    assert refusal["error"]["kind"] == "forbidden"
    assert "shared knowledge" in refusal["text"]
    settings = memory.settings.model_copy(update={"tools": ToolSettings(shared=True)})
    trusting = PythonDoor(Remembrancer(settings, memory.database, memory.embedder), as_actor())
    own_key = await trusting.of(ada)
    refusal = await own_key.call("forget_memory", {"memory_id": shared})
    assert refusal["error"]["kind"] == "forbidden"
    changed = "The kitchen closes at ten."
    for name, given in (
        ("update_memory", {"memory_id": shared, "content": changed}),
        ("forget_memory", {"memory_id": shared}),
    ):
        answer = await trusting.call(name, given, user=ada)
        assert "every user" in answer["result"]["shared"], name
    assert (await door.listed(shared=True))["total"] == 0


async def test_a_user_is_told_why_in_mcp_and_in_a_chat(
    api: Api, door: Door, memory: Remembrancer, ada: User, agent: Agent
) -> None:
    """Not that there is no such memory: they see it."""
    shared = await _told(door)
    async with connected(api, ada) as client:
        assert "shared knowledge" in await refused(client, "forget_memory", memory_id=shared)
    chat = FakePlatform(ChatCommands(memory, agent.id), platform="discord", limit=2000)
    for command in (f"delete {shared}", f"edit {shared} It never closes."):
        [answer] = await chat.type(f"/memory {command}", user="Ada-1", name="Ada")
        assert answer == SHARED
    assert (await door.read(shared))["version"] == 1


async def test_a_chat_lists_it_without_an_id(
    door: Door, memory: Remembrancer, agent: Agent
) -> None:
    """Nobody there tries to delete it; their own memories have one."""
    shared = await _told(door)
    chat = FakePlatform(ChatCommands(memory, agent.id), platform="discord", limit=2000)
    [listed] = await chat.type("/memory", user="Ada-1", name="Ada")
    assert "told to everybody" in listed
    assert CLOSED in listed
    assert shared not in listed
    assert "delete" not in listed
    [found] = await chat.type("/memory search kitchen", user="Ada-1", name="Ada")
    assert CLOSED in found
    assert shared not in found
    await chat.type("/memory add I like tea", user="Ada-1", name="Ada")
    [listed] = await chat.type("/memory", user="Ada-1", name="Ada")
    assert listed.index("I like tea") < listed.index(CLOSED) < listed.index("delete")


async def test_admins_list_forget_and_restore_it_on_a_page(
    world: World, admin_there: Browser, ada_there: Browser
) -> None:
    """A user's own pages show it without buttons, and the admin's page is not theirs."""
    shared = (await world.memory.remember(CLOSED, shared=True)).memory.id
    page = await admin_there.get("/admin/shared")
    assert CLOSED in page
    page = await admin_there.post(f"/admin/shared/{shared}/forget")
    assert "Forgotten for everybody." in page
    assert CLOSED not in await admin_there.get("/admin/shared")
    assert CLOSED in await admin_there.get("/admin/shared?status=forgotten")
    await admin_there.post(f"/admin/shared/{shared}/restore")
    assert CLOSED in await admin_there.get("/admin/shared")
    await admin_there.get("/admin/shared?status=lost", 422)
    await ada_there.get("/admin/shared", 403)
    await ada_there.post(f"/admin/shared/{shared}/forget", 403)
    about_ada = f"/people/{world.ada.id}/memories"
    for browser in (ada_there, admin_there):
        page = await browser.get(about_ada)
        assert CLOSED in page
        assert f"{about_ada}/{shared}/forget" not in page
        await browser.post(f"{about_ada}/{shared}/forget", 403)


@pytest.fixture
def cli(
    memory: Remembrancer, database_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str]]:
    def run(*arguments: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as ended:
            main(["--data-dir", str(tmp_path), "--database-url", database_url, *arguments])
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out + said.err

    return run


async def test_the_command_line_lists_forgets_and_restores(
    memory: Remembrancer, ada: User, cli: Callable[..., tuple[int, str]]
) -> None:
    """With --shared, or of one user; one of the two is needed."""
    import asyncio

    shared = (await memory.remember(CLOSED, shared=True)).memory.id
    own = (await memory.remember("Ada likes tea.", user=ada)).memory.id

    async def ran(*arguments: str) -> str:
        code, said = await asyncio.to_thread(cli, "memories", *arguments)
        assert code == 0, said
        return said

    assert CLOSED in await ran("list", "--shared")
    listed = await ran("list", "--user", "Ada")
    assert "tea" in listed
    assert CLOSED not in listed
    assert "for every user" in await ran("forget", shared, "--shared")
    assert CLOSED in await ran("list", "--shared", "--status", "forgotten")
    assert "for every user" in await ran("restore", shared, "--shared")
    assert "every" not in await ran("forget", own, "--user", "Ada")
    assert "tea" in await ran("restore", own, "--user", "Ada")
    for given in (["list"], ["forget", shared, "--shared", "--user", "Ada"]):
        code, said = await asyncio.to_thread(cli, "memories", *given)
        assert (code, "--shared" in said) == (2, True)
    code, said = await asyncio.to_thread(cli, "memories", "forget", shared, "--user", "Ada")
    assert (code, "shared knowledge" in said) == (2, True)
