"""What every test may use: a real store, people and agents in it, and ways to reach it."""

import asyncio
import gc
import os
import ssl
import time
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from datetime import time as clock
from functools import cache

import httpx2
import pytest
from entry_points import Door, PythonDoor, RestDoor
from fastapi import FastAPI
from helpers import (
    REPEATABLE,
    Api,
    Store,
    careless,
    database_beside,
    empty,
    headers_of,
    one_model,
    person,
)
from hypothesis import settings
from interrupts import let_children_be_interrupted
from pydantic import SecretStr
from scripted import Scripted

from remembrancer import (
    Agent,
    AgentCreate,
    Remembrancer,
    Role,
    Settings,
    User,
    as_actor,
)
from remembrancer.api import create_app
from remembrancer.db.embedded import EmbeddedPostgres
from remembrancer.db.engine import Database
from remembrancer.db.urls import service_url
from remembrancer.keys.schemas import KeyCreate
from remembrancer.recall import item_cache
from remembrancer.retention import service as retention
from remembrancer.settings import EmbeddingSettings, LimitSettings

let_children_be_interrupted()
# What is imported stays, and walking it for garbage takes a twentieth of a run.
gc.collect()
gc.freeze()
gc.set_threshold(50_000, 20, 20)
# Certificates are read once; for each client of a model it would be a thirtieth of a second.
ssl.create_default_context = cache(ssl.create_default_context)  # type: ignore[assignment]
# Stores of tests are small: what is chosen in memory is to be tested with them all the same.
item_cache.FEW = 0
# No test fails for what nobody has changed: an example that takes a while, or a new one.
settings.register_profile("repeatable", REPEATABLE)
settings.load_profile("repeatable")
# Old rows go when a test says so.
retention.FIRST = retention.INTERVAL

TEST_SECONDS = 120
"""Longer than a test with dates takes."""
LONG = ["test_doc_types", "test_looks", "test_walk", "test_tasks", "test_bad_input"]
"""Modules that begin first, so that no process is left with one of them at the end."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the long modules before the others."""
    items.sort(key=lambda item: [*LONG, item.path.stem].index(item.path.stem))


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session", autouse=True)
def bundled_model() -> Iterator[None]:
    with one_model():
        yield


@pytest.fixture(scope="session")
def database_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Postgres of this test process, or a database in REMEMBRANCER_TEST_DATABASE_URL's."""
    if url := os.environ.get("REMEMBRANCER_TEST_DATABASE_URL"):
        with database_beside(url, os.environ.get("PYTEST_XDIST_WORKER", "alone")) as own:
            yield own
            Store.close()
        return
    data_dir = tmp_path_factory.mktemp("store")
    server = EmbeddedPostgres(data_dir, shared_buffers="64MB")
    with careless():
        url = server.start()
    yield url
    Store.close()
    server.stop()


@pytest.fixture(scope="session")
async def opened(
    database_url: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Remembrancer]:
    settings = Settings(
        data_dir=tmp_path_factory.mktemp("data"),
        database_url=SecretStr(service_url(database_url)),
        database_owner_url=SecretStr(database_url),
        # Test processes run side by side; each has enough with one core.
        embedding=EmbeddingSettings(threads=1),
        # All people of all tests sign in from one address.
        limits=LimitSettings(sign_ins_per_minute=0),
    )
    async with Remembrancer.open(settings=settings) as memory:
        yield memory


@pytest.fixture
def one_day() -> None:
    """Let no midnight (UTC) fall into the test."""
    now = datetime.now(UTC)
    midnight = datetime.combine(now.date() + timedelta(days=1), clock(), UTC)
    if (left := (midnight - now).total_seconds()) < TEST_SECONDS:
        time.sleep(left)


@pytest.fixture
async def memory(opened: Remembrancer, database_url: str) -> Remembrancer:
    """An open store with nothing in it."""
    Store.url = database_url
    # What the test before has read is not to be written into this one.
    await opened.reads.flush()
    await opened.access_counts.flush()
    await opened.backend.usage_counts.flush()
    await opened.keys.uses.flush()
    # Beside the event loop: what it still has open must be able to end.
    await asyncio.to_thread(empty, database_url)
    return opened


@pytest.fixture
async def ada(memory: Remembrancer) -> User:
    return await person(memory, "Ada")


@pytest.fixture
async def bob(memory: Remembrancer) -> User:
    return await person(memory, "Bob")


@pytest.fixture
async def agent(memory: Remembrancer) -> Agent:
    return await memory.agents.create(as_actor(), AgentCreate(name="Helper"))


@pytest.fixture
def model() -> Iterator[Scripted]:
    """A language model that says what the test wants it to."""
    endpoint = Scripted()
    yield endpoint
    endpoint.close()


@pytest.fixture(scope="session")
async def application(opened: Remembrancer) -> FastAPI:
    """One for all tests: its first request builds its routes, which takes most of a second."""
    return create_app(opened)


@pytest.fixture
async def app(memory: Remembrancer, application: FastAPI) -> FastAPI:
    """The server over the store of this test, where nobody has signed in."""
    application.state.memory = memory
    return application


@pytest.fixture
async def api(memory: Remembrancer, app: FastAPI) -> AsyncIterator[Api]:
    transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
    # One request id for all, so that answers can be compared to the letter.
    async with httpx2.AsyncClient(
        transport=transport, base_url="http://test", headers={"X-Request-ID": "of-a-test"}
    ) as client:
        yield Api(
            client,
            memory,
            service=await headers_of(memory, KeyCreate(name="service", role=Role.SERVICE)),
            admin=await headers_of(memory, KeyCreate(name="admin", role=Role.ADMIN)),
        )


@pytest.fixture(params=["python", "rest"])
def door(request: pytest.FixtureRequest, memory: Remembrancer, api: Api) -> Door:
    """Each way in, in turn, as an agent's backend."""
    return (
        PythonDoor(memory, as_actor()) if request.param == "python" else RestDoor(api, api.service)
    )


@pytest.fixture
async def alone(memory: Remembrancer) -> AsyncIterator[Database]:
    """A pool of one connection, so that it is known which one a request takes."""
    database = Database(memory.database.url, pool_size=1)
    yield database
    await database.close()
