"""Commands about workspaces and within one, as a person runs them."""

import asyncio
import io
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from helpers import careless
from sqlalchemy import make_url
from test_cli import Cli, cli, refused
from test_mcp_stdio import connected, said

from remembrancer.db import migrate
from remembrancer.db.embedded import EmbeddedPostgres
from remembrancer.db.urls import libpq_url

__all__ = ["cli"]  # a fixture


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A data directory whose database runs, so that commands share it and start fast."""
    data_dir = tmp_path_factory.mktemp("cli") / "data"
    with EmbeddedPostgres(data_dir, shared_buffers="32MB") as running, careless():
        yield data_dir, running.start()


@pytest.fixture(autouse=True)
def _nothing_left(server: tuple[Path, str]) -> Iterator[None]:
    """Drop the workspaces of a test at its end."""
    yield
    with psycopg.connect(server[1], autocommit=True) as owner:
        for (database,) in owner.execute("DELETE FROM workspaces RETURNING database").fetchall():
            owner.execute(f'DROP DATABASE "{database}" WITH (FORCE)')


def test_a_workspace_is_created_listed_limited_suspended_and_dropped(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The secret is shown once; lists are rows; only a suspended one is dropped, once applied."""
    nothing = cli("workspaces", "list")
    assert (nothing.code, nothing.out) == (0, "")
    assert "To create one: remembrancer workspaces create NAME" in nothing.err
    created = cli("workspaces", "create", "acme")
    row, secret = created.out.splitlines()
    assert row.split("\t")[:4] == ["acme", "active", "main", migrate.newest()]
    assert re.fullmatch(r".*shown only once: rmb_acme\.[\w-]{43}", secret)
    limited = cli("workspaces", "create", "beta", "--requests-per-minute", 60, "--json").json
    assert limited["limits"] == {"requests_per_minute": 60}
    assert limited["secret"].startswith("rmb_beta.")

    listed = cli("workspaces", "list")
    assert [line.split("\t")[:2] for line in listed.out.splitlines()] == [
        ["acme", "active"],
        ["beta", "active"],
    ]
    assert "rmb_" not in listed.out
    for name, value in (("FORCE_COLOR", "1"), ("NO_COLOR", "1"), ("COLUMNS", "120")):
        monkeypatch.setenv(name, value)
    table = cli("workspaces", "list").out.splitlines()
    monkeypatch.undo()
    heads = ("Name", "State", "Server", "Schema", "Created", "Last used")
    assert [head for head in heads if any(head in line for line in table)] == list(heads)
    assert [line.split()[:2] for line in table if "active" in line] == [
        ["acme", "active"],
        ["beta", "active"],
    ]

    def limits() -> dict[str, int | None]:
        found = cli("workspaces", "list", "--json").json
        return {each["name"]: each["limits"]["requests_per_minute"] for each in found}

    assert cli("workspaces", "limit", "acme", "--requests-per-minute", 600).code == 0
    assert cli("workspaces", "limit", "beta", "--none").code == 0
    assert "or --none" in refused(cli("workspaces", "limit", "acme"))
    assert limits() == {"acme": 600, "beta": None}

    assert "suspend it first" in refused(cli("workspaces", "drop", "acme", "--apply"))
    assert cli("workspaces", "suspend", "acme").out.split("\t")[1] == "suspended"
    assert "is suspended" in refused(cli("--workspace", "acme", "users", "list"))
    assert cli("workspaces", "resume", "acme").out.split("\t")[1] == "active"
    who = ("users", "resolve", "web", "ada", "--name", "Ada")
    assert cli("--workspace", "acme", *who).code == 0
    cli("workspaces", "suspend", "acme")
    told = cli("workspaces", "drop", "acme")
    assert told.out.startswith("acme: 1 user, 0 agents, 0 memories, 0 messages, ")
    assert told.out.endswith(" bytes to drop for good. To drop: --apply\n")
    receipt = cli("workspaces", "drop", "acme", "--json").json
    assert (receipt["dry_run"], receipt["users"], receipt["bytes"] > 0) == (True, 1, True)
    monkeypatch.setattr(sys, "stdin", io.StringIO("n\n"))
    assert "cancelled" in cli("workspaces", "drop", "acme", "--apply").err
    monkeypatch.undo()
    gone = cli("workspaces", "drop", "acme", "--apply", "--yes")
    assert (gone.code, gone.out.endswith(" bytes dropped.\n")) == (0, True)
    assert "no such workspace" in refused(cli("workspaces", "drop", "acme", "--apply"))
    assert list(limits()) == ["beta"]


def test_what_is_refused_of_workspaces_takes_one_line(cli: Cli) -> None:
    """A name that is taken, wrong or unknown, a server that is not there, a move that is none."""
    cli("workspaces", "create", "acme")
    for arguments, told in (
        ("create acme", "error: name: is the name of a workspace already; choose another"),
        ("create default", "error: name: always exists"),
        ("create Acme", "error: name: "),
        (f"create {'a' * 41}", "error: name: "),
        ("create -- -acme", "error: name: "),
        ("create beta --server two", "error: server: is no server of the setting"),
        ("limit acme --requests-per-minute 0", "--requests-per-minute"),
        *((f"{verb} nobody", "error: workspace: no such workspace") for verb in (
            "limit --none", "suspend", "undo-move", "drop"
        )),
        *((f"{verb} default", "error: workspace: ") for verb in (
            "limit --none", "suspend", "drop", "drop --apply"
        )),
        ("move acme two", "error: server: is no server of the setting"),
        ("move acme main", "error: server: is where the workspace is already"),
        ("move nobody main", "error: workspace: no such workspace"),
        ("move default main", "error: workspace: is the host itself"),
        ("move acme", "Missing argument 'server'"),
        ("confirm-move acme", "error: workspace: is not on its way to another server"),
        ("undo-move acme", "error: workspace: is not on its way to another server"),
        ("migrate --canary nobody", "error: workspace: no such workspace"),
        ("migrate --at-once 65", "--at-once"),
    ):  # fmt: skip
        line = refused(cli("workspaces", *arguments.split()))
        assert told in line, (arguments, line)
    for verb in ("list", "drop acme --apply"):
        line = refused(cli("--workspace", "acme", "workspaces", *verb.split()))
        assert (
            line
            == "error: workspaces are managed in the workspace default, with an admin key of it"
        )
    for name, *command in (
        ("nobody", "users", "list"), ("", "users", "list"), ("a\tb", "watch", ".", "--once"),
        ("nobody", "backup", "x.backup"), ("", "backup", "x.backup"),
    ):  # fmt: skip
        line = refused(cli("--workspace", name, *command))
        assert line == "error: workspace: no such workspace", (name, command)
    assert not Path("x.backup").exists()
    assert "serves all workspaces" in refused(cli("--workspace", "acme", "serve"))
    assert [each["name"] for each in cli("workspaces", "list", "--json").json] == ["acme"]


def test_workspaces_are_migrated_from_the_command_line(cli: Cli, server: tuple[Path, str]) -> None:
    """A failure is named, and the exit code says so; a repeated call goes on."""
    created = cli("workspaces", "create", "acme", "--json").json
    own = make_url(server[1]).set(database=created["database"]).render_as_string(False)
    migrate.downgrade(own, "0028")
    with psycopg.connect(server[1], autocommit=True) as owner:
        owner.execute("UPDATE workspaces SET revision = '0028'")
    with psycopg.connect(libpq_url(own), autocommit=True) as owner:
        owner.execute("CREATE TABLE workspaces ()")
        failed = cli("workspaces", "migrate")
        owner.execute("DROP TABLE workspaces")
    assert (failed.code, failed.err) == (2, "")
    first, last = failed.out.splitlines()
    assert first.startswith("acme: ")
    newest = f"brought to the schema {migrate.newest()}."
    assert last == f"0 workspaces {newest} The others are as before: run it again."
    done = cli("workspaces", "migrate", "--canary", "acme")
    assert (done.code, done.out) == (0, f"1 workspace {newest}\n")
    report = cli("workspaces", "migrate", "--json").json
    assert (report["items"], report["is_complete"]) == ([], True)
    assert cli("workspaces", "list").out.split("\t")[3] == migrate.newest()


def test_commands_work_on_the_workspace_that_is_named(cli: Cli, tmp_path: Path) -> None:
    """People, memories, keys, folders and backups; others have none of it."""
    for name in ("acme", "beta"):
        cli("workspaces", "create", name)
    here, there = ("--workspace", "acme"), ("--workspace", "beta")
    ada = cli(*here, "users", "resolve", "web", "ada", "--name", "Ada", "--json").json
    cli(*here, "remember", "Ada drinks tea.", "--user", "Ada")
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "talk.jsonl").write_text(json.dumps({"content": "Ada keeps bees."}))
    watched = cli(*here, "watch", folder, "--user", "Ada", "--once", "--still", "0.1")
    assert watched.code == 0, watched.err

    def hits(*options: str) -> list[str]:
        found = cli(*options, "recall", "What does Ada do?", "--user", "Ada", "--json").json
        return sorted(hit["content"] for hit in found["hits"])

    assert hits(*here) == ["Ada drinks tea.", "Ada keeps bees."]
    key = cli(*here, "keys", "create", "bot", "--json").json
    assert key["secret"].startswith("rmb_acme.")
    for options in ((), there):
        assert "no such user" in refused(cli(*options, "users", "show", ada["id"]))
        assert "bot" not in cli(*options, "keys", "list").out

    file = tmp_path / "acme.backup"
    assert cli(*here, "backup", file).code == 0
    assert "replace it with --replace" in refused(cli(*there, "restore", file, "--of", "acme"))
    line = refused(cli(*there, "restore", file, "--replace", "--yes"))
    assert "file: is a backup of the workspace acme; to restore it into beta" in line
    for options in ((), here):  # that of another would be no better
        assert "to restore it into" in refused(cli(*options, "restore", file, "--of", "beta"))
    assert "to restore it into default" in refused(cli("restore", file, "--replace", "--yes"))
    assert "of the workspace acme, as of" in cli("restore", file, "--check").out
    asked = cli(*there, "restore", file, "--of", "acme", "--replace")
    assert "All data in the workspace beta will be lost" in asked.out + asked.err
    assert cli(*there, "users", "list").out == ""
    restored = cli(*there, "restore", file, "--of", "acme", "--replace", "--yes")
    assert (restored.code, "is restored" in restored.out) == (0, True), restored.err
    assert hits(*there) == hits(*here) == ["Ada drinks tea.", "Ada keeps bees."]
    assert cli("users", "list").out == ""


def test_all_workspaces_are_backed_up(cli: Cli, server: tuple[Path, str], tmp_path: Path) -> None:
    """Each in a file with its name that only its owner reads; one that fails stops no other."""
    for name in ("acme", "beta"):
        cli("workspaces", "create", name)
    cli("--workspace", "acme", "remember", "Acme rows.", "--shared")
    cli("workspaces", "suspend", "acme")
    folder = tmp_path / "new" / "backups"
    done = cli("backup", "--all", folder)
    assert (done.code, len(done.out.splitlines())) == (0, 3), done.err
    names = ["acme.backup", "beta.backup", "default.backup"]
    assert sorted(path.name for path in folder.iterdir()) == names
    assert {path.stat().st_mode & 0o077 for path in (folder, *folder.iterdir())} == {0}
    for file in folder.iterdir():
        assert cli("restore", "--check", file).code == 0
    into = ("--workspace", "beta", "restore", folder / "acme.backup", "--of", "acme")
    cli(*into, "--replace", "--yes")
    assert "Acme rows." in cli("--workspace", "beta", "recall", "Who rows?").out

    again = cli("backup", "--all", folder)
    assert (again.code, again.out, again.err.count("replace it with --replace")) == (2, "", 3)
    with psycopg.connect(server[1], autocommit=True) as owner:
        owner.execute("UPDATE workspaces SET server = 'lost' WHERE name = 'acme'")
        part = cli("backup", "--all", folder, "--replace")
        owner.execute("UPDATE workspaces SET server = 'main' WHERE name = 'acme'")
    assert (part.code, len(part.out.splitlines())) == (2, 2)
    assert part.err.startswith("acme: server: is no server of the setting")
    line = refused(cli("--workspace", "acme", "backup", "--all", folder))
    assert "leave the workspace out" in line
    assert "exists" in refused(cli("backup", "--all", folder / "acme.backup"))


def test_an_assistant_works_on_the_workspace_that_is_named(cli: Cli) -> None:
    """What is installed for it names the workspace, and ``mcp`` serves that one."""
    cli("workspaces", "create", "acme")
    cli("--workspace", "acme", "users", "resolve", "web", "ada", "--name", "Ada")
    options = ("mcp", "install", "--client", "claude-code", "--user", "Ada")
    installed = cli("--workspace", "acme", *options).json["mcpServers"]["remembrancer"]

    async def tell() -> None:
        async with connected(*installed["args"]) as assistant:
            await said(assistant, "add_to_memory", content="I row", category="hobby")

    asyncio.run(tell())
    assert "I row" in cli("--workspace", "acme", "memories", "list", "--user", "Ada").out
    assert cli("users", "list").out == ""


def test_doctor_looks_at_servers_and_workspaces(
    cli: Cli, server: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Servers that are away or may not create databases are problems, as are lost workspaces."""
    assert "Server" not in cli("doctor").out
    cli("workspaces", "create", "acme")
    well = " ".join(cli("doctor").out.split())
    assert "✗" not in well
    assert "creations are possible, so are moves ✓ Workspaces 1 active" in well
    assert "Server" not in cli("--workspace", "acme", "doctor").out

    away = "postgresql://owner:secret@127.0.0.1:1/postgres"
    poor = make_url(server[1]).set(username="poor").render_as_string(False)
    with psycopg.connect(server[1], autocommit=True) as owner:
        owner.execute("CREATE ROLE poor LOGIN")
        try:
            for name, url in (("away", away), ("poor", poor)):
                monkeypatch.setenv(f"REMEMBRANCER_WORKSPACES__SERVERS__{name}__URL", url)
            ill = cli("doctor")
            owner.execute("ALTER ROLE poor CREATEDB")
            owner.execute("UPDATE workspaces SET server = 'lost', revision = '0001'")
            lost = cli("doctor")
        finally:
            owner.execute("UPDATE workspaces SET server = 'main'")
            owner.execute("DROP ROLE poor")
    assert (ill.code, lost.code) == (1, 1)
    told = " ".join(ill.out.split())
    assert "✗ Server away does not answer" in told
    assert "✗ Server poor no workspace can be created: its owner needs CREATEDB" in told
    told = " ".join(lost.out.split())
    assert "to move workspaces it needs an owner with REPLICATION" in told
    assert "✗ Workspaces acme: on servers that the setting workspaces.servers" in told
    assert "acme: an older schema; to migrate: remembrancer workspaces migrate" in told
