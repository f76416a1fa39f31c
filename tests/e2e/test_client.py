"""The clients of the REST API: every endpoint, the models and errors of the library."""

import asyncio
import inspect
import json
import re
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any
from uuid import UUID, uuid4

import httpx2
import pytest
import test_cases
from entry_points import Refused, RestDoor, id_of
from fastapi import FastAPI
from helpers import ADMIN, Api, rows
from pydantic import BaseModel
from serving import served
from test_workspaces import host

from remembrancer import (
    ContextQuery,
    ConversationCreate,
    Forbidden,
    InvalidInput,
    MemoryCreate,
    MemoryFilter,
    MemoryUpdate,
    MessageCreate,
    NotFound,
    PlaceCreate,
    PreconditionFailed,
    RecallQuery,
    RememberResult,
    Remembrancer,
    RemembrancerError,
    ResolveUser,
    SimilarMemoryExists,
    Unauthenticated,
    Unavailable,
    User,
)
from remembrancer.client import AsyncClient, Client, Retries
from remembrancer.client.calls import Call, part, refusal
from remembrancer.client.operations import Group
from remembrancer.errors import Conflict, DatabaseUnavailable, TooManyRequests, VersionConflict
from remembrancer.workspaces.schemas import (
    DropReceipt,
    MoveState,
    NewWorkspace,
    Workspace,
    WorkspaceLimits,
    WorkspaceMove,
    WorkspaceState,
)

__all__ = ["host"]  # a fixture

ID = uuid4()


def client_of(api: Api, key: dict[str, str], **how: Any) -> AsyncClient:
    """A client of the application in this process."""
    secret = key["Authorization"].removeprefix("Bearer ")
    transport = httpx2.ASGITransport(app=api.client._transport.app)
    return AsyncClient("http://test", secret, transport=transport, **how)


# Every endpoint --------------------------------------------------------------


def operations() -> Iterator[Any]:
    """Each operation of the client."""
    client = AsyncClient()
    for group in vars(client).values():
        if isinstance(group, Group):
            yield from (each for each in vars(type(group)).values() if hasattr(each, "endpoint"))
    yield type(client).health
    yield type(client).ready


def every_call() -> Iterator[Call[Any]]:
    """The request of each method, called with an argument of each type."""
    for operation in operations():
        yield operation.call(*_something(operation.signature), **_named(operation))


def _named(operation: Any) -> dict[str, Any]:
    """The user, and the model that may be keywords instead."""
    model = operation._options.model
    given = {"user": ID, **({} if model is None else {model[0]: Anything()})}
    return {name: value for name, value in given.items() if name in operation.signature.parameters}


OLDER_PATHS = {
    ("GET", "/api/agents/memories"): "memories.list",
    ("GET", "/api/agents/memories/search"): "memories.recall",
    ("GET", "/api/users/{user_id}/memories"): "memories.list",
    ("POST", "/api/users/{user_id}/recall"): "memories.recall",
    ("POST", "/api/memory/{memory_id}/associations"): "associations.add",
    ("POST", "/api/ai/legacies/{legacy_id}/facts"): "facts.add",
    ("PATCH", "/api/ai/facts/{fact_id}/visibility"): "facts.set_visibility",
}
"""Second paths of an operation, with the method of the client that uses the first."""


class Anything(BaseModel):
    """In the place of any model."""


def _something(signature: inspect.Signature) -> list[Any]:
    kinds = {"UUID": ID, "UUID | str": ID, "str": "x", "int": 1}
    given: list[Any] = []
    for one in list(signature.parameters.values())[1:]:
        if one.kind is one.POSITIONAL_OR_KEYWORD and one.default is one.empty:
            kind = getattr(one.annotation, "__name__", "").replace("Union", "")
            kind = kind or str(one.annotation).replace("uuid.", "")
            given.append(kinds.get(kind, [] if "Sequence" in str(one.annotation) else Anything()))
    return given


async def test_every_endpoint_has_a_method(application: FastAPI) -> None:
    """The client has each operation of the OpenAPI document, except the figures for Prometheus."""
    paths = dict(application.openapi()["paths"])
    del paths["/metrics"]
    served_at = {
        (method.upper(), path): re.compile(re.sub(r"\{[^}]*\}", "[^/]+", path))
        for path, operations in paths.items()
        for method in operations
    }
    missing = dict(served_at)
    for call in every_call():
        fitting = [
            one
            for one, pattern in served_at.items()
            if one[0] == call.method and pattern.fullmatch(call.path)
        ]
        # `/api/users/x` fits what `/api/users/resolve` is as well: the one without holes counts.
        exact = [one for one in fitting if one[1] == call.path] or fitting
        assert exact, (call.method, call.path)
        for one in exact:
            missing.pop(one, None)
    assert set(missing) == set(OLDER_PATHS)
    for name in OLDER_PATHS.values():
        assert callable(attrgetter(name)(AsyncClient())), name


@pytest.mark.parametrize("value", ["a/b", "..", ".", "a b", "ü", "?x=1", "#", "%2e", "\ud800"])
def test_an_id_stays_one_part_of_a_path(value: str) -> None:
    """Nothing in it leads to another endpoint."""
    assert re.fullmatch(r"[\w%~.-]+", part(value))
    assert set(part(value)) != {"."}


# Both clients ---------------------------------------------------------------


async def test_an_agent_can_do_its_work_with_it(api: Api, agent: Any) -> None:
    """From the first message to what is recalled in the next conversation, with models."""
    async with client_of(api, api.service) as client:
        assert await client.health()
        who = ResolveUser(platform="discord", platform_user_id="7", display_name="Ada")
        ada = await client.users.resolve(who)
        opened = await client.conversations.open(ConversationCreate(), user=ada)
        turn = await client.conversations.begin_turn(
            opened.id, MessageCreate(content="I play the flute"), user=ada
        )
        assert turn.messages[-1].content == "I play the flute"
        await client.conversations.finish_turn(opened.id, "Noted.", user=ada)
        group = ConversationCreate(platform="telegram", platform_conversation_id="group-1")
        first = await client.conversations.open(group, user=ada)
        bob = await client.users.resolve(who.model_copy(update={"platform_user_id": "8"}))
        assert (await client.conversations.open(group, user=bob)).id == first.id
        window = await client.conversations.messages(opened.id, user=ada)
        assert [one.content for one in window.items] == ["I play the flute", "Noted."]
        written = await client.memories.remember(
            MemoryCreate(content="Ada plays the flute", subject="flute"), user=ada
        )
        assert isinstance(written, RememberResult)
        answer = await client.memories.recall(RecallQuery(query="instrument"), user=ada)
        assert written.memory.id in {hit.id for hit in answer.hits}
        told = await client.conversations.context(ContextQuery(message="What do I play?"), user=ada)
        assert written.memory.id in told.stable.ids
        tool = await client.tools.call("memory_recall", {"query": "flute"}, user=ada)
        assert tool.ok
        await client.places.add(PlaceCreate(place_id="a/b", place_name="Home"), user=ada)
        assert (await client.places.mention("a/b", user=ada)).mention_count == 2
        assert (await client.places.get("a/b", user=ada)).place_name == "Home"
        file = b"".join([part async for part in client.users.export(ada.id)])
        assert {json.loads(line)["type"] for line in file.splitlines()} >= {"user", "memory"}
        receipt = await client.users.erase(ada.id)
        assert receipt.dry_run


async def test_the_one_that_waits_does_the_same(memory: Remembrancer, api: Api) -> None:
    """Over a socket, from a thread; pages and exports are iterators."""
    secret = api.admin["Authorization"].removeprefix("Bearer ")

    def work(url: str) -> None:
        with Client(url, secret) as client:
            who = ResolveUser(platform="discord", platform_user_id="7", display_name="Ada")
            ada = client.users.resolve(who)
            facts = [MemoryCreate(content=f"Fact number {n} of Ada") for n in range(5)]
            assert len(client.memories.remember_many(facts, user=ada).items) == 5
            page = client.memories.list(user=ada, limit=2)
            assert (len(page.items), page.total) == (2, 5)
            each = list(client.memories.list.each(user=ada, limit=2))
            assert sorted(one.content for one in each) == [one.content for one in facts]
            assert [user.id for user in client.users.list.each(limit=1)] == [ada.id]
            assert list(client.users.export(ada.id))
            assert client.keys.own().role == "admin"
            assert client.audit.list.each is not None
            assert [line.action for line in client.audit.list(limit=1).items]
            with pytest.raises(NotFound, match="memory_id: no such memory"):
                client.memories.get("zzzzzzzz", user=ada)
            with pytest.raises(NotFound):
                list(client.users.export(uuid4()))

    async with served(memory) as url:
        await asyncio.to_thread(work, url)


async def test_pages_are_gone_through_to_the_end(api: Api, ada: User) -> None:
    """Each item once, in the order of the list, with filters as they were."""
    async with client_of(api, api.service) as client:
        facts = [MemoryCreate(content=f"Fact number {n} of Ada") for n in range(4)]
        await client.memories.remember_many(facts, user=ada)
        await client.memories.remember(MemoryCreate(content="A goal", kind="goal"), user=ada)
        wanted = MemoryFilter(kinds=["fact"])
        each = [m async for m in client.memories.list.each(wanted, user=ada, limit=3)]
        whole = await client.memories.list(wanted, user=ada)
        assert [one.id for one in each] == [one.id for one in whole.items]
        assert len(each) == 4


# Workspaces ------------------------------------------------------------------

ON_ITS_WAY = WorkspaceMove(
    from_server="main", from_database="here", to_server="two", to_database="there",
    state=MoveState.MOVED, rows=7, started_at=datetime(2026, 11, 30, tzinfo=UTC),
)  # fmt: skip


async def test_both_clients_manage_workspaces(host: Remembrancer, api: Api) -> None:
    """Each operation has the models and errors of the library; only the host's admins have any."""
    secret = api.admin["Authorization"].removeprefix("Bearer ")
    async with served(host) as url:
        async with AsyncClient(url, secret) as client:
            created = await _manage(direct(client.workspaces))
            await host.workspaces.create(ADMIN, "tenant-2")
            names = [each.name async for each in client.workspaces.list.each(limit=1)]
            assert names == ["tenant-1", "tenant-2"]
            async with AsyncClient(url, created.secret) as stranger:
                await _refused(direct(stranger.workspaces))
                assert (await stranger.keys.own()).role == "admin"
                await client.workspaces.suspend("tenant-1")
                with pytest.raises(Forbidden, match="is suspended"):
                    await stranger.keys.own()
            receipt = await client.workspaces.drop("tenant-1", dry_run=False)
            assert (type(receipt), receipt.dry_run) == (DropReceipt, False)
        with Client(url, secret) as waiting:
            created = await _manage(threaded(waiting.workspaces))
            with Client(url, created.secret) as stranger_too:
                await _refused(threaded(stranger_too.workspaces))
            names = await asyncio.to_thread(
                lambda: [each.name for each in waiting.workspaces.list.each(limit=1)]
            )
            assert names == ["tenant-1", "tenant-2"]


Ask = Callable[..., Awaitable[Any]]


def direct(group: Any) -> Ask:
    return lambda name, *args, **how: getattr(group, name)(*args, **how)


def threaded(group: Any) -> Ask:
    return lambda name, *args, **how: asyncio.to_thread(getattr(group, name), *args, **how)


async def _manage(ask: Ask) -> NewWorkspace:
    """Use each operation, and return a workspace that is left."""
    limits = WorkspaceLimits(requests_per_minute=600)
    created = await ask("create", "tenant-1", limits=limits)
    assert (type(created), created.limits) == (NewWorkspace, limits)
    assert created.secret.startswith("rmb_tenant-1.")
    with pytest.raises(Conflict) as taken:
        await ask("create", "tenant-1")
    assert taken.value.field == "name"
    for name, server, field in (("Tenant", "main", "name"), ("tenant-3", "two", "server")):
        with pytest.raises(InvalidInput) as invalid:
            await ask("create", name, server=server)
        assert invalid.value.field == field
    found = await ask("get", "tenant-1")
    assert (type(found), found.model_dump()) == (
        Workspace,
        created.model_dump(exclude={"secret"}) | {"used_at": found.used_at},
    )
    changed = await ask("limit", "tenant-1", WorkspaceLimits())
    assert changed.limits == WorkspaceLimits()
    assert (await ask("list")).items[0].name == "tenant-1"
    rows("UPDATE workspaces SET move = %s", ON_ITS_WAY.model_dump_json())
    assert (await ask("get", "tenant-1")).move == ON_ITS_WAY
    rows("UPDATE workspaces SET move = NULL")
    for verb, *args in (("move", "main"), ("confirm_move",), ("undo_move",), ("drop",)):
        how = {"dry_run": False} if verb == "drop" else {}
        with pytest.raises(Conflict):
            await ask(verb, "tenant-1", *args, **how)
        with pytest.raises(NotFound, match="no such workspace"):
            await ask(verb, "nobody", *args, **how)
    with pytest.raises(InvalidInput, match="server: "):
        await ask("move", "tenant-1", "two", wait_seconds=0)
    assert (await ask("suspend", "tenant-1")).state is WorkspaceState.SUSPENDED
    would = await ask("drop", "tenant-1")
    assert (type(would), would.dry_run, would.bytes > 0) == (DropReceipt, True, True)
    assert (await ask("resume", "tenant-1")).state is WorkspaceState.ACTIVE
    assert isinstance(created, NewWorkspace)
    return created


async def _refused(ask: Ask) -> None:
    """Each operation is forbidden to the admin of a workspace, with the same words."""
    for verb, *args in (
        ("create", "more"), ("list",), ("get", "tenant-1"), ("limit", "nobody", WorkspaceLimits()),
        ("suspend", "tenant-1"), ("resume", "nobody"), ("move", "tenant-1", "main"),
        ("confirm_move", "tenant-1"), ("undo_move", "nobody"), ("drop", "tenant-1"),
    ):  # fmt: skip
        with pytest.raises(Forbidden, match="workspaces are managed in the workspace default"):
            await ask(verb, *args)


# Errors ----------------------------------------------------------------------


async def test_errors_are_those_of_the_library(api: Api, ada: User, bob: User) -> None:
    """By kind, field, reason and what else they carry."""
    async with client_of(api, api.service) as client:
        said = MemoryCreate(content="Ada has a cat", subject="cat")
        first = (await client.memories.remember(said, user=ada)).memory
        other = MemoryCreate(content="Ada's cat is 12 years old", subject="cat")
        with pytest.raises(SimilarMemoryExists) as similar:
            await client.memories.remember(other, user=ada)
        assert similar.value.extra["memory_id"] == first.id
        assert similar.value.request_id
        changes = MemoryUpdate(content="Ada has two cats", expected_version=7)
        with pytest.raises(VersionConflict) as conflict:
            await client.memories.update(first.id, changes, user=ada)
        assert (conflict.value.field, conflict.value.extra) == (
            "expected_version",
            {"current_version": 1},
        )
        with pytest.raises(PreconditionFailed):
            await client.memories.update(
                first.id, MemoryUpdate(content="x"), user=ada, if_version=7
            )
        with pytest.raises(NotFound, match="no such memory"):
            await client.memories.get(first.id, user=bob)
        with pytest.raises(InvalidInput) as wrong:
            await client.memories.list(limit=0)
        assert wrong.value.field == "limit"
    async with client_of(api, {"Authorization": "Bearer rmb_no"}) as nobody:
        with pytest.raises(Unauthenticated):
            await nobody.keys.own()


def test_a_wrong_argument_names_its_method() -> None:
    """As Python does for a function."""
    with Client("http://127.0.0.1:1", "rmb_x") as client:
        calls: list[tuple[Any, dict[str, Any], str]] = [
            (client.remember, {"content": "x", "importanse": 1}, r"remember\(\) got an unexpected"),
            (client.memories.list, {"limt": 1}, r"Memories.list\(\) got an unexpected"),
            (client.users.get, {}, r"Users.get\(\) missing a required argument: 'user_id'"),
        ]
        for method, arguments, words in calls:
            with pytest.raises(TypeError, match=words):
                method(**arguments)


async def test_a_server_that_is_not_there_is_unavailable() -> None:
    """Its address is named; no words of a request are."""
    quick = Retries(most=1, first_wait=0)
    async with AsyncClient("http://127.0.0.1:9", "x", retries=quick) as client:
        with pytest.raises(Unavailable, match=r"http://127.0.0.1:9.* does not answer"):
            await client.memories.recall(RecallQuery(query="hush"))
    with Client("http://127.0.0.1:9", "x", retries=quick) as waiting, pytest.raises(Unavailable):
        waiting.health()


def test_what_can_be_no_client_is_refused() -> None:
    """Before anything is sent."""
    with pytest.raises(InvalidInput, match="url: "):
        Client("http://[")
    with pytest.raises(InvalidInput, match="key: "):
        AsyncClient(key="rmb_\n")
    with Client() as client:
        for query in ("x\ud800", "x" * 100_000):
            with pytest.raises(InvalidInput, match="query: cannot be part"):
                client.users.find("discord", query)


@pytest.mark.parametrize(
    ("status", "document", "kind"),
    [
        (502, None, Unavailable),
        (404, "<html>", NotFound),
        (409, {"type": "about:blank", "title": "Conflict"}, Conflict),
        (418, {"type": "urn:remembrancer:teapot", "detail": "short", "errors": []}, InvalidInput),
        (503, {"type": "urn:remembrancer:database-unavailable"}, DatabaseUnavailable),
        (429, {"type": "urn:remembrancer:too-many-requests", "retry_after": 3}, TooManyRequests),
        (422, {"type": "urn:remembrancer:invalid-input", "errors": "x"}, InvalidInput),
        (422, {"type": "urn:remembrancer:invalid-input", "self": 1, "field": 2}, InvalidInput),
    ],
)
def test_any_refusal_is_an_error_of_the_library(status: int, document: Any, kind: type) -> None:
    """A proxy's page too, and a problem of another version."""
    assert type(refusal(status, document)) is kind


# Cases ----------------------------------------------------------------------


@dataclass(frozen=True)
class ClientDoor(RestDoor):
    """What agents do most, through the client; all else as its parent does it."""

    async def of(self, user: User) -> "ClientDoor":
        return replace(self, headers=await self.api.key_of(user))

    async def _ask(self, ask: Callable[[AsyncClient], Any]) -> Any:
        try:
            async with client_of(self.api, self.headers) as client:
                return (await ask(client)).model_dump(mode="json")
        except RemembrancerError as error:
            fields = [error.field] if error.field else []
            raise Refused(error.status, fields, **error.extra) from error

    async def remember(
        self, content: Any, *, user: Any = None, agent: Any = None, key: Any = None, **fields: Any
    ) -> Any:
        memory = MemoryCreate(content=content, **fields)
        whom: Any = {"user": id_of(user), "agent": id_of(agent), "idempotency_key": key}
        return await self._ask(lambda client: client.memories.remember(memory, **whom))

    async def read(self, memory_id: str, *, user: Any = None, agent: Any = None) -> Any:
        whom: Any = {"user": id_of(user), "agent": id_of(agent)}
        return await self._ask(lambda client: client.memories.get(memory_id, **whom))

    async def update(
        self, memory_id: str, *, user: Any = None, if_version: int | None = None, **changes: Any
    ) -> Any:
        wanted = MemoryUpdate(**changes)
        how: Any = {"user": id_of(user), "if_version": if_version}
        return await self._ask(lambda client: client.memories.update(memory_id, wanted, **how))

    async def recall(self, query: Any, *, user: Any = None, agent: Any = None, **how: Any) -> Any:
        wanted = RecallQuery(query=query, **how)
        whom: Any = {"user": id_of(user), "agent": id_of(agent)}
        return await self._ask(lambda client: client.memories.recall(wanted, **whom))

    async def say(
        self, conversation_id: Any, messages: Any, *, user: Any = None, key: Any = None
    ) -> Any:
        said = [MessageCreate(**one) for one in messages]
        how: Any = {"user": id_of(user), "idempotency_key": key}
        where = UUID(str(conversation_id))
        return await self._ask(lambda client: client.conversations.append(where, said, **how))


@pytest.mark.parametrize(
    "case",
    [
        test_cases.test_a_fact_first_written_by_many_at_once_is_one_memory,
        test_cases.test_a_key_that_comes_with_another_request_is_refused,
        test_cases.test_of_two_updates_from_version_three_one_lands_and_one_conflicts,
        test_cases.test_an_etag_that_is_not_current_fails_the_precondition,
        test_cases.test_retries_that_overtake_their_first_attempt_append_once,
        test_cases.test_what_two_users_tell_one_agent_stays_apart,
        test_cases.test_a_user_can_name_nobody_else,
    ],
)
async def test_cases_hold_through_the_client(
    case: Callable[..., Any], api: Api, ada: User, bob: User, agent: Any
) -> None:
    """Duplicates, lost and stale writes, isolation: as through any other way in."""
    known = {"door": ClientDoor(api, api.service), "ada": ada, "bob": bob, "agent": agent}
    await case(**{name: known[name] for name in inspect.signature(case).parameters})


# Again -----------------------------------------------------------------------


class Flaky:
    """A server that answers as it is told, one answer after the other."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[httpx2.Request] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.asked.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        status, headers = answer
        return httpx2.Response(status, headers=headers, json=WRITTEN)

    def client(self, **how: Any) -> AsyncClient:
        quick = Retries(first_wait=0.001)
        return AsyncClient("http://t", retries=quick, transport=httpx2.MockTransport(self), **how)


WRITTEN = {"role": "service", "user_id": None, "reset": 1, "next_cursor": None, "items": []}
GONE = httpx2.ConnectError("gone")
BUSY = (503, {})
LATER = (503, {"Retry-After": "0"})
OK = (200, {})


@pytest.mark.parametrize("trouble", [GONE, httpx2.ReadTimeout("slow"), BUSY, LATER, (429, {})])
async def test_what_only_reads_is_asked_again(trouble: Any) -> None:
    """When no answer comes, or the server is busy; three times, and no more."""
    flaky = Flaky(trouble, trouble, trouble, OK)
    async with flaky.client() as client:
        assert (await client.keys.own()).role == "service"
    flaky = Flaky(*[trouble] * 4, OK)
    async with flaky.client() as client:
        with pytest.raises((Unavailable, TooManyRequests)):
            await client.keys.own()
    assert len(flaky.asked) == 4


async def test_what_has_a_key_is_sent_again_with_it() -> None:
    """So the server does it once, however often it comes; a key of the caller is kept."""
    for key in (None, "mine"):
        flaky = Flaky(GONE, BUSY, OK)
        async with flaky.client() as client:
            with pytest.raises(Unavailable, match="cannot be read"):
                await client.memories.remember(MemoryCreate(content="x"), idempotency_key=key)
        keys = {one.headers["idempotency-key"] for one in flaky.asked}
        assert len(keys) == 1
        assert keys == {"mine"} or key is None


async def test_a_change_without_a_key_is_sent_once() -> None:
    """Unless the server says that it did nothing, and when to come back."""
    for trouble in (GONE, BUSY, (500, {})):
        flaky = Flaky(trouble, OK)
        async with flaky.client() as client:
            with pytest.raises(Unavailable):
                await client.preferences.reset_all(ID)
        assert len(flaky.asked) == 1
    for trouble in (LATER, (429, {"Retry-After": "0"})):
        flaky = Flaky(trouble, OK)
        async with flaky.client() as client:
            assert await client.preferences.reset_all(ID) == 1


def test_the_server_says_how_long_to_wait() -> None:
    """Up to a minute; else each wait may be twice as long as the one before."""
    call: Call[Any] = Call("GET", "/", repeatable=True)
    retries = Retries(first_wait=1)

    def wait(tried: int, seconds: str | None = None) -> float | None:
        headers = {} if seconds is None else {"Retry-After": seconds}
        return retries.wait(call, tried, httpx2.Response(429, headers=headers))

    assert wait(0, "17") == 17
    assert wait(0, "61") is None
    assert all(0.5 * 2**n <= (wait(n) or 0) <= 2**n for n in range(3))
    assert wait(3) is None
    assert retries.wait(call, 0, httpx2.Response(200)) is None
    assert retries.wait(call, 0, httpx2.Response(500)) is None
