"""A store of an earlier revision comes forward and goes back, with its data."""

import gzip
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import psycopg
import pytest
from data.stores.write_store import ADMIN_KEY, ORDER, add_what_passes, fill
from helpers import database_beside, exported
from pydantic import SecretStr
from tables import content, shape

from remembrancer import Remembrancer, Role, Settings, as_actor
from remembrancer.backup import restore
from remembrancer.cli.doctor import check_rows, check_store
from remembrancer.db import migrate
from remembrancer.db.urls import libpq_url, service_url
from remembrancer.errors import DatabaseSetupError
from remembrancer.settings import EmbeddingSettings

STORES = Path(__file__).parents[1] / "data" / "stores"
REVISIONS = sorted(migrate._revisions())
CHANGED_FOR_GOOD = {
    "0001": {
        # 0006: private talk in a space belongs to its agent; blocks with facts of it are new
        "public.messages",
        "public.recall_items",
        "public.frozen_contexts",
        "public.frozen_lines",
        # 0007: of a message that was delivered twice, the second has no platform's id any more
    },
    "0017": set(),
}
"""By revision, the tables that are not as before after a way forward and back."""
TEXTS = """
SELECT 'message', id::text, content FROM messages
UNION ALL SELECT 'version', memory_id || version, content FROM memory_versions
UNION ALL SELECT 'memory', id || status || mention_count, content FROM memories
UNION ALL SELECT 'chunk', id::text, content FROM chunks
ORDER BY 1, 2
"""
LATER = (
    "INSERT INTO sessions (hash, user_id, expires_at) SELECT 's', id, now() FROM users LIMIT 1",
    "INSERT INTO sign_in_links (hash, expires_at) VALUES ('l', now())",
    "INSERT INTO uploads (owner_id, id, name, is_own) SELECT id, id, 'chat.zip', true FROM users",
    "INSERT INTO upload_parts SELECT owner_id, id, 1, 'part' FROM uploads",
    "INSERT INTO daily_usage VALUES (current_date, gen_random_uuid(), 'recall', 1, '{1}')",
    "INSERT INTO imports (id, total) VALUES (gen_random_uuid(), 1)",
    "INSERT INTO saved_filters (user_id, id, name, filters) SELECT id, id, 'mine', '{}' FROM users",
    "UPDATE memories SET external_id = 'x-' || id, quoted = true",
    "UPDATE chunks SET stale = true",
    "UPDATE messages SET edited_at = now()",
    "UPDATE users SET paused_at = now()",
)
"""What revisions after the first one made room for, beside what `fill` writes."""


@pytest.fixture(scope="module")
def shapes(database_url: str) -> dict[str, Mapping[str, Any]]:
    """What the migrations make, by revision."""
    found = {}
    with database_beside(database_url, "shapes") as url:
        for revision in REVISIONS:
            to(url, revision)
            found[revision] = built(libpq_url(url))
    return found


@pytest.fixture
def url(database_url: str, shapes: object) -> Iterator[str]:
    """An empty database, in a server that has the role of the application."""
    with database_beside(database_url, "earlier") as own:
        yield libpq_url(own)


def to(url: str, revision: str, way: Any = "upgrade") -> None:
    with migrate._owner(url) as engine, engine.begin() as connection:
        migrate._run(way, connection, revision)


def load(url: str, revision: str) -> None:
    sql = gzip.decompress((STORES / f"{revision}.sql.gz").read_bytes())
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql)


@pytest.mark.parametrize("revision", CHANGED_FOR_GOOD)
async def test_a_store_of_then_comes_forward_and_goes_back(
    revision: str,
    url: str,
    database_url: str,
    shapes: Mapping[str, object],
    tmp_path: Path,
) -> None:
    """Written by the code of then: no row is lost on either way, and what is there works."""
    load(url, revision)
    assert built(url) == shapes[revision], "an old migration was edited"
    before = content(url)
    assert [name for name, rows in before.items() if not rows] == []
    told = texts(url)
    migrate.migrate(url)
    forward = content(url)
    migrate.downgrade(url, revision)
    assert built(url) == shapes[revision]
    assert changed(before, content(url)) == CHANGED_FOR_GOOD[revision]
    assert texts(url) == told
    migrate.migrate(url)
    assert built(url) == shapes[REVISIONS[-1]]
    assert changed(content(url), forward) == set()
    with database_beside(database_url, "restored") as restored:
        restore(restored, STORES / f"{revision}.backup")
        assert changed(content(libpq_url(restored)), forward) == set()
    await check_that_it_works(url, tmp_path)


def changed(one: Mapping[str, list[str]], other: Mapping[str, list[str]]) -> set[str]:
    assert one.keys() == other.keys()
    return {name for name, rows in one.items() if rows != other[name]}


def texts(url: str) -> list[Any]:
    with psycopg.connect(url) as connection:
        return connection.execute(TEXTS).fetchall()


def built(url: str) -> dict[str, list[Any]]:
    """The shape, without what depends on the model and on the months there are."""
    passing = re.compile(r"_shared_vector|audit_log_\d{4}_\d\d")
    found = shape(url).items()
    return {name: [row for row in rows if not passing.search(str(row))] for name, rows in found}


def opened(url: str, folder: Path) -> Any:
    settings = Settings(
        data_dir=folder,
        database_url=SecretStr(service_url(url)),
        database_owner_url=SecretStr(url),
        embedding=EmbeddingSettings(threads=1),
    )
    return Remembrancer.open(settings=settings)


async def check_that_it_works(url: str, folder: Path) -> None:
    async with opened(url, folder) as memory:
        findings = [*await check_store(memory), *await check_rows(memory)]
        assert [each for each in findings if not each.good] == []
        admin = await memory.keys.authenticate(ADMIN_KEY, entry_point="test")
        assert admin.role is Role.ADMIN
        ada = await memory.users.find(as_actor(), "telegram", "ada-2")
        [hit, *_] = (await memory.recall("Where does Ada work?", user=ada)).hits
        assert hit.content == "Ada works at the town hall."
        listed = {each.content: each for each in (await memory.memories.list(as_actor(ada))).items}
        assert listed[ORDER].quoted
        assert "Ada drinks tea, never coffee." in listed
        assert "Ada's old flat was in Lund." not in listed
        types = [line["type"] for line in await exported(memory, ada)]
        assert types.count("message") >= 28
        again = await memory.remember("Ada drinks tea, never coffee.", user=ada)
        assert again.memory.mention_count == 3


async def test_every_revision_goes_back_to_the_one_before(
    url: str, shapes: Mapping[str, object], tmp_path: Path
) -> None:
    """With data of today, step by step, to the shape that each had, and to nothing."""
    async with opened(url, tmp_path) as memory:
        await fill(memory)
    add_what_passes(url)
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in LATER:
            connection.execute(statement)
    for revision in REVISIONS[-2::-1]:
        migrate.downgrade(url, revision)
        assert built(url) == shapes[revision], revision
    assert [name for name, rows in content(url).items() if not rows] == []
    to(url, "base", "downgrade")
    assert [name for name, rows in content(url).items() if rows] == []
    migrate.migrate(url)
    assert built(url) == shapes[REVISIONS[-1]]


def test_a_store_of_a_newer_version_is_not_opened(url: str) -> None:
    """It is told which, and what to do; so is a revision that there is not."""
    migrate.migrate(url)
    with pytest.raises(DatabaseSetupError, match="there is no revision 9999"):
        migrate.downgrade(url, "9999")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
        migrate.migrate(url)  # by its note, it only has more than this version knows
        connection.execute("COMMENT ON TABLE alembic_version IS 'usable from 9999'")
    for step in (migrate.migrate, lambda url: migrate.downgrade(url, "0001")):
        with pytest.raises(DatabaseSetupError, match=r"of a newer version \(revision 9999, this"):
            step(url)
