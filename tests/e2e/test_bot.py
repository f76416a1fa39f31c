"""Memory and AsyncMemory: the first program, names, turns, and chats with a scripted model."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path
from typing import Any, get_type_hints
from uuid import uuid4

import httpx2
import pytest
from helpers import ADMIN, Api, headers_of, rows
from openai import AsyncOpenAI, OpenAI
from scripted import Json, Reply, Scripted, minded
from serving import served
from test_workspaces import host

from remembrancer import (
    Agent,
    AgentCreate,
    AsyncClient,
    AsyncMemory,
    Client,
    ConfigurationError,
    Conflict,
    ConversationCreate,
    Forbidden,
    InvalidInput,
    MemberAdd,
    Memory,
    MemoryCreate,
    MemoryFilter,
    MemoryUpdate,
    MessageCreate,
    NotFound,
    RecallQuery,
    Remembrancer,
    RemembrancerError,
    ResolveUser,
    Role,
    SpaceCreate,
    Unauthenticated,
    Unavailable,
    User,
    as_actor,
)
from remembrancer.bot.server import ServerLibrary
from remembrancer.conversations.schemas import ConversationDetails
from remembrancer.keys.schemas import KeyCreate
from remembrancer.memories.keywords import MemoryChanges, MemoryDetails, MemoryFilters
from remembrancer.recall.schemas import RecallDetails
from remembrancer.settings import JobSettings, LanguageModelSettings
from remembrancer.spaces.schemas import MemberDetails, SpaceDetails
from remembrancer.users.schemas import ResolveDetails

__all__ = ["host"]  # a fixture

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(params=["library", "server"])
async def bot(
    request: pytest.FixtureRequest, memory: Remembrancer, api: Api
) -> AsyncIterator[AsyncMemory]:
    """The memory of a bot: over the library, and over a client of a server."""
    if request.param == "library":
        yield AsyncMemory.over(memory)
        return
    secret = secret_of(api.service)
    transport = httpx2.ASGITransport(app=api.client._transport.app)
    async with AsyncClient("http://test", secret, transport=transport) as client:
        yield AsyncMemory.over(client)


@pytest.fixture
def waiting(memory: Remembrancer, database_url: str, model: Scripted) -> Iterator[Memory]:
    """A blocking memory over the store of the test, with the scripted model."""
    llm = LanguageModelSettings(model="openai:scripted", base_url=model.base_url, timeout=60)
    changes = {"llm": llm, "jobs": JobSettings(in_server=False)}
    with Memory(database_url, settings=memory.settings.model_copy(update=changes)) as opened:
        yield opened


def secret_of(headers: dict[str, str]) -> str:
    return headers["Authorization"].removeprefix("Bearer ")


def texts() -> list[tuple[str, str]]:
    """All messages, in their order."""
    found: list[tuple[str, str]] = rows("SELECT role, content FROM messages ORDER BY sent_at, id")
    return found


# The first program -------------------------------------------------------------------------------


def test_the_first_program_says_the_same_twice(tmp_path: Path) -> None:
    """Started in an empty directory and again: no key, no server, no duplicate."""
    shown = [
        subprocess.run(
            [sys.executable, EXAMPLES / "hello.py"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(EXAMPLES.parent / "src")},
            capture_output=True,
            check=True,
        ).stdout.decode()
        for _ in range(2)
    ]
    assert shown[0] == shown[1]
    assert shown[0].endswith("I drink tea, never coffee.\n")


async def test_what_is_remembered_is_recalled_and_forgotten(bot: AsyncMemory) -> None:
    """By the same names, in the library and on a server; Bob recalls nothing of Ada."""
    first = await bot.remember("I drink tea, never coffee.", user="ada", kind="preference")
    again = await bot.remember("I drink tea, never coffee.", user="ada")
    assert (first.outcome, again.outcome) == ("created", "mentioned")
    answer = await bot.recall("What does Ada drink?", user="ada", limit=3)
    assert [hit.content for hit in answer.hits] == ["I drink tea, never coffee."]
    assert (await bot.recall("What does Ada drink?", user="bob")).hits == []
    await bot.forget(answer.hits[0].id, user="ada")
    assert (await bot.recall("What does Ada drink?", user="ada")).hits == []


async def test_a_blocking_memory_does_the_same(waiting: Memory, ada: User) -> None:
    """Also the operations that have no method of their own."""
    waiting.remember("I drink tea, never coffee.", user=ada)
    assert str(waiting.recall("What does Ada drink?", user=ada)).endswith("tea, never coffee.")
    page = waiting.wait(waiting.library.memories.list, as_actor(ada))
    assert [memory.content for memory in page.items] == ["I drink tea, never coffee."]


async def test_answers_read_well_in_a_terminal_and_a_notebook(bot: AsyncMemory) -> None:
    """Each hit is one line; markup of people is text in a notebook."""
    written = await bot.remember("I like <b>bold</b>\nmoves \x1b[31m.", user="ada")
    assert str(written) == "Remembered: I like <b>bold</b> moves [31m."
    answer = await bot.recall("What does Ada like?", user="ada")
    assert len(str(answer).splitlines()) == 1
    assert "&lt;b&gt;bold&lt;/b&gt;" in answer._repr_html_()
    assert "<b>" not in answer._repr_html_() + written._repr_html_()
    nothing = await bot.recall("What does Bob like?", user="bob")
    assert str(nothing) == nothing._repr_html_() == "Nothing is remembered of this."


@pytest.mark.parametrize(
    ("details", "model", "first"),
    [
        (MemoryDetails, MemoryCreate, {"content"}),
        (RecallDetails, RecallQuery, {"query"}),
        (MemoryChanges, MemoryUpdate, set()),
        (MemoryFilters, MemoryFilter, set()),
        (ResolveDetails, ResolveUser, set()),
        (ConversationDetails, ConversationCreate, set()),
        (SpaceDetails, SpaceCreate, set()),
        (MemberDetails, MemberAdd, set()),
    ],
)
def test_every_field_is_a_keyword(details: Any, model: Any, first: set[str]) -> None:
    """So that nobody needs the model for what they do every day."""
    assert set(get_type_hints(details)) | first == set(model.model_fields)


@pytest.mark.parametrize("place", ["library", "server"])
async def test_no_operation_of_every_day_needs_a_model(
    place: str, memory: Remembrancer, api: Api, agent: Agent
) -> None:
    """In the library and in the client; a model and a keyword beside it are refused."""
    transport = httpx2.ASGITransport(app=api.client._transport.app)
    async with AsyncClient("http://test", secret_of(api.service), transport=transport) as client:
        store: Any = memory if place == "library" else ServerLibrary(client)
        ada = await store.users.resolve(
            as_actor(), platform="discord", platform_user_id="1", display_name="Ada"
        )
        actor = as_actor(ada)
        talk = await store.conversations.open(actor, agent_id=agent.id, title="Tea")
        turn = await store.conversations.begin_turn(actor, talk.id, "I drink tea.")
        assert [message.content for message in turn.messages] == ["I drink tea."]
        statement = MemoryCreate(content="Ada drinks tea.")
        stored = await store.memories.remember(actor, statement)
        made = await store.memories.update(actor, stored.memory.id, kind="preference", subject=None)
        assert (made.kind, made.version) == ("preference", 2)
        page = await store.memories.list(actor, kinds=["preference"], statuses=["active"], limit=3)
        assert [item.id for item in page.items] == [made.id]
        assert [item.id async for item in store.memories.list.each(actor, kinds=["fact"])] == []
        counted = await store.memories.forget_many(actor, kinds=["preference"], dry_run=True)
        assert (counted.memories, counted.undo_id) == (1, None)
        space = await store.spaces.create(actor, name="Garden")
        invitation = await store.spaces.invite(actor, space.id, user_id="discord:2")
        assert (invitation.name, invitation.role) == ("Garden", "member")
        for call in (
            partial(store.memories.update, actor, made.id, MemoryUpdate(content="x"), kind="fact"),
            partial(store.memories.list, actor, MemoryFilter(), kinds=["fact"]),
        ):
            with pytest.raises(InvalidInput, match="must be in the Memory"):
                await call()
        with pytest.raises(InvalidInput, match="platform: is required"):
            await store.users.resolve(as_actor(), display_name="Ada")


# Names -------------------------------------------------------------------------------------------


async def test_a_user_is_named_in_any_way(bot: AsyncMemory, ada: User) -> None:
    """A user, an id, a platform's id, a name of one's own; a new name is a new user, once."""
    for user in (ada, ada.id, str(ada.id), "discord:Ada-1"):
        await bot.remember("I have a canoe.", user=user)
    for user in ("telegram:12", "app:eve", "eve"):
        await bot.remember("I have a kite.", user=user)
    names = rows("SELECT platform, platform_user_id FROM platform_links ORDER BY 1, 2")
    assert names == [("app", "eve"), ("discord", "Ada-1"), ("telegram", "12")]
    assert rows("SELECT count(*) FROM memories") == [(3,)]


async def test_a_name_of_a_person_is_theirs_until_another_is_given(bot: AsyncMemory) -> None:
    """A turn may give the display name; a message without one leaves it."""
    for said, name in (("Hi", None), ("I am Ada", "Ada"), ("Bye", None)):
        async with bot.turn(said, user="discord:7", name=name):
            pass
    assert rows("SELECT display_name FROM users") == [("Ada",)]


async def test_an_agent_is_named_in_any_way(bot: AsyncMemory, agent: Agent) -> None:
    """An agent, an id, a name; a new name is a new agent, once."""
    for who in (agent, agent.id, str(agent.id), "Helper", "Cook:", "Cook:"):
        await bot.remember("I have a canoe.", user="ada", agent=who)
    assert rows("SELECT name FROM agents ORDER BY 1") == [("Cook:",), ("Helper",)]


BAD_NAMES: list[tuple[dict[str, Any], type[RemembrancerError], str]] = [
    ({"user": "discrod:1"}, InvalidInput, "user: unknown platform; use app: for"),
    ({"user": "ada\n"}, InvalidInput, "user: must be an id, platform:id"),
    ({"user": ""}, InvalidInput, "user: must be an id, platform:id"),
    ({"user": uuid4()}, NotFound, "no such user"),
    ({"user": "ada", "agent": uuid4()}, NotFound, "no such agent"),
    ({"user": "ada", "agent": ""}, InvalidInput, "agent: must not be empty"),
    ({"user": "ada", "agent": "Twin"}, Conflict, "agent: several agents have this name; rename"),
]


@pytest.mark.parametrize(("names", "kind", "words"), BAD_NAMES)
async def test_case_54_a_name_that_cannot_be_is_one_clear_error(
    bot: AsyncMemory,
    memory: Remembrancer,
    names: dict[str, Any],
    kind: type[RemembrancerError],
    words: str,
) -> None:
    """What is wrong and what to do, on one line, and nothing is written."""
    for _ in range(2):
        await memory.agents.create(as_actor(), AgentCreate(name="Twin"))
    for attempt in (
        bot.remember("I have a canoe.", **names),
        bot.recall("canoe", **names),
        bot.turn("Hello", **names).__aenter__(),
    ):
        with pytest.raises(kind) as refused:
            await attempt
        assert words in str(refused.value)
        assert len(str(refused.value).splitlines()) == 1
    assert rows("SELECT 1 FROM memories UNION ALL SELECT 1 FROM messages") == []


async def test_ids_of_platforms_may_be_numbers(bot: AsyncMemory) -> None:
    """Those of Discord and Telegram are: the same as their text."""
    for message_id, chat in ((99, 5), ("99", "5")):
        async with bot.turn("Hello", user="discord:1", message_id=message_id, chat=chat) as turn:
            assert turn.is_repeat is (chat == "5")
    assert rows("SELECT platform_message_id FROM messages") == [("99",)]


BAD_ARGUMENTS: list[tuple[dict[str, Any], str]] = [
    ({"message_id": "x" * 600}, "message_id: "),
    ({"name": "x" * 600}, "name: "),
    ({"said": "\x00"}, "said: "),
]


@pytest.mark.parametrize(("arguments", "named"), BAD_ARGUMENTS)
async def test_what_is_wrong_with_a_turn_names_its_argument(
    bot: AsyncMemory, arguments: dict[str, Any], named: str
) -> None:
    """Not a field of a model, which the caller never wrote."""
    with pytest.raises(InvalidInput) as refused:
        async with bot.turn(**{"said": "Hello", "user": "ada", **arguments}):
            pass
    assert str(refused.value).startswith(named)


async def test_a_chat_on_an_unknown_platform_is_refused(bot: AsyncMemory) -> None:
    """It is more likely misspelt than new."""
    with pytest.raises(InvalidInput, match="chat: unknown platform"):
        async with bot.turn("Hello", user="ada", chat="telegarm:1"):
            pass


async def test_a_memory_that_is_not_open_says_so(tmp_path: Path, database_url: str) -> None:
    """Before `with`, and after it."""
    memory, later = Memory(tmp_path), AsyncMemory(database_url)
    with pytest.raises(Unavailable, match=r"not open; use it inside of: with Memory"):
        memory.recall("tea", user="ada")
    async with later:
        pass
    with pytest.raises(Unavailable, match="not open"):
        await later.recall("tea", user="ada")
    with pytest.raises(InvalidInput, match="source: must be a directory, or an address of http"):
        Memory("htp://127.0.0.1:8420", "rmb_x").open()


NO_SOURCES: list[tuple[tuple[Any, ...], dict[str, Any], str]] = [
    (("",), {}, "source: is empty"),
    ((" ",), {}, "source: is empty"),
    (("./memory", "rmb_x"), {}, "key: is for the address of a server"),
    (("postgresql://127.0.0.1/x", "rmb_x"), {}, "key: is for the address of a server"),
    ((None, "rmb_x"), {}, "key: is for the address of a server"),
    (("http://127.0.0.1:1", "rmb_x"), {"workspace": "acme"}, "workspace: is what the key of"),
]


@pytest.mark.parametrize(("where", "more", "words"), NO_SOURCES)
async def test_a_source_a_key_and_a_workspace_fit_together(
    where: tuple[Any, ...], more: dict[str, Any], words: str
) -> None:
    """An empty variable of the environment opens no other store, and no key is ignored."""
    with pytest.raises(InvalidInput) as refused:
        Memory(*where, **more).open()
    assert str(refused.value).startswith(words)
    with pytest.raises(InvalidInput) as refused:
        await AsyncMemory(*where, **more).open()
    assert str(refused.value).startswith(words)


async def test_a_memory_is_of_one_workspace(host: Remembrancer, database_url: str) -> None:
    """Beside the default one of its database; one that is not there is an error."""
    await host.workspaces.create(ADMIN, "tenant")
    settings = host.settings
    async with AsyncMemory(database_url, workspace="tenant", settings=settings) as memory:
        await memory.remember("I have a canoe.", user="ada")
        async with memory.turn("Hello", user="ada") as turn:
            turn.answer("Hello.")
    async with AsyncMemory.over(host) as default:
        assert (await default.recall("canoe", user="ada")).hits == []
    with Memory(database_url, workspace="tenant", settings=settings) as blocking:
        assert blocking.recall("canoe", user="ada", limit=1).hits[0].content == "I have a canoe."
    with pytest.raises(NotFound):
        Memory(database_url, workspace="nobody", settings=settings).open()


async def test_a_notebook_opens_and_closes(waiting: Memory, database_url: str) -> None:
    """In cells of their own: opening twice is opening once, closing twice closing once."""
    memory = Memory(database_url, settings=waiting._settings)
    assert repr(memory) == "<Memory, not open>"
    assert repr(memory.open()) == "<Memory, open>"
    memory.remember("I drink tea, never coffee.", user="ada")
    answer = memory.open().recall("What does Ada drink?", user="ada")
    assert "<td>I drink tea, never coffee.</td>" in answer._repr_html_()
    library = memory.library
    memory.close()
    memory.close()
    with pytest.raises(Unavailable, match=r"not open; .* call memory.open\(\)"):
        memory.recall("tea", user="ada")
    with pytest.raises(Unavailable, match="the store is closed; open it again"):
        await library.users.list(as_actor())
    with memory as again:
        assert len(again.recall("What does Ada drink?", user="ada").hits) == 1


def test_a_program_that_forgets_to_close_ends_all_the_same(tmp_path: Path) -> None:
    """With a database of its own, whose data the next program has."""
    program = """
from remembrancer import Memory
memory = Memory("store").open()
print(memory.remember("I drink tea, never coffee.", user="ada").outcome)
"""
    shown = [
        subprocess.run(
            [sys.executable, "-c", program],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(EXAMPLES.parent / "src")},
            capture_output=True,
            check=True,
            timeout=120,
        )
        for _ in range(2)
    ]
    assert [ended.stdout.decode().strip() for ended in shown] == ["created", "mentioned"]
    assert [ended.stderr.decode() for ended in shown] == ["", ""]


async def test_a_bot_works_in_the_workspace_that_its_key_or_its_settings_name(
    host: Remembrancer,
) -> None:
    """One memory over a server and over the library; in the host there is nothing of it."""
    created = await host.workspaces.create(ADMIN, "tenant")
    settings = host.settings.model_copy(update={"workspace": "tenant"})
    said = {"I drink tea, never coffee.", "I keep bees."}
    async with served(host) as url, AsyncMemory(url, created.secret) as remote:
        async with remote.turn("I drink tea, never coffee.", user="ada", agent="Pantry") as turn:
            turn.answer("Noted.")
        await remote.remember("I keep bees.", user="ada")
        async with AsyncMemory(settings=settings) as local:
            answer = await local.recall("What does Ada keep?", user="ada")
            assert {hit.content for hit in answer.hits} >= said
            await local.remember("I sail at night.", user="ada")
        answer = await remote.recall("When does Ada sail?", user="ada")
        assert {hit.content for hit in answer.hits} >= {*said, "I sail at night."}
        with Memory(settings=settings) as waiting:
            answer = waiting.recall("When does Ada sail?", user="ada")
        assert {hit.content for hit in answer.hits} >= {*said, "I sail at night."}
        assert (await AsyncMemory.over(host).recall("bees, tea, sail", user="ada")).hits == []
        assert texts() == []

        await host.workspaces.suspend(ADMIN, "tenant")
        for stopped in (AsyncMemory(url, created.secret), AsyncMemory(settings=settings)):
            with pytest.raises(Forbidden, match="is suspended"):
                await stopped.open()
    nowhere = settings.model_copy(update={"workspace": "nobody"})
    with pytest.raises(NotFound, match="no such workspace"):
        await AsyncMemory(settings=nowhere).open()


async def test_a_closed_client_says_so(memory: Remembrancer) -> None:
    """Both of them."""
    async with served(memory) as url:
        client, blocking = AsyncClient(url), Client(url)
        await client.close()
        blocking.close()
        for call in (client.health, blocking.health):
            with pytest.raises(Unavailable, match="this client is closed; make a new one"):
                await call()  # type: ignore[misc]


async def test_a_server_that_is_not_there_or_a_wrong_key_is_one_line(memory: Remembrancer) -> None:
    """The error comes as the memory is opened."""
    with pytest.raises(
        Unavailable, match=r"http://127.0.0.1:1 does not answer.*remembrancer serve"
    ):
        await AsyncMemory("http://127.0.0.1:1", "rmb_x").__aenter__()
    async with served(memory) as url:
        for key in ("rmb_wrong", None):
            with pytest.raises(Unauthenticated, match="`remembrancer keys create`"):
                await AsyncMemory(url, key).open()
            async with AsyncClient(url, key) as client:
                with pytest.raises(Unauthenticated, match="`remembrancer keys create`"):
                    await client.users.list()


async def test_a_server_is_used_like_a_directory(
    memory: Remembrancer, api: Api, ada: User, bob: User
) -> None:
    """With a key of a service, and with a user's own, whose turns need no name."""
    own = [
        await headers_of(memory, KeyCreate(name="own", role=Role.USER, user_id=user.id))
        for user in (ada, bob)
    ]

    def program(url: str, key: str, user: str | None) -> str:
        with Memory(url, key) as bot:
            bot.remember("I drink tea, never coffee.", user=user)
            with bot.turn("Hello", user=user) as turn:
                turn.answer("Hi")
            return str(bot.recall("What do I drink?", user=user))

    async with served(memory) as url:
        secret, *others = (secret_of(headers) for headers in (api.service, *own))
        for key, user in ((secret, "eve"), *((key, None) for key in others)):
            shown = await asyncio.to_thread(program, url, key, user)
            assert "I drink tea, never coffee." in shown
        with pytest.raises(InvalidInput, match="user: must be given"):
            async with AsyncMemory(url, secret) as bot, bot.turn("Hello", user=None):
                pass
    assert rows("SELECT count(*) FROM conversations") == [(3,)]


# Turns -------------------------------------------------------------------------------------------


async def test_a_turn_stores_what_was_said_and_the_answer(bot: AsyncMemory) -> None:
    """The next turn of the user's own chat, which nobody had to open, begins with both."""
    async with bot.turn("I moved to Lisbon.", user="ada", agent="Helper") as turn:
        turn.answer("Lovely!")
    async with bot.turn("Where do I live?", user="ada", agent="Helper") as turn:
        system, *messages = turn.messages
        assert system["role"] == "system"
        assert [message["role"] for message in messages] == ["user", "assistant", "user"]
        assert str(messages[-1]["content"]).endswith("\nWhere do I live?")
    assert texts() == [
        ("user", "I moved to Lisbon."),
        ("assistant", "Lovely!"),
        ("user", "Where do I live?"),
    ]
    async with bot.turn("Hello", user="bob", agent="Helper") as turn:
        assert "Lisbon" not in str(turn.messages)


async def test_a_turn_that_fails_keeps_what_was_said(bot: AsyncMemory) -> None:
    """The answer is stored if it was given before."""
    with pytest.raises(ZeroDivisionError):
        async with bot.turn("One", user="ada") as turn:
            raise ZeroDivisionError
    with pytest.raises(ZeroDivisionError):  # noqa: PT012
        async with bot.turn("Two", user="ada") as turn:
            turn.answer("Second")
            raise ZeroDivisionError
    async with bot.turn("Three", user="ada") as turn:
        turn.answer(" ")
    assert texts() == [("user", "One"), ("user", "Two"), ("assistant", "Second"), ("user", "Three")]


async def test_a_message_that_arrives_twice_is_a_repeat(bot: AsyncMemory) -> None:
    """Platforms deliver again; the turn says so, and asks the same."""
    for repeat in (False, True):
        async with bot.turn("Hello", user="ada", chat="telegram:1", message_id="17") as turn:
            assert turn.is_repeat is repeat
            assert str(turn.messages[-1]["content"]).endswith("Hello")
            if not turn.is_repeat:
                turn.answer("Hi")
    assert texts() == [("user", "Hello"), ("assistant", "Hi")]


async def test_case_53_a_group_has_its_chat_and_each_their_own_memory(bot: AsyncMemory) -> None:
    """Bob's texts in the group have his name; what is private of him is in no turn of Ada."""
    group: Any = {"agent": "Helper", "chat": "telegram:group-1"}
    await bot.remember("I am looking for another job.", user="telegram:2", agent="Helper")
    async with bot.turn("My salary is a secret.", user="telegram:2", agent="Helper") as turn:
        turn.answer("I will not tell.")
    systems = []
    for user, name, said in (
        ("telegram:1", "Ada", "Shall we meet on Friday?"),
        ("telegram:2", "Bob", "Friday is fine."),
        ("telegram:1", "Ada", "Where does Bob work, and what is his salary and job?"),
    ):
        async with bot.turn(said, user=user, name=name, **group) as turn:
            systems.append(turn.system)
            if name == "Bob":
                turn.answer("Then Friday.")
    *_, asked = turn.messages
    told = json.dumps(turn.messages)
    assert "Ada: Shall we meet on Friday?" in told
    assert "Bob: Friday is fine." in told
    assert str(asked["content"]).splitlines()[-1].startswith("Ada: Where does Bob work")
    assert "another job" not in told
    assert "a secret" not in told
    async with bot.turn("What is my salary?", user="telegram:2", agent="Helper") as turn:
        assert "another job" in turn.system
        assert "a secret" in json.dumps(turn.messages)
    # The system part is the same for everybody in the group, so that it stays in the cache.
    assert len(set(systems[1:])) == 1


async def test_a_prompt_for_claude_begins_with_a_user_and_is_cached(bot: AsyncMemory) -> None:
    """System apart with a mark for the cache; roles in turn; tools in its format."""
    await bot.remember("I am allergic to peanuts.", user="ada")
    async with bot.turn("Hello", user="ada", instructions="Be brief.") as turn:
        prompt = turn.anthropic
        assert turn.system.startswith("Be brief.\n\n")
    [system] = prompt["system"]
    assert "peanuts" in system["text"]
    assert system.get("cache_control") == {"type": "ephemeral"}
    assert [message["role"] for message in prompt["messages"]] == ["user"]
    assert {tool["name"] for tool in prompt["tools"]} >= {"add_to_memory", "memory_recall"}
    assert all(tool["input_schema"]["type"] == "object" for tool in prompt["tools"])


async def test_a_long_chat_gets_its_summaries(memory: Remembrancer, database_url: str) -> None:
    """The first turn starts the worker: nobody has to know of it."""
    async with AsyncMemory(database_url, settings=memory.settings) as bot:
        async with bot.turn("Hello", user="ada", chat="long") as turn:
            pass
        chat = turn.turn.stored.conversation_id
        said = [MessageCreate(content=f"Number {number}") for number in range(40)]
        await bot.library.conversations.append(as_actor("app:ada"), chat, said)
        async with asyncio.timeout(240):
            while not rows("SELECT 1 FROM chunks"):  # noqa: ASYNC110
                await asyncio.sleep(0.05)


# Models ------------------------------------------------------------------------------------------


def remembers_peanuts(body: Json) -> Reply:
    """A model that stores the allergy, and answers by what it is told."""
    last = body["messages"][-1]
    if last["role"] == "user" and last["content"].endswith("\nI am allergic to peanuts."):
        fact = {"content": "Ada is allergic to peanuts.", "category": "person", "subject": "Ada"}
        return Reply("A moment.", calls=[("add_to_memory", fact)])
    if last["role"] == "tool":
        return Reply("I will remember.")
    return Reply("No peanuts." if "peanuts" in json.dumps(body["messages"]) else "I do not know.")


async def test_the_tool_loop_runs_with_an_openai_client(bot: AsyncMemory, model: Scripted) -> None:
    """Calls run for the user of the turn, and the whole answer is stored."""
    model.said = remembers_peanuts
    async with AsyncOpenAI(base_url=model.base_url, api_key="none") as client:
        async with bot.turn("I am allergic to peanuts.", user="ada") as turn:
            answer = await turn.complete(client, model="scripted", temperature=0.5)
        assert answer == "A moment.\n\nI will remember."
        assert model.requests[0]["temperature"] == 0.5
        async with bot.turn("What may I eat?", user="bob") as turn:
            assert await turn.complete(client, model="scripted") == "I do not know."
        async with bot.turn("What may I eat?", user="ada", chat="lunch") as turn:
            assert await turn.complete(client, model="scripted") == "No peanuts."
    assert ("assistant", answer) in texts()


async def test_what_is_no_client_of_a_model_is_named(bot: AsyncMemory) -> None:
    """Such as the model in its place."""
    wrong: Any
    async with bot.turn("Hello", user="ada") as turn:
        for wrong in ("gpt-5-mini", None, bot):
            with pytest.raises(InvalidInput, match="client: is none; pass one with"):
                await turn.complete(wrong, model="scripted")


async def test_a_failing_model_costs_no_message(bot: AsyncMemory, model: Scripted) -> None:
    """An answer before a failure was not given to anybody, and a call of no tool is told to it."""
    model.said = [Reply("Wait.", calls=[("no_such_tool", {})]), Reply("down", 500)]
    async with AsyncOpenAI(base_url=model.base_url, api_key="none", max_retries=0) as client:
        with pytest.raises(Exception, match="down"):
            async with bot.turn("Hello", user="ada") as turn:
                await turn.complete(client, model="scripted")
    assert "no such tool" in model.requests[1]["messages"][-1]["content"]
    assert texts() == [("user", "Hello")]


async def test_blocking_turns_and_chats(waiting: Memory, model: Scripted) -> None:
    """With a blocking client, and whole with the model of the settings, in pieces."""
    model.said = remembers_peanuts
    client = OpenAI(base_url=model.base_url, api_key="none")
    with client, waiting.turn("I am allergic to peanuts.", user="ada", agent="Helper") as turn:
        assert turn.complete(client, model="scripted").endswith("I will remember.")
        assert turn.call_tool("memory_recall", {"query": "allergic"}).ok
    pieces = list(waiting.chat("What may I eat?", user="ada", agent="Helper"))
    assert len(pieces) > 1
    assert "".join(pieces) == "No peanuts."
    assert texts()[-1] == ("assistant", "No peanuts.")


async def test_a_chat_that_is_left_stores_what_was_shown(waiting: Memory, model: Scripted) -> None:
    """The rest is not waited for, and the next turn works."""
    model.said = [Reply("Once upon a time there was a long story.", hangs=True), Reply("Fine.")]
    for piece in waiting.chat("Tell me a story", user="ada"):
        assert piece
        break
    assert model.left_alone.wait(60)
    assert "".join(waiting.chat("Well?", user="ada")) == "Fine."
    [_, (role, shown), *_] = texts()
    assert role == "assistant"
    assert "Once upon a time there was a long story.".startswith(shown)


async def test_a_chat_streams_and_says_when_there_is_no_model(
    memory: Remembrancer, model: Scripted
) -> None:
    """Errors of the model reach the caller; what was said is stored."""
    bot = AsyncMemory.over(memory)
    with pytest.raises(ConfigurationError, match="REMEMBRANCER_LLM__MODEL, or pass model"):
        [piece async for piece in bot.chat("Hello", user="ada")]
    model.said = [Reply("Hello, Ada."), Reply("Named."), Reply("down", 503)]
    async with minded(memory, model.base_url) as minds, AsyncMemory.over(minds) as bot:
        pieces = [piece async for piece in bot.chat("Hello", user="ada")]
        assert "".join(pieces) == "Hello, Ada."
        named = [piece async for piece in bot.chat("Hello", user="ada", model="other")]
        assert "".join(named) == "Named."
        assert [request["model"] for request in model.requests] == ["scripted", "other"]
        with pytest.raises(Unavailable, match="did not answer"):
            [piece async for piece in bot.chat("Again", user="ada")]
    assert texts()[-2:] == [("assistant", "Named."), ("user", "Again")]
