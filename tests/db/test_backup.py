"""A store comes back from its backup to the row, or the target stays as it was."""

import asyncio
import hashlib
import json
import shutil
import signal
import stat
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
from helpers import ADMIN, database_beside, person
from psycopg.sql import SQL, Identifier
from sqlalchemy import make_url
from tables import content, shape

from remembrancer import (
    Remembrancer,
    Role,
    Settings,
    SpaceCreate,
    Visibility,
    as_actor,
)
from remembrancer.backup import Archive, Observer, back_up, restore
from remembrancer.cli import main
from remembrancer.db import migrate
from remembrancer.db.embedded import EmbeddedPostgres
from remembrancer.db.urls import driver_url, libpq_url
from remembrancer.errors import Conflict, DatabaseSetupError, InvalidInput
from remembrancer.ids import SHARED_OWNER
from remembrancer.keys.schemas import KeyCreate
from remembrancer.sample import fill
from remembrancer.settings import EmbeddingSettings

HOSTILE = 'tab\there\nnewline \\N \\. back\\slash, Glimåkra 🧶 and "quotes"'


@dataclass(frozen=True)
class Source:
    """A store with something in every part of it, and its backup."""

    url: str
    file: Path
    key: str
    user_id: UUID


@pytest.fixture(scope="module")
def source(database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Source]:
    folder = tmp_path_factory.mktemp("backup")
    with database_beside(database_url, "source") as own:
        url = libpq_url(own)
        key, user_id = asyncio.run(filled(url, folder))
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("SET search_path = jobs, public")
            connection.execute("SELECT enqueue('default', 'summarise', 'k1', '{\"a\": 1}')")
            connection.execute(
                "INSERT INTO job_outcomes (job_id, reason) SELECT id, 'x' FROM procrastinate_jobs"
            )
        back_up(url, folder / "store.backup")
        yield Source(url, folder / "store.backup", key, user_id)


async def filled(url: str, folder: Path) -> tuple[str, UUID]:
    """Put something in every part of a store; return the key of somebody in it."""
    settings = Settings(data_dir=folder, embedding=EmbeddingSettings(threads=1))
    async with Remembrancer.open(database_url=url, settings=settings) as memory:
        assert await fill(memory)
        zoe, bob = await person(memory, "Zoë"), await person(memory, "Bob")
        told = {"metadata": {"a": [1, None, "\\x"]}}
        await memory.remember(HOSTILE, user=zoe, **told)
        wanted = SpaceCreate(name="Loom", member_ids=[bob.id])
        space = await memory.spaces.create(as_actor(zoe), wanted)
        shared = {"space_id": space.id, "visibility": Visibility.SHARED}
        await memory.remember("It weaves.", user=zoe, **shared)
        key = await memory.keys.create(ADMIN, KeyCreate(name="k", role=Role.USER, user_id=zoe.id))
        return key.secret, zoe.id


@pytest.fixture
def fresh(database_url: str) -> Iterator[Callable[[str], str]]:
    """Makes empty databases beside the one of the other tests."""
    made = []

    def database(name: str, owner: str | None = None) -> str:
        made.append(name)
        with psycopg.connect(database_url, autocommit=True) as connection:
            connection.execute(SQL("CREATE DATABASE {}").format(Identifier(name)))
            if owner:
                statement = SQL("ALTER DATABASE {} OWNER TO {}")
                connection.execute(statement.format(Identifier(name), Identifier(owner)))
        return libpq_url(make_url(database_url).set(database=name).render_as_string(False))

    yield database
    with psycopg.connect(database_url, autocommit=True) as connection:
        for name in made:
            connection.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))


def test_everything_is_back_to_the_row(source: Source, fresh: Callable[[str], str]) -> None:
    """Rows, sequences, constraints, rules, grants, triggers; ids go on where they were."""
    target = fresh("whole")
    migrate.migrate(driver_url(target))
    expected = shape(target)
    counted: list[int] = []
    manifest = restore(target, source.file, observer=Observer(advance=counted.append))
    assert content(target) == content(source.url)
    assert sum(counted) == manifest.rows > 300
    assert shape(target) == expected
    with psycopg.connect(target) as connection:
        for table in ("recall_items", "jobs.procrastinate_jobs"):
            most = connection.execute(f"SELECT max(id) FROM {table}").fetchone()
            given = connection.execute(
                "SELECT nextval(pg_get_serial_sequence(%s, 'id'))", [table]
            ).fetchone()
            assert most is not None
            assert given is not None
            assert given[0] > most[0]


async def test_what_is_back_works(
    source: Source, fresh: Callable[[str], str], tmp_path: Path
) -> None:
    """Keys open it, recall finds, jobs wait, and row-level security hides what it must."""
    target = fresh("works")
    restore(target, source.file)
    settings = Settings(data_dir=tmp_path, embedding=EmbeddingSettings(threads=1))
    async with Remembrancer.open(database_url=target, settings=settings) as memory:
        holder = await memory.keys.authenticate(source.key, entry_point="test")
        assert holder.user_id == source.user_id
        hits = (await memory.recall("Which Glimåkra loom?", user=source.user_id)).hits
        assert hits[0].content == HOSTILE
        await memory.remember("A new statement of mine.", user=source.user_id)
    with psycopg.connect(target) as connection:
        jobs = connection.execute(
            "SELECT status, args FROM jobs.procrastinate_jobs WHERE lock = 'k1'"
        )
        assert jobs.fetchall() == [("todo", {"a": 1})]
        connection.execute("SET ROLE remembrancer_app")
        nobodys = connection.execute("SELECT DISTINCT owner_id FROM memories").fetchall()
        assert nobodys == [(SHARED_OWNER,)]
        connection.execute("SELECT app_act_as(%s, 'user')", [source.user_id])
        owners = connection.execute("SELECT DISTINCT owner_id FROM memories").fetchall()
        assert set(owners) == {(SHARED_OWNER,), (source.user_id,)}


def test_an_owner_who_is_no_superuser(source: Source, fresh: Callable[..., str]) -> None:
    """Row-level security, which is forced on the owner too, keeps no row from a backup."""
    with psycopg.connect(source.url, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS plain_owner")
        connection.execute("CREATE ROLE plain_owner LOGIN PASSWORD 'x'")
        connection.execute("GRANT remembrancer_app TO plain_owner")
    for name in ("owned", "owned_too"):
        url = fresh(name, "plain_owner")
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CREATE EXTENSION vector")
        as_owner = f"{url}{'&' if '?' in url else '?'}options=-crole%3Dplain_owner"
        if name == "owned":
            restore(as_owner, source.file)
            again = source.file.with_name("again.backup")
            back_up(as_owner, again, replace=True)
        else:
            restore(as_owner, again)
            assert content(url) == content(source.url)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("REASSIGN OWNED BY plain_owner TO CURRENT_USER")
            connection.execute("DROP OWNED BY plain_owner")


async def test_a_backup_is_of_one_moment(source: Source, tmp_path: Path) -> None:
    """What is committed while it is written is in none of its tables."""
    before = content(source.url)["public.users"]

    def meanwhile(_total: int) -> None:
        with psycopg.connect(source.url, autocommit=True) as connection:
            connection.execute("UPDATE users SET display_name = display_name || '!'")

    back_up(source.url, tmp_path / "b", observer=Observer(start=meanwhile))
    with psycopg.connect(source.url, autocommit=True) as connection:
        connection.execute("UPDATE users SET display_name = rtrim(display_name, '!')")
    with Archive(tmp_path / "b") as archive:
        [table] = [t for t in archive.manifest.tables if t.name == "public.users"]
        assert b"!" not in b"".join(archive.parts(table))
        assert table.rows == len(before)


# What is in the way ---------------------------------------------------------------------


@pytest.fixture
def target(source: Source, fresh: Callable[[str], str]) -> str:
    """A database with a store of its own."""
    url = fresh("target")
    restore(url, source.file)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DELETE FROM memories; UPDATE users SET display_name = 'Kept'")
    return url


def test_a_store_is_only_replaced_if_that_is_said(source: Source, target: str) -> None:
    """A database with something in it is refused; with ``replace`` nothing of it is left."""
    before = content(target)
    with pytest.raises(Conflict, match="has a store already; replace it with --replace"):
        restore(target, source.file)
    assert content(target) == before
    restore(target, source.file, replace=True)
    assert content(target) == content(source.url)


def test_a_store_in_use_is_not_replaced(source: Source, target: str) -> None:
    """Somebody who is connected would go on with what they have read."""
    with (
        psycopg.connect(target),
        pytest.raises(Conflict, match="1 other processes use the database; stop servers"),
    ):
        restore(target, source.file, replace=True)


class Stop(Exception):
    pass


def test_an_error_in_the_middle_leaves_the_target_as_it_was(source: Source, target: str) -> None:
    """Whatever was written of it by then."""
    before, seen = content(target), []

    def fails(count: int) -> None:
        seen.append(count)
        if len(seen) == 12:
            raise Stop

    with pytest.raises(Stop):
        restore(target, source.file, replace=True, observer=Observer(advance=fails))
    assert sum(seen) > 0
    assert content(target) == before


@pytest.mark.parametrize("task", ["restore", "back_up"])
def test_kill_9_in_the_middle(source: Source, target: str, tmp_path: Path, task: str) -> None:
    """A restore that was killed has changed nothing, a backup that was killed is not there."""
    before = content(target)
    file = source.file if task == "restore" else tmp_path / "killed"
    program = (
        "import itertools, os, pathlib, sys\n"
        f"from remembrancer.backup import Observer, {task}\n"
        "steps = itertools.count()\n"
        "def killed(_): next(steps) == 8 and os.kill(os.getpid(), 9)\n"
        "observer = Observer(advance=killed)\n"
        f"{task}(sys.argv[1], pathlib.Path(sys.argv[2]), replace=True, observer=observer)\n"
    )
    ran = subprocess.run([sys.executable, "-c", program, target, str(file)], check=False)
    assert ran.returncode == -signal.SIGKILL
    assert not (tmp_path / "killed").exists()
    # The server sees the end of the connection a moment later.
    with psycopg.connect(source.url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = 'target'"
        )
    assert content(target) == before


def test_an_older_backup_is_migrated(
    source: Source,
    fresh: Callable[[str], str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A backup of the schema before comes back with the columns of today."""
    migrations = tmp_path / "migrations"
    shutil.copytree(str(migrate.MIGRATIONS), migrations)
    newest = migrate.newest()
    following = f"{int(newest) + 1:04}"
    (migrations / "versions" / f"{following}_mood.py").write_text(
        "from alembic import op\n"
        f"revision, down_revision = '{following}', '{newest}'\n"
        "branch_labels, depends_on = None, None\n"
        "def upgrade():\n"
        "    op.execute(\"ALTER TABLE agents ADD COLUMN mood text NOT NULL DEFAULT 'calm'\")\n"
    )
    monkeypatch.setattr(migrate, "MIGRATIONS", migrations)
    url = fresh("older")
    restore(url, source.file)
    restored, expected = content(url), content(source.url)
    assert restored.keys() == expected.keys()
    for table in restored:
        if table not in {"public.agents", "public.alembic_version"}:
            assert restored[table] == expected[table], table
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT DISTINCT mood FROM agents").fetchall() == [("calm",)]


# The file -------------------------------------------------------------------------------


def test_the_file_is_for_its_owner_alone(source: Source) -> None:
    """Mode 0600, nothing left beside it, and whole."""
    assert stat.S_IMODE(source.file.stat().st_mode) == 0o600
    assert not list(source.file.parent.glob(".*"))
    counted: list[int] = []
    with Archive(source.file) as archive:
        archive.check(Observer(advance=counted.append))
        assert sum(counted) == archive.manifest.rows


def test_a_file_that_is_there_stays(source: Source, tmp_path: Path) -> None:
    """It is overwritten only if that is said, and then at the very end."""
    file = tmp_path / "b"
    file.write_text("dear")
    with pytest.raises(InvalidInput, match="exists already"):
        back_up(source.url, file)

    def fails(_: int) -> None:
        raise Stop

    with pytest.raises(Stop):
        back_up(source.url, file, replace=True, observer=Observer(advance=fails))
    assert file.read_text() == "dear"
    assert [file.name for file in tmp_path.iterdir()] == ["b"]
    with pytest.raises(InvalidInput, match="no such file"):
        back_up(source.url, tmp_path / "absent" / "b")


def damaged(file: Path, target: Path, change: Callable[[dict[str, bytes]], None]) -> Path:
    with zipfile.ZipFile(file) as whole:
        parts = {name: whole.read(name) for name in whole.namelist()}
    change(parts)
    with zipfile.ZipFile(target, "w") as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return target


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            lambda p: p.update({"public.users": p["public.users"].replace(b"Bob", b"Rob")}),
            "damaged",
        ),
        (lambda p: p.pop("public.users"), "is damaged: public.users cannot be read"),
        (lambda p: p.pop("manifest.json"), "is not a complete backup"),
        (lambda p: p.update({"manifest.json": b"{}"}), "is not a complete backup"),
        (
            lambda p: p.update(
                {"manifest.json": p["manifest.json"].replace(b'"format": 1', b'"format": 2')}
            ),
            "comes from a newer version",
        ),
        (
            lambda p: p.update(
                {"manifest.json": p["manifest.json"].replace(b'"revision": "0', b'"revision": "9')}
            ),
            "comes from a newer version",
        ),
    ],
)
def test_a_damaged_file_changes_nothing(
    source: Source, fresh: Callable[[str], str], tmp_path: Path, change: Any, told: str
) -> None:
    """A changed row, a missing table, no manifest, a version from tomorrow: each is said."""
    url = fresh("damaged")
    file = damaged(source.file, tmp_path / "bad", change)
    with pytest.raises(InvalidInput, match=told):
        restore(url, file)
    with psycopg.connect(url) as connection:
        assert connection.execute(
            "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
        ).fetchone() == (0,)


def test_a_file_that_was_cut_off_is_no_backup(source: Source, tmp_path: Path) -> None:
    """As a full disk or a lost connection leaves one."""
    file = tmp_path / "cut"
    file.write_bytes(source.file.read_bytes()[:-1000])
    with pytest.raises(InvalidInput, match="is not a complete backup"):
        Archive(file)


def test_a_database_without_a_store_has_no_backup(
    fresh: Callable[[str], str], tmp_path: Path
) -> None:
    """It is said, and no file is left."""
    with pytest.raises(DatabaseSetupError, match="database has no store"):
        back_up(fresh("bare"), tmp_path / "b")
    assert not list(tmp_path.iterdir())


def test_an_error_of_the_database_quotes_no_row(
    source: Source, fresh: Callable[[str], str], tmp_path: Path
) -> None:
    """Postgres names the row that broke a rule; we name the kind of error alone."""

    def change(parts: dict[str, bytes]) -> None:
        first = parts["public.users"].split(b"\n")[0]
        twice = first + b"\n" + parts["public.users"]
        manifest = json.loads(parts["manifest.json"])
        for table in manifest["tables"]:
            if table["name"] == "public.users":
                table["rows"] += 1
                table["sha256"] = hashlib.sha256(twice).hexdigest()
        parts["public.users"] = twice
        parts["manifest.json"] = json.dumps(manifest).encode()

    file = damaged(source.file, tmp_path / "twice", change)
    with pytest.raises(DatabaseSetupError) as error:
        restore(fresh("twice"), file)
    assert (
        str(error.value)
        == "the backup cannot be restored (UniqueViolation 23505); nothing was changed"
    )
    assert error.value.__cause__ is None


def test_from_an_embedded_database_to_another(
    source: Source,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By the commands, one data directory to the next; what is not there is said."""
    monkeypatch.setenv("REMEMBRANCER_DATABASE__SHARED_BUFFERS", "32MB")

    def command(*words: object) -> tuple[int, str]:
        with pytest.raises(SystemExit) as ended:
            main(["--data-dir", str(tmp_path / "data"), *map(str, words)])
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out + said.err

    file = tmp_path / "b"
    code, said = command("backup", file)
    assert (code, said) == (
        2,
        f"error: there is no database in {tmp_path / 'data'}; set another --data-dir\n",
    )
    assert not (tmp_path / "data").exists()
    code, said = command("restore", source.file, "--check")
    assert (code, "store.backup is complete." in said) == (0, True)
    with EmbeddedPostgres(tmp_path / "data", shared_buffers="32MB") as server:
        # Commands share the server that runs, as beside `serve`.
        url = server.start()
        code, said = command("restore", source.file)
        assert (code, "is restored." in said) == (0, True)
        assert content(url) == content(source.url)
        code, said = command("restore", source.file)
        assert (code, said) == (
            2,
            "error: the database has a store already; replace it with --replace\n",
        )
        code, said = command("backup", file)
        assert (code, " rows written to " in said) == (0, True)
        code, _ = command("restore", file, "--replace", "--yes")
        assert code == 0
        assert content(url) == content(source.url)
