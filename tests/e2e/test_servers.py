"""Two servers on one database: whichever answers, nobody notices."""

import itertools
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx2
import psycopg
import pytest
from helpers import database_beside
from test_cli_serve import address_in, start
from test_first_run import _chatgpt
from test_workers import eventually

from remembrancer.db.migrate import migrate
from remembrancer.db.urls import driver_url, libpq_url, service_url

FACTS = [f"Ada has seen film number {n} about the sea." for n in range(40)]
"""More than a server reads at once: it has them in memory afterwards."""


@dataclass
class Servers:
    """Two servers, and one client that asks them in turn."""

    addresses: list[str]
    links: list[str]
    key: str
    client: httpx2.Client
    database: psycopg.Connection[Any]

    def __post_init__(self) -> None:
        self._turn = itertools.cycle(self.addresses)

    def ask(self, method: str, path: str, status: int = 200, **options: Any) -> httpx2.Response:
        """Ask the server whose turn it is; with ``page``, as a browser."""
        headers = {"Authorization": f"Bearer {self.key}"} | options.pop("headers", {})
        if options.pop("page", False):
            headers = {"Accept": "text/html"}
        answer = self.client.request(method, next(self._turn) + path, headers=headers, **options)
        assert answer.status_code == status, (method, path, answer.status_code, answer.text[:2000])
        return answer

    def both(self, method: str, path: str, status: int = 200, **options: Any) -> list[Any]:
        """Ask both."""
        return [self.ask(method, path, status, **options).json() for _ in self.addresses]

    def person(self, name: str) -> str:
        """A user; the server after the next one is asked next."""
        body = {"platform": "app", "platform_user_id": name, "display_name": name}
        return str(self.ask("POST", "/api/users/resolve", json=body).json()["id"])

    def recall(self, user: str, query: str, limit: int = 3) -> list[str]:
        """What is recalled first."""
        body = {"user_id": user, "query": query, "limit": limit}
        hits = self.ask("POST", "/api/memory/recall", json=body).json()["hits"]
        return [hit["content"] for hit in hits]

    def sign_in(self, name: str) -> str:
        """Have a session of an admin."""
        self.client.cookies.clear()
        key = self.ask("POST", "/api/keys", 201, json={"name": name, "role": "admin"}).json()
        token = _token(self.ask("GET", "/signin", page=True))
        fields = {"token": token, "key": key["secret"]}
        self.ask("POST", "/signin", 303, page=True, data=fields)
        return str(key["id"])


def _token(page: httpx2.Response) -> str:
    found = re.search(r'name="token" value="([^"]+)"', page.text)
    return found[1] if found else ""


@pytest.fixture(scope="module")
def two(database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    with database_beside(database_url, "servers") as url:
        migrate(driver_url(url), driver_url(service_url(url)))
        there = ("--database-url", libpq_url(service_url(url)))
        folders = [tmp_path_factory.mktemp(name) for name in ("first", "second")]
        begun: list[tuple[subprocess.Popen[str], str]] = [
            start(folder, options=there) for folder in folders
        ]
        with (
            psycopg.connect(libpq_url(url), autocommit=True) as database,
            httpx2.Client(trust_env=False, timeout=60) as client,
        ):
            yield Servers(
                [address_in(said) for _, said in begun],
                [next(word for word in said.split() if "/login?" in word) for _, said in begun],
                (folders[0] / "admin.key").read_text().strip(),
                client,
                database,
            )
        for process, _ in begun:
            process.terminate()
        for process, _ in begun:
            assert process.communicate(timeout=60)[1] == ""


def test_a_browser_is_signed_in_at_both(two: Servers) -> None:
    """By a link of either, which works once at either; a form of one is sent to the other."""
    two.client.cookies.clear()
    path = two.links[0].removeprefix(two.addresses[0])
    assert path.startswith("/login?")
    next(two._turn)
    two.ask("GET", path, 303, page=True)
    two.ask("GET", path, 401, page=True)
    token = _token(two.ask("GET", "/admin/keys", page=True))
    form = {"token": token, "name": "By a form", "role": "service"}
    made = two.ask("POST", "/admin/keys", page=True, data=form, follow_redirects=True)
    assert "rmb_" in made.text
    assert "By a form" in two.ask("GET", "/admin/keys", page=True).text
    for _ in two.addresses:
        two.ask("GET", "/admin", page=True)
    two.ask("POST", "/signout", 303, page=True, data={"token": token})
    for _ in two.addresses:
        two.ask("GET", "/admin", 401, page=True)


def test_a_repeated_request_is_one_at_both(two: Servers) -> None:
    """The same key is the same request, and another request with it is refused."""
    ada = two.person("Ada of keys")
    body = {"user_id": ada, "content": "Ada collects stamps."}
    keyed = {"Idempotency-Key": "one"}
    first = two.ask("POST", "/api/memory/", 201, json=body, headers=keyed).json()
    again = two.ask("POST", "/api/memory/", 201, json=body, headers=keyed).json()
    assert again == first
    other = body | {"content": "Ada collects coins."}
    for _ in two.addresses:
        two.ask("POST", "/api/memory/", 409, json=other, headers=keyed)


def test_a_key_that_one_revokes_the_other_refuses_at_once(two: Servers) -> None:
    """Both have seen it."""
    key = two.ask("POST", "/api/keys", 201, json={"name": "agent", "role": "service"}).json()
    bearer = {"Authorization": f"Bearer {key['secret']}"}
    two.both("POST", "/api/memory/recall", json={"query": "tea"}, headers=bearer)
    two.both("POST", "/api/memory/recall", json={"query": "tea"}, headers=bearer)
    two.ask("DELETE", f"/api/keys/{key['id']}")
    two.both("POST", "/api/memory/recall", 401, json={"query": "tea"}, headers=bearer)
    session = two.sign_in("of a browser")
    two.ask("GET", "/admin", page=True)
    two.ask("DELETE", f"/api/keys/{session}")
    for _ in two.addresses:
        two.ask("GET", "/admin", 401, page=True)


def test_what_one_changes_the_other_recalls_at_once(two: Servers) -> None:
    """Both have the items in memory: an edit, a forgotten memory, its return, and a policy."""
    ada = two.person("Ada of films")
    items = [{"content": fact} for fact in FACTS]
    made = two.ask("POST", "/api/memory/bulk", json={"user_id": ada, "memories": items}).json()
    memory_id = made["items"][0]["memory"]["id"]
    for _ in range(6):
        assert len(two.recall(ada, "films about the sea")) == 3
    change = {"content": "Ada has seen an opera about whales."}
    two.ask("PUT", f"/api/memory/{memory_id}", params={"user_id": ada}, json=change)
    assert two.recall(ada, "whales")[0] == change["content"]
    assert two.recall(ada, "whales")[0] == change["content"]
    for _ in two.addresses:
        gone = two.ask("DELETE", f"/api/memory/{memory_id}", params={"user_id": ada})
        assert gone.status_code == 200
        assert change["content"] not in two.recall(ada, "whales", 50)
        assert change["content"] not in two.recall(ada, "whales", 50)
        two.ask("POST", f"/api/memory/{memory_id}/restore", params={"user_id": ada})
        assert two.recall(ada, "whales")[0] == change["content"]
        # The other one begins the next round.
        next(two._turn)
    agent = two.ask("POST", "/api/agents", 201, json={"name": "Pantry"}).json()["id"]
    scope = f"/api/memory/users/{ada}/agents/{agent}/scope"
    for allowed, effective in ((False, "global"), (True, "agent")):
        policy = {"allow_agent_specific_memory_globally": allowed}
        two.ask("PUT", "/api/memory/policy", json=policy)
        assert {s["effective_scope"] for s in two.both("GET", scope)} == {effective}


def test_what_one_forgot_the_other_returns(two: Servers) -> None:
    ada = two.person("Ada of boats")
    made = [
        two.ask("POST", "/api/memory/", 201, json={"user_id": ada, "content": text}).json()[
            "memory"
        ]
        for text in ("Ada sails a dinghy.", "Ada rows a punt.")
    ]
    body = {"user_id": ada, "memory_ids": [memory["id"] for memory in made]}
    forgotten = two.ask("POST", "/api/memory/forget", json=body).json()
    undo = f"/api/memory/forget/{forgotten['undo_id']}/undo"
    two.ask("POST", undo, params={"user_id": ada})
    two.ask("POST", undo, 409, params={"user_id": ada})
    assert {*two.recall(ada, "boats")} == {"Ada sails a dinghy.", "Ada rows a punt."}


def test_an_upload_to_one_is_imported_by_the_other(two: Servers, tmp_path: Any) -> None:
    """And by the worker of whichever comes first."""
    ada = two.person("Ada of exports")
    two.sign_in("uploads")
    path = f"/people/{ada}/start/history"
    token = _token(two.ask("GET", path, page=True))
    with _chatgpt(tmp_path).open("rb") as content:
        files = {"file": ("chatgpt.zip", content)}
        two.ask("POST", path, 303, page=True, data={"token": token}, files=files)
    form = rf'action="({path}/[^"]+/import)"'
    ready = eventually(lambda: re.search(form, two.ask("GET", path, page=True).text))
    two.ask("POST", ready[1], 303, page=True, data={"token": token})
    query = "SELECT status FROM uploads WHERE owner_id = %s"
    eventually(lambda: two.database.execute(query, [ada]).fetchone() == ("done",))
    assert "celadon" in str(two.recall(ada, "celadon", 10))


def test_an_mcp_client_goes_from_server_to_server(two: Servers) -> None:
    """There are no sessions of MCP: a call needs no server that it began at."""
    ada = two.person("Ada of programs")
    accept = {"Accept": "application/json, text/event-stream"}

    def call(method: str, **params: Any) -> Any:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return two.ask("POST", f"/mcp?user_id={ada}", json=body, headers=accept)

    client = {"name": "test", "version": "1"}
    begun = call("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client)
    assert "mcp-session-id" not in begun.headers
    said = {"content": "Ada plays chess.", "category": "person"}
    for _ in two.addresses:
        assert call("tools/list").json()["result"]["tools"]
    stored = call("tools/call", name="add_to_memory", arguments=said)
    assert not stored.json()["result"].get("isError"), stored.text
    for _ in two.addresses:
        found = call("tools/call", name="memory_recall", arguments={"query": "Who plays chess?"})
        assert said["content"] in found.text


def test_an_export_is_whole_whoever_streams_it(two: Servers) -> None:
    ada = two.person("Ada of streams")
    two.ask("POST", "/api/memory/", 201, json={"user_id": ada, "content": "Ada skis."})
    first, second = (two.ask("GET", f"/api/users/{ada}/export").text for _ in two.addresses)
    assert first == second
    assert "Ada skis." in first


def test_each_job_runs_once(two: Servers) -> None:
    """The workers of both take from one queue."""
    ada = two.person("Ada of talk")
    for number in range(6):
        title = {"user_id": ada, "title": f"Talk {number}"}
        talk = two.ask("POST", "/api/conversations", 201, json=title).json()["id"]
        said = [{"user_id": ada, "content": f"Boat {number} of {n}."} for n in range(60)]
        two.ask("POST", f"/api/conversations/{talk}/messages", 201, json={"messages": said})
    waiting = "SELECT count(*) FROM jobs.procrastinate_jobs WHERE status IN ('todo', 'doing')"
    eventually(lambda: two.database.execute(waiting).fetchone() == (0,))
    chunks = """
        SELECT count(*), count(DISTINCT (conversation_id, range_start)),
               count(DISTINCT conversation_id)
          FROM chunks WHERE owner_id = %s"""
    assert two.database.execute(chunks, [ada]).fetchone() == (12, 12, 6)
    repeated = """
        SELECT j.status, count(*) FILTER (WHERE e.type = 'started') AS starts
          FROM jobs.procrastinate_jobs AS j JOIN jobs.procrastinate_events AS e ON e.job_id = j.id
         GROUP BY j.id HAVING count(*) FILTER (WHERE e.type = 'started') <> 1"""
    assert two.database.execute(repeated).fetchall() == []
