"""Helpers of the tests: people, clients, an empty store."""

import importlib.util
import io
import json
import socket
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import SystemRandom
from types import ModuleType
from typing import Any, ClassVar
from unittest.mock import patch

import httpx2
import numpy as np
import psycopg
from hypothesis import HealthCheck, Phase, settings
from psycopg.rows import namedtuple_row
from psycopg.sql import SQL, Identifier
from sqlalchemy import make_url

from remembrancer import Actor, Remembrancer, ResolveUser, Role, User, as_actor
from remembrancer.db.embedded.server import SETTINGS
from remembrancer.embeddings import onnx
from remembrancer.keys.schemas import KeyCreate

REPEATABLE = settings(
    deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
"""For all tests with examples that are made up: a slow machine is no fault of theirs."""

GENERATED = settings(
    max_examples=10,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate],
)
"""For tests that compare with another implementation: a few examples, always the same."""

ADMIN = Actor(Role.ADMIN)


def example(name: str) -> ModuleType:
    """An example, as a module of its own."""
    path = Path(__file__).parents[1] / "examples" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"example_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Store:
    """Where the store of this test process is, for a look past the services."""

    url: ClassVar[str]
    _connections: ClassVar[dict[str, psycopg.Connection[Any]]] = {}

    @classmethod
    def connection(cls, url: str) -> psycopg.Connection[Any]:
        """The connection of the database's owner; a new one for each look takes longer."""
        found = cls._connections.get(url)
        if found is None or found.closed:
            found = cls._connections[url] = psycopg.connect(
                url, autocommit=True, prepare_threshold=None, options="-c lock_timeout=60s"
            )
        return found

    @classmethod
    def close(cls) -> None:
        """Close the connections, before the server stops."""
        while cls._connections:
            cls._connections.popitem()[1].close()


def rows(statement: str, *values: Any) -> list[Any]:
    """What a statement answers to the owner of the database, whom nothing is hidden from."""
    cursor = Store.connection(Store.url).execute(statement, values or None)
    return cursor.fetchall() if cursor.description else []


def audit_lines() -> list[Any]:
    """The audit log, oldest line first."""
    cursor = Store.connection(Store.url).cursor(row_factory=namedtuple_row)
    return cursor.execute("SELECT * FROM audit_log ORDER BY id").fetchall()


def one_model() -> Any:
    """Load each model once in this process, and embed each text once.

    Loading takes a third of a second, and tests say the same words over and over.
    """
    load = onnx.OnnxEmbedder

    @cache
    def loaded(model: onnx.OnnxModel, **settings: Any) -> Any:
        embedder: Any = load(model, **settings)
        embed, known = embedder._pooled_states, {}

        def states(texts: Sequence[str]) -> Any:
            if new := [text for text in dict.fromkeys(texts) if text not in known]:
                known.update(zip(new, embed(new), strict=True))
            return np.stack([known[text] for text in texts])

        embedder._pooled_states = states
        return embedder

    return patch.object(onnx, "OnnxEmbedder", loaded)


def careless() -> Any:
    """Let a server forget its data in a power cut: no test has one, and all are faster."""
    settings = ("fsync", "full_page_writes", "synchronous_commit", "autovacuum")
    return patch.dict(SETTINGS, dict.fromkeys(settings, "off"))


def free_port() -> int:
    """A port for a server that cannot find one by itself, or starts again on the same one.

    None of those that the system gives to whoever connects somewhere: it would give it away.
    """
    for port in SystemRandom().sample(range(16_000, 32_000), 100):
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise OSError("no port is free")


@contextmanager
def database_beside(url: str, name: str) -> Iterator[str]:
    """A database of its own in the server at ``url``, gone at the end."""
    place = make_url(url)
    database = f"{place.database}_{name}"
    gone = SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(Identifier(database))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(gone)
        connection.execute(SQL("CREATE DATABASE {}").format(Identifier(database)))
        yield place.set(database=database).render_as_string(hide_password=False)
        connection.execute(gone)


def empty(database_url: str) -> None:
    """Remove every row but those that the first start writes."""
    connection = Store.connection(database_url)
    tables = connection.execute(
        "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables "
        "WHERE schemaname IN ('public', 'jobs') AND tablename NOT IN "
        "('alembic_version', 'memory_policy', 'embedding_model')"
    ).fetchall()
    # Few rows are deleted faster than as many tables are truncated; whole tables at once need
    # no look at foreign keys.
    deletes = "".join(f"DELETE FROM {table};" for (table,) in tables)
    with connection.transaction():
        connection.execute(
            f"SET LOCAL session_replication_role = replica; {deletes}"
            "UPDATE memory_policy SET allow_agent_specific_memory = true"
        )


async def person(memory: Remembrancer, name: str, platform: str = "discord") -> User:
    """A user of this name."""
    who = ResolveUser(platform=platform, platform_user_id=f"{name}-1", display_name=name)
    return await memory.users.resolve(as_actor(), who)


@dataclass(frozen=True)
class Api:
    """A client of the REST API, and keys to send."""

    client: httpx2.AsyncClient
    memory: Remembrancer
    service: dict[str, str]
    admin: dict[str, str]

    async def key_of(self, user: User) -> dict[str, str]:
        """Headers of a key that can only be ``user``."""
        return await headers_of(self.memory, KeyCreate(name="own", role=Role.USER, user_id=user.id))


async def exported(memory: Remembrancer, user: Any, actor: Any = None) -> list[dict[str, Any]]:
    """Return the records of a user's export as JSON Lines."""
    parts = memory.users.export(actor or as_actor(), getattr(user, "id", user))
    file = b"".join([part async for part in parts])
    return [json.loads(line) for line in file.splitlines()]


def texts_of(file: bytes) -> str:
    """Return all texts of an export, in whichever format."""
    if not file.startswith(b"PK"):
        return file.decode()
    with zipfile.ZipFile(io.BytesIO(file)) as archive:
        return "\n".join(name + archive.read(name).decode() for name in archive.namelist())


async def headers_of(memory: Remembrancer, key: KeyCreate) -> dict[str, str]:
    made = await memory.keys.create(ADMIN, key)
    return {"Authorization": f"Bearer {made.secret}"}
