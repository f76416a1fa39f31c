"""The tasks of the documentation, done as it says: its commands, and its whole examples."""

import asyncio
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import exports
import psycopg
import pytest
from helpers import Api, careless, free_port, rows
from scripted import Json, Reply, Scripted, answer, fact
from serving import served
from sqlalchemy import make_url
from test_docs import DOCS, ROOT, fences

from remembrancer import AsyncMemory, Remembrancer
from remembrancer.db.embedded import EmbeddedPostgres

EXAMPLES = ROOT / "examples"
PRELUDE = """
set -euo pipefail
remembrancer() { "$PYTHON" -m remembrancer "$@"; }
curl() { command curl --fail-with-body "$@"; }
"""
SERVER = """
"$PYTHON" -m remembrancer serve & SERVER=$!
trap 'kill $SERVER; wait $SERVER' EXIT
healthy() { command curl -sf http://127.0.0.1:8420/healthz > /dev/null; }
for _ in {1..600}; do healthy && break; sleep 0.1; done
for _ in {1..600}; do [ -e ~/.local/share/remembrancer/admin.key ] && break; sleep 0.1; done
"""
KEY = "export KEY=$(cat ~/.local/share/remembrancer/admin.key)\n"


def environment(home: Path, **more: str) -> dict[str, str]:
    """As a new user's: no setting, and an empty home."""
    kept = {name: value for name, value in os.environ.items() if "REMEMBRANCER" not in name}
    own = {
        "HOME": str(home),
        "PYTHON": sys.executable,
        "PYTHONPATH": str(ROOT / "src"),
        "COLUMNS": "160",
        "REMEMBRANCER_LOG_LEVEL": "warning",
    }
    return kept | own | more


def run(script: str, directory: Path, **more: str) -> str:
    """What a shell prints; it must end well."""
    with subprocess.Popen(
        ["bash", "-c", PRELUDE + script],  # noqa: S607 - the bash of the path
        cwd=directory,
        env=environment(directory, **more),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as shell:
        try:
            out, err = shell.communicate(timeout=540)
        except subprocess.TimeoutExpired:
            # Its server too, which would keep the pipes open for ever.
            os.killpg(shell.pid, signal.SIGKILL)
            out, err = shell.communicate()
    assert shell.returncode == 0, out + err
    return out


def commands(page: str) -> str:
    """The shell of a page, in its order, with its server in the background."""
    script = "".join(fences(DOCS / f"{page}.md", "shell"))
    if "127.0.0.1:8420" in script and "remembrancer serve\n" not in script:
        script = "remembrancer serve\n" + KEY + script
    return script.replace("remembrancer serve\n", SERVER)


PAGES = {
    "quickstart": "I drink tea, never coffee.",
    "scopes": "allergic to nuts",
    "permanent-chats": "",
    "review": "not_found",
    "migrating": "Ada drinks tea",
    "importing": "",
}


@pytest.mark.parametrize("page", PAGES)
async def test_the_commands_of_a_page_run(
    page: str, memory: Remembrancer, database_url: str, tmp_path: Path
) -> None:
    """Pasted as they stand, one after the other, by somebody with an empty home."""
    exported = {"user_id": "ada", "memory": "Ada drinks tea, never coffee.", "id": "1"}
    exports.saved(tmp_path / "memories.json", {"results": [exported]})
    exports.zipped(tmp_path / "export.zip", {"conversations.json": exports.claude()})
    slack = json.loads(json.dumps(exports.slack()).replace("U1", "U02ABC"))
    exports.zipped(tmp_path / "slack-export.zip", slack)
    whatsapp = exports.ANDROID.replace("- Ada:", "- Ada Berg:")
    exports.saved(tmp_path / "WhatsApp Chat with Bob.txt", whatsapp)
    begin = "remembrancer users resolve app ada --name Ada\n" if page == "importing" else ""
    port = str(free_port())
    shown = await asyncio.to_thread(
        run,
        (begin + commands(page)).replace("8420", port),
        tmp_path,
        REMEMBRANCER_SERVER__PORT=port,
        REMEMBRANCER_DATABASE_URL=database_url,
    )
    assert PAGES[page] in shown


# A group bot over REST ---------------------------------------------------------------------------


def hears(body: Json) -> Reply:
    """A model that says what it is told of nuts."""
    told = json.dumps(body["messages"])
    return Reply("No nuts for Bob." if "Bob: I eat no nuts." in told else "Friday is fine.")


async def test_a_group_bot_over_rest(
    memory: Remembrancer, api: Api, model: Scripted, tmp_path: Path
) -> None:
    """Two people, one bot, /memory to its sender alone; a second start goes on."""
    model.said = hears

    def chat(url: str, lines: str) -> str:
        more = {
            "REMEMBRANCER_URL": url,
            "REMEMBRANCER_KEY": api.service["Authorization"].removeprefix("Bearer "),
            "OPENAI_BASE_URL": model.base_url,
            "OPENAI_API_KEY": "none",
        }
        script = f'"$PYTHON" {shlex.quote(str(EXAMPLES / "group_bot.py"))} <<< {shlex.quote(lines)}'
        return run(script, tmp_path, **more)

    async with served(memory) as url:
        first = "Ada: Shall we eat on Friday?\n\nhello\n: hello\n"
        first += "Bob: I eat no nuts.\nBob: /memory add Bob has a dog."
        shown = await asyncio.to_thread(chat, url, first)
        assert shown.startswith("Friday is fine.\nNo nuts for Bob.\n[to Bob alone]\nRemembered: [")
        asked = len(model.requests)
        again = "Ada: What may Bob eat?\nAda: /memory\nBob: /memory"
        shown = await asyncio.to_thread(chat, url, again)
    assert shown.startswith("No nuts for Bob.\n[to Ada alone]\nNo memories yet.\n[to Bob alone]")
    assert "Bob has a dog." in shown
    system, *said = model.requests[asked]["messages"]
    assert "dog" not in json.dumps([system, *said])
    texts = [message["content"].rpartition("\n")[2] for message in said]
    assert texts[0] == "Ada: Shall we eat on Friday?"
    assert texts[-1] == "Ada: What may Bob eat?"
    assert rows("SELECT count(*) FROM conversations") == [(1,)]


async def test_a_group_bot_passes_on_what_the_server_says(
    memory: Remembrancer, tmp_path: Path
) -> None:
    """Such as what is wrong with its key."""
    async with served(memory) as url:
        environment = {
            **os.environ,
            "REMEMBRANCER_URL": url,
            "REMEMBRANCER_KEY": "rmb_nobody",
            "OPENAI_API_KEY": "none",
        }
        program = [sys.executable, str(EXAMPLES / "group_bot.py")]
        ended = await asyncio.to_thread(
            subprocess.run, program, env=environment, capture_output=True, check=False
        )
    [line] = ended.stderr.decode().splitlines()
    assert "/api/agents/resolve answered 401: {" in line


# An assistant that is restarted ------------------------------------------------------------------


def converses(body: Json) -> Reply:
    """A model that answers, summarises, and finds one fact."""
    if "response_format" not in body:
        last = body["messages"][-1]["content"]
        known = "The user has a canoe." in json.dumps(body["messages"])
        return Reply("A canoe." if known and last.endswith("What do I have?") else "I see.")
    text = body["messages"][-1]["content"]
    line = re.search(r"\[(\d+)\][^\n]*I have a canoe", text)
    found = [fact("The user has a canoe.", "me", int(line[1]))] if line else []
    return answer("They counted.", *found)


@pytest.mark.parametrize("turns", [80, pytest.param(200, marks=pytest.mark.soak)])
def test_an_assistant_is_restarted_over_hundreds_of_turns(
    turns: int, model: Scripted, tmp_path: Path
) -> None:
    """The chat goes on, old messages are summarised, and a fact is used once it is approved."""
    model.said = converses
    settings = {
        "REMEMBRANCER_LLM__MODEL": "openai:scripted",
        "REMEMBRANCER_LLM__BASE_URL": model.base_url,
        "REMEMBRANCER_LLM__API_KEY": "none",
        "REMEMBRANCER_EXTRACTION__REVIEW": "confirm",
    }
    program = f'"$PYTHON" {shlex.quote(str(EXAMPLES / "assistant.py"))}'

    def session(*lines: str) -> str:
        typed = shlex.quote("".join(f"{line}\n" for line in (*lines, "")))
        return run(f"{program} <<< {typed}", tmp_path, **settings)

    def count(first: int, last: int) -> list[str]:
        return [f"Number {number}" for number in range(first, last + 1)]

    half = turns // 2
    session("I have a canoe.", *count(2, half // 2))
    session(*count(half // 2 + 1, half))
    begun = len(model.requests)
    session(*count(half + 1, turns - 10))
    restarted = next(one for one in model.requests[begun:] if "response_format" not in one)
    run("remembrancer --data-dir memory worker --once", tmp_path, **settings)
    rest = count(turns - 7, turns)
    shown = session("What do I have?", "/review", "y", "What do I have?", "/review", *rest)
    assert f"Number {half}" in json.dumps(restarted)
    asked = [one for one in model.requests if "response_format" not in one]
    assert len(asked) == turns
    # A prompt does not grow with the chat.
    assert len(json.dumps(asked[-1])) < 1.5 * len(json.dumps(asked[15]))
    before, _, after = shown.partition("Keep it?")
    assert "I see." in before
    assert "A canoe." in after
    assert "Keep it?" not in after
    assert len(model.requests) - len(asked) >= turns // 20  # of some 20 messages each


# A server for a team -----------------------------------------------------------------------------


def lines_of(script: str) -> set[str]:
    """The commands in a script, without where their output goes."""
    found = re.findall(r"^remembrancer .*$", script, re.MULTILINE)
    return {line.partition(" --json | ")[0] for line in found} - {"remembrancer serve"}


def test_the_page_has_the_steps_of_the_script() -> None:
    """docs/deploying.md and examples/team.sh say the same."""
    page = "".join(fences(DOCS / "deploying.md", "shell")).partition(
        "remembrancer serve --workers"
    )[0]
    script = (EXAMPLES / "team.sh").read_text("utf-8")
    assert lines_of(page) == lines_of(script)


def test_a_server_for_a_team(tmp_path: Path) -> None:
    """On a Postgres that somebody else runs: keys, backup, restore elsewhere, rotation, erasure."""
    (tmp_path / "home").mkdir()
    server = EmbeddedPostgres(tmp_path / "external", shared_buffers="64MB")
    with careless():
        url = make_url(server.start())
    try:
        [sql] = fences(DOCS / "deploying.md", "sql")
        again = re.sub(r"^CREATE ROLE.*|^GRANT.*", "", sql, flags=re.MULTILINE)
        addresses = []
        for name, script in (("memory", sql), ("elsewhere", again)):
            roles, _, inside = script.replace("memory", name).partition(f"\\connect {name}\n")
            for database, part in (("postgres", roles), (name, inside)):
                there = url.set(database=database).render_as_string(hide_password=False)
                with psycopg.connect(there, autocommit=True) as connection:
                    for statement in filter(str.strip, part.split(";")):
                        connection.execute(statement)
            own = url.set(username="remembrancer", password="secret", database=name)  # noqa: S106 - of a test database
            addresses.append(own.render_as_string(hide_password=False))
        login = url.set(username="remembrancer_app", password="another", database="memory")  # noqa: S106 - of a test database
        shown = run(
            'source "$SCRIPT"',
            tmp_path / "home",
            SCRIPT=str(EXAMPLES / "team.sh"),
            REMEMBRANCER_DATABASE_URL=login.render_as_string(hide_password=False),
            REMEMBRANCER_DATABASE_OWNER_URL=addresses[0],
            ELSEWHERE=addresses[1],
        )
        left = url.set(database="memory").render_as_string(hide_password=False)
        with psycopg.connect(left) as connection:
            users = connection.execute("SELECT count(*) FROM users").fetchall()
            keys = connection.execute("SELECT name FROM api_keys WHERE revoked_at IS NULL")
            assert (users, keys.fetchall()) == ([(0,)], [("discord bot",)])
    finally:
        server.stop()
    assert "I drink tea, never coffee." in shown.partition("is restored.")[2]
    exported = (tmp_path / "home" / "ada.jsonl").read_text("utf-8")
    assert "I drink tea, never coffee." in exported
    assert shown.rstrip().splitlines()[-1].count("rows deleted permanently") == 1


# What is stored for an agent ----------------------------------------------------------------------


async def test_a_bot_with_a_place_of_its_own_does_not_know_the_common_one(
    memory: Remembrancer,
) -> None:
    """What docs/scopes.md says of the two."""
    bot = AsyncMemory.over(memory)
    await bot.remember("I drink tea.", user="ada")
    await bot.remember("I have two cats.", user="ada", agent="Vet")
    own = await bot.recall("cats and drinks", user="ada", agent="Vet")
    assert [hit.content for hit in own.hits] == ["I have two cats."]
    assert len((await bot.recall("cats and drinks", user="ada")).hits) == 2
