"""``remembrancer mcp`` as a process of its own, with the client of the official SDK."""

import asyncio
import gc
import json
import os
import signal
import subprocess
import sys
import warnings
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from helpers import Api, careless
from mcp import Client, MCPError, StdioServerParameters, stdio_client
from mcp_types import ResourceTemplateReference, ResourceUpdatedNotification
from serving import served
from tool_walk import every_tool

from remembrancer import Remembrancer, User
from remembrancer.cli import main
from remembrancer.db.embedded import EmbeddedPostgres
from remembrancer.errors import ConfigurationError, DatabaseUnavailable
from remembrancer.mcp import stdio
from remembrancer.mcp.sources import Principal
from remembrancer.mcp.stdio import open_lazily

DOCUMENT = "remembrancer://document"
QUIET = os.environ | {"REMEMBRANCER_LOG_LEVEL": "warning", "NO_COLOR": "1", "COLUMNS": "200"}
PROGRAM = [sys.executable, "-m", "remembrancer"]


@asynccontextmanager
async def connected(
    *arguments: str, how: Mapping[str, Any] = MappingProxyType({}), **environment: str
) -> AsyncIterator[Client]:
    parameters = StdioServerParameters(
        command=PROGRAM[0], args=[*PROGRAM[1:], *arguments], env={**QUIET, **environment}
    )
    async with Client(stdio_client(parameters), **how) as client:
        yield client


async def said(client: Client, name: str, **arguments: Any) -> str:
    answer = await client.call_tool(name, arguments)
    assert not answer.is_error, answer.content[0].text
    text: str = answer.content[0].text
    return text


async def next_change(changes: Any) -> Any:
    async with asyncio.timeout(60):
        return await anext(changes)


async def test_it_shares_a_database_and_takes_it_over(tmp_path: Path) -> None:
    """A client calls tools, reads and prompts while another process runs the database; once that
    one has gone, the next call finds what was stored before.
    """
    owner = EmbeddedPostgres(tmp_path / "data", shared_buffers="32MB")
    with careless():
        await asyncio.to_thread(owner.start)
    try:
        async with connected(
            "--data-dir", str(tmp_path / "data"), "mcp", "--tools", "all"
        ) as client:
            await every_tool(client)
            await said(client, "add_to_memory", content="I keep bees", category="hobby")
            [contents] = (await client.read_resource("remembrancer://context")).contents
            assert "I keep bees" in contents.text
            [message] = (await client.get_prompt("start_conversation")).messages
            assert "I keep bees" in message.content.text
            with pytest.raises(MCPError, match="no such resource"):
                await client.read_resource("remembrancer://elsewhere")
            async with client.listen(resource_subscriptions=[DOCUMENT]) as changes:
                await said(client, "add_to_memory", content="I row", category="hobby")
                assert (await next_change(changes)).uri == DOCUMENT
                await asyncio.to_thread(owner.stop)
                found = await said(client, "memory_recall", query="What do I keep?")
                assert "I keep bees" in found
                # What happened while the database was away is not known.
                assert (await next_change(changes)).uri == DOCUMENT
    finally:
        await asyncio.to_thread(owner.stop)


async def test_it_shows_what_a_server_shows_to_a_key(
    memory: Remembrancer, api: Api, ada: User, bob: User, tmp_path: Path
) -> None:
    """With --url it opens no database; the user is the key's, whatever is asked for."""
    await memory.remember("Ada plays the flute", user=ada)
    theirs = (await memory.remember("Bob plays the drum", user=bob)).memory
    secret = (await api.key_of(ada))["Authorization"].removeprefix("Bearer ")
    key_file = tmp_path / "key"
    key_file.write_text(f"{secret}\n")
    async with (
        served(memory) as url,
        connected(
            *("--data-dir", "/nowhere", "mcp", "--url", url, "--key-file", str(key_file)),
            REMEMBRANCER_MCP__TOOLS="all",
        ) as client,
    ):
        found = json.loads(await said(client, "memory_recall", query="Who plays what?"))["found"]
        assert [hit["content"] for hit in found] == ["Ada plays the flute"]
        for uri in ("remembrancer://document", "remembrancer://context"):
            [contents] = (await client.read_resource(uri)).contents
            assert "flute" in contents.text
            assert "drum" not in contents.text
        [message] = (await client.get_prompt("start_conversation", {"message": "drum"})).messages
        assert "flute" in message.content.text
        with pytest.raises(MCPError, match="no such memory"):
            await client.read_resource(f"remembrancer://memories/{theirs.id}")
        wrong = await client.call_tool("forget_memory", {"memory_id": theirs.id})
        assert wrong.is_error
        assert "no memory has this id" in wrong.content[0].text
        with pytest.raises(MCPError, match="no such tool"):
            await client.call_tool("explode", {})
        await every_tool(client)
        async with client.listen(resource_subscriptions=[DOCUMENT]) as changes:
            await memory.remember("Bob rows", user=bob)
            await memory.remember("Ada rows", user=ada)
            assert (await next_change(changes)).uri == DOCUMENT
        answer = await client.complete(
            ResourceTemplateReference(uri="remembrancer://memories/{memory_id}{?page}"),
            {"name": "memory_id", "value": "plays the"},
        )
        assert answer.completion.total == 1
        assert theirs.id not in answer.completion.values


@pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
async def test_older_clients_subscribe_to_a_process(database_url: str, tmp_path: Path) -> None:
    """With the handshake, notifications come as they are."""
    heard: asyncio.Queue[str] = asyncio.Queue()

    async def hear(message: Any) -> None:
        if isinstance(message, ResourceUpdatedNotification):
            heard.put_nowait(message.params.uri)

    how: dict[str, Any] = {"mode": "legacy", "message_handler": hear}
    async with connected("--database-url", database_url, "mcp", how=how) as client:
        assert client.server_capabilities.resources.subscribe
        await client.session.subscribe_resource(DOCUMENT)
        await said(client, "add_to_memory", content="I row", category="hobby")
        async with asyncio.timeout(60):
            assert await heard.get() == DOCUMENT


def start(*arguments: str) -> subprocess.Popen[bytes]:
    """A process, with its input open."""
    return subprocess.Popen(
        [*PROGRAM, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**QUIET, "REMEMBRANCER_MCP__KEY": "rmb_x"},
    )


def test_it_ends_with_its_input_and_with_a_signal(database_url: str) -> None:
    """In order, and without a word."""
    both = [start("--database-url", database_url, "mcp") for _ in range(2)]
    for process, signalled in zip(both, (False, True), strict=True):
        with process:
            assert process.stdin
            assert process.stdout
            assert process.stderr
            process.stdin.write(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\nnonsense\n\n')
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["id"] == 1
            if signalled:
                process.send_signal(signal.SIGTERM)
            else:
                process.stdin.close()
            assert process.wait(60) == 0
            assert process.stderr.read() == b""


HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
CALL = {
    "jsonrpc": "2.0",
    "id": 2,
    "method": "tools/call",
    "params": {"name": "memory_recall", "arguments": {"query": "tea"}},
}


@pytest.mark.parametrize(
    "whom",
    [
        ["--user", "nobody:1"],
        ["--agent", "Nobody"],
        ["--url", "http://127.0.0.1:9"],
    ],
)
def test_what_cannot_be_opened_is_told_in_one_line(database_url: str, whom: list[str]) -> None:
    """Such as a user who is not there: exit code 2, and no client gets an answer before it."""
    with start("--database-url", database_url, "mcp", *whom) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        for request in (HELLO, {"jsonrpc": "2.0", "method": "notifications/initialized"}, CALL):
            process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.flush()
        assert process.wait(60) == 2
        assert process.stdout.read() == b""
        [line] = process.stderr.read().decode().splitlines()
        assert line.startswith("error: ")


def test_a_line_that_comes_after_the_end_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loop is gone, and nobody is warned."""

    async def lines() -> Any:
        return stdio._Lines()

    (tmp_path / "input").touch()
    with (tmp_path / "input").open() as source:
        monkeypatch.setattr(sys, "stdin", source)
        left = asyncio.run(lines())
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        with pytest.raises(RuntimeError):
            left._put("{}")
        gc.collect()
    assert [str(warning.message) for warning in warned] == []


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--url", "http://127.0.0.1:9"], "there is no API key for the server"),
        (["--url", "http://127.0.0.1:9", "--key-file", "nowhere"], "nowhere cannot be read"),
        (["--key-file", "x"], "key-file: is only for --url"),
        (["--url", "http://[", "--key-file", "x"], "url: must be an address"),
        (["--url", "http://x:99999"], "url: must be an address"),
    ],
)
def test_a_key_that_is_not_there_is_told(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything is opened."""
    with pytest.raises(SystemExit) as ended:
        main(["mcp", *arguments])
    assert ended.value.code == 2
    assert told in capsys.readouterr().err


async def _document(source: Any) -> Any:
    return await source.document(Principal())


class Store:
    """A store whose database is away after the first answer."""

    id_arguments = ("user_id",)

    def __init__(self, number: int) -> None:
        self.number = number
        self.asked = 0

    async def document(self, _whom: Principal) -> Any:
        self.asked += 1
        if self.number == 1 and self.asked > 1:
            raise DatabaseUnavailable("the database is away")
        return self.number


async def test_a_source_is_opened_again_once_for_all_who_miss_it() -> None:
    """Requests wait for the first opening, and for the next when the database has gone."""
    opened: list[int] = []
    closed: list[int] = []

    @asynccontextmanager
    async def opening() -> AsyncIterator[Any]:
        await asyncio.sleep(0)
        opened.append(len(opened) + 1)
        store = Store(len(opened))
        try:
            yield store
        finally:
            closed.append(store.number)

    async with open_lazily(opening, reopens=True) as source:
        assert await source.ask(_document) == 1
        asked = [source.ask(_document) for _ in range(5)]
        assert await asyncio.gather(*asked) == [2] * 5
    assert (opened, closed) == ([1, 2], [1, 2])


async def test_a_database_that_others_run_is_waited_for() -> None:
    """It comes back by itself: the request is refused, and nothing is opened again."""
    opened: list[int] = []

    @asynccontextmanager
    async def opening() -> AsyncIterator[Any]:
        opened.append(1)
        yield Store(1)

    async with open_lazily(opening) as source:
        assert await source.ask(_document) == 1
        with pytest.raises(DatabaseUnavailable):
            await source.ask(_document)
    assert opened == [1]


async def test_a_source_that_cannot_be_opened_ends_it() -> None:
    """Whoever waits for it is told why by the end of all."""

    @asynccontextmanager
    async def opening() -> AsyncIterator[Any]:
        raise ConfigurationError("no")
        yield

    with pytest.raises(ConfigurationError, match="no"):
        async with open_lazily(opening) as source:
            await source.ask(_document)


# Installing -------------------------------------------------------------------


def install(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["mcp", "install", *arguments])
    return int(ended.value.code or 0)


def test_install_prints_what_a_client_must_know(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """JSON on stdout, where it belongs on stderr; nothing is written."""
    monkeypatch.chdir(tmp_path)
    assert install("--client", "claude-code", "--user", "Ada") == 0
    printed = capsys.readouterr()
    made = json.loads(printed.out)["mcpServers"]["remembrancer"]
    assert made["args"][-3:] == ["mcp", "--user", "Ada"]
    assert Path(made["command"]).exists()
    assert f"{tmp_path}/.mcp.json" in printed.err
    assert list(tmp_path.iterdir()) == []


def test_install_refuses_a_platform_that_is_misspelt(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """As Python does: it would be somebody else. Nothing is written."""
    file = tmp_path / "config.json"
    to_file = ("--client", "cursor", "--write", "--file", str(file))
    assert install(*to_file, "--user", "dicsord:1") == 2
    assert "user: unknown platform" in capsys.readouterr().err
    assert not file.exists()
    for user in ("discord:1", "local:ada", "Ada", "0b9c1f8e-6b0e-4a37-9a51-1d6f3b7e2c11"):
        assert install(*to_file, "--user", user) == 0


def test_install_names_the_settings_file_that_it_finds(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the assistant starts looks for none by itself."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "remembrancer.toml").write_text("[mcp]\ntools = 'small'\n", "utf-8")
    assert install("--client", "cursor") == 0
    made = json.loads(capsys.readouterr().out)["mcpServers"]["remembrancer"]
    assert made["args"][:2] == ["--settings", str(tmp_path / "remembrancer.toml")]


def test_install_writes_into_a_file_that_is_there(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """What else is in it stays, a copy of it is kept, its mode too; again changes nothing."""
    file = tmp_path / "config.json"
    before = json.dumps({"mcpServers": {"files": {"command": "x"}}, "theme": "dunkel ü"})
    file.write_text(before, "utf-8")
    file.chmod(0o600)
    link = tmp_path / "link.json"
    link.symlink_to(file)
    to_link = ("--client", "cursor", "--write", "--file", str(link))
    assert install(*to_link) == 0
    assert "Restart the client" in capsys.readouterr().out
    made = json.loads(file.read_text("utf-8"))
    assert made["theme"] == "dunkel ü"
    assert list(made["mcpServers"]) == ["files", "remembrancer"]
    assert link.is_symlink()
    assert file.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "config.json.bak").read_text("utf-8") == before
    assert install(*to_link) == 0
    assert "has the entry already" in capsys.readouterr().out
    assert sorted(one.name for one in tmp_path.iterdir()) == [
        "config.json",
        "config.json.bak",
        "link.json",
    ]
    assert install(*to_link, "--url", "http://127.0.0.1:8420") == 0
    assert (tmp_path / "config.json.bak1").exists()


def test_install_makes_a_file_that_is_not_there(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With its directory; a server by its address is asked for its key by the client."""
    monkeypatch.chdir(tmp_path)
    key = "0199f7a2-0000-7000-8000-000000000000"
    address = ("--url", "https://memory.example", "--user", key)
    assert install("--client", "vscode", "--write", *address) == 0
    made = json.loads((tmp_path / ".vscode" / "mcp.json").read_text("utf-8"))
    assert made["servers"]["remembrancer"]["url"] == f"https://memory.example/mcp?user_id={key}"
    assert made["inputs"][0]["password"] is True
    assert "Written to" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("// comments\n{}", "is not plain JSON"),
        ("[]", "is not a JSON object"),
        ('{"mcpServers": 3}', "has mcpServers that is not an object"),
    ],
)
def test_install_leaves_a_file_it_does_not_understand(
    content: str, told: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """One line says why, and what to do instead."""
    file = tmp_path / "config.json"
    file.write_text(content)
    assert install("--client", "cursor", "--write", "--file", str(file)) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert told in line
    assert "by hand" in line
    assert file.read_text() == content
    assert [one.name for one in tmp_path.iterdir()] == ["config.json"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--client", "emacs"], "'emacs' is not one of"),
        (["--client", "cursor", "--url", "memory.example"], "url: must be an address"),
        (["--client", "cursor", "--url", "http://x", "--user", "Ada"], "user: must be an id"),
        (["--client", "cursor", "--key-file", "x"], "key-file: is only for --url"),
        (["--client", "cursor", "--write", "--file", "/proc/no/x"], "cannot be read or written"),
    ],
)
def test_install_refuses_what_would_not_work(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line on stderr names the option and the reason."""
    assert install(*arguments) == 2
    assert told in capsys.readouterr().err
