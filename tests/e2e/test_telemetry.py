"""What operators see: request ids, log lines, metrics, traces, slow statements; never content."""

import asyncio
import json
import logging
import re
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import httpx2
import pytest
from entry_points import Refused, RestDoor
from helpers import ADMIN, Api, rows
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client.parser import text_string_to_metric_families
from scripted import Scripted, answer, fact
from serving import mcp_client

from remembrancer import (
    Agent,
    ConversationCreate,
    MessageCreate,
    Remembrancer,
    Settings,
    User,
    as_actor,
)
from remembrancer.db.migrate import newest
from remembrancer.embeddings import CachedQueries
from remembrancer.settings import DatabaseSettings, EmbeddingSettings, LanguageModelSettings
from remembrancer.telemetry import spans
from remembrancer.telemetry.ids import bound
from remembrancer.telemetry.logs import REQUESTS, json_formatter
from remembrancer.telemetry.traces import Traces, traced

MARK = "zyzzyva"
DASHBOARD = Path(__file__).parents[2] / "deploy" / "grafana.json"


@pytest.fixture
def exported() -> Iterator[InMemorySpanExporter]:
    """The spans of this process."""
    exporter, provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    traces = Traces(provider.get_tracer("test"))
    spans.observe(traces)
    yield exporter
    spans.ignore(traces)


@pytest.fixture
def lines() -> Iterator[list[dict[str, Any]]]:
    """The log as JSON, down to the level that servers run at, and of ours down to debug."""
    written: list[dict[str, Any]] = []
    formatter = json_formatter()

    class Written(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            ours = record.name.startswith("remembrancer")
            if ours or record.levelno >= logging.WARNING:
                written.append(json.loads(formatter.format(logging.makeLogRecord(vars(record)))))

    handler, root = Written(logging.DEBUG), logging.getLogger()
    # A command that ran in this process may have left a level of its own.
    loggers = [root, logging.getLogger("remembrancer"), logging.getLogger(REQUESTS)]
    levels = [logger.level for logger in loggers]
    root.addHandler(handler)
    for logger in loggers:
        logger.setLevel(logging.DEBUG)
    yield written
    root.removeHandler(handler)
    for logger, level in zip(loggers, levels, strict=True):
        logger.setLevel(level)


# Request ids ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sent", "is_taken"),
    [
        ("req-1.A_z", True),
        ("x" * 64, True),
        ("x" * 65, False),
        ("", False),
        ("---", False),
        ("a b", False),
        ("a;b", False),
        ("é", False),
        ('{"a"}', False),
    ],
)
async def test_a_request_has_an_id(api: Api, sent: str, is_taken: bool) -> None:
    """A plain short one is that of the client; answers and problems have it, pages too."""
    for path, status in (("/healthz", 200), ("/api/agents", 401), ("/none", 404)):
        answer = await api.client.get(path, headers={"X-Request-ID": sent.encode()})
        assert answer.status_code == status
        given = answer.headers["X-Request-ID"]
        assert (given == sent) is is_taken, (path, given)
        assert 0 < len(given) <= 64
        if answer.headers["content-type"].startswith("application/problem"):
            assert answer.json()["request_id"] == given


async def test_an_unexpected_error_has_the_id_and_no_message(
    api: Api, memory: Remembrancer, monkeypatch: pytest.MonkeyPatch, lines: list[dict[str, Any]]
) -> None:
    """The line of the error and the answer can be matched; what the error says is in neither."""

    async def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError(MARK)

    monkeypatch.setattr(memory.agents, "list", fail)
    answer = await api.client.get("/api/agents", headers={**api.admin, "X-Request-ID": "r-1"})
    assert answer.status_code == 500
    assert answer.json()["request_id"] == answer.headers["X-Request-ID"] == "r-1"
    [error] = [line for line in lines if line["level"] == "error"]
    assert error["event"].startswith("unexpected RuntimeError")
    assert (error["request_id"], error["role"]) == ("r-1", "admin")
    assert MARK not in str(lines) + answer.text


# Log lines -----------------------------------------------------------------------------------


async def test_a_line_in_json_has_the_ids_of_request_and_actor(
    api: Api, ada: User, agent: Agent, lines: list[dict[str, Any]]
) -> None:
    """Found by each of them; the ids of one request are in no line of another."""
    asked = {"query": MARK, "user_id": str(ada.id), "agent_id": str(agent.id)}
    sent = {**api.service, "X-Request-ID": "r-2"}
    await api.client.post("/api/memory/recall", json=asked, headers=sent)
    await api.client.get("/healthz", headers={"X-Request-ID": "r-3"})
    recall, health = [line for line in lines if line["logger"] == "remembrancer.requests"]
    [key] = rows("SELECT id FROM api_keys WHERE role = 'service'")
    assert recall["event"].startswith("POST /api/memory/recall: 200 in ")
    assert recall.keys() == {
        *("event", "timestamp", "level", "logger", "method", "route", "status", "seconds"),
        *("request_id", "key_id", "role", "entry_point", "user_id", "agent_id"),
    }
    assert (recall["request_id"], recall["role"], recall["status"]) == ("r-2", "service", 200)
    assert (recall["key_id"], recall["user_id"]) == (str(key[0]), str(ada.id))
    assert recall["agent_id"] == str(agent.id)
    assert (health["request_id"], health["route"]) == ("r-3", "/healthz")
    assert "user_id" not in health


def test_the_message_of_a_foreign_error_is_not_written(lines: list[dict[str, Any]]) -> None:
    """Libraries log errors as they are: kind and place stay, the message goes."""
    try:
        raise ValueError(MARK)
    except ValueError:
        with bound(request_id="r-4"):
            logging.getLogger("library").exception("it failed", extra={"body": MARK})
    [line] = lines
    assert line["exception"].endswith("ValueError")
    assert Path(__file__).name in line["exception"]
    assert line["request_id"] == "r-4"
    assert MARK not in str(line)


_PROGRAM = """
import logging, sys
import remembrancer, remembrancer.app
logging.getLogger("remembrancer.app").error("a line")
assert not logging.root.handlers
assert not {name.partition(".")[0] for name in sys.modules} & {"structlog", "prometheus_client"}
assert "opentelemetry.sdk" not in sys.modules
import remembrancer.cli.app, remembrancer.telemetry.logs as logs
assert "structlog" not in sys.modules
logs.log_to_stderr("info", "text")
logging.getLogger("remembrancer.app").info("another line")
logging.getLogger("remembrancer.requests").info("a request")
logging.root.handlers.clear()
logs.log_to_stderr("debug", "text")
logging.getLogger("remembrancer.app").debug("the last line")
logging.getLogger("openai").debug("a prompt")
"""


def test_a_library_prints_nothing_and_text_imports_no_structlog() -> None:
    """Without a log of the host there is none; the packages for operators are not imported.

    Debug lines are ours: those of libraries have what they send.
    """
    ran = subprocess.run(
        [sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True
    )
    [line, last] = ran.stderr.splitlines()
    assert line.endswith(" INFO remembrancer.app: another line")
    assert last.endswith(" DEBUG remembrancer.app: the last line")


# Alive and ready -----------------------------------------------------------------------------


async def test_a_server_is_ready_when_it_can_work(
    api: Api, memory: Remembrancer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each reason is told in words without a secret; the process lives all the while."""

    async def state() -> tuple[int, str]:
        answer = await api.client.get("/readyz")
        assert memory.database.url not in answer.text
        assert (await api.client.get("/healthz")).json()["status"] == "ok"
        body = answer.json()
        return answer.status_code, body.get("detail") or body["status"]

    await memory.embedder.embed_query("x")
    monkeypatch.setattr(CachedQueries, "is_loaded", True)
    assert await state() == (200, "ready")
    rows("UPDATE alembic_version SET version_num = '0001'")
    try:
        assert await state() == (503, "the schema of the database is of another version")
    finally:
        rows("UPDATE alembic_version SET version_num = %s", newest())

    class Stops:
        should_exit = True

    api.client._transport.app.state.server = Stops()
    monkeypatch.setattr(CachedQueries, "is_loaded", False)

    async def hang() -> str:
        await asyncio.Event().wait()
        return ""

    monkeypatch.setattr(memory.database, "revision", hang)
    monkeypatch.setattr("remembrancer.api.health.DATABASE_SECONDS", 0.01)
    assert await state() == (
        503,
        "the server stops; the database does not answer; the embedding model is loading",
    )
    del api.client._transport.app.state.server


# Traces --------------------------------------------------------------------------------------


def tree(exporter: InMemorySpanExporter) -> dict[str, set[str]]:
    """The titles of spans by that of their parent."""
    finished = exporter.get_finished_spans()
    title = {span.context.span_id: span.name for span in finished if span.context}
    children: dict[str, set[str]] = {}
    for span in finished:
        above = title.get(span.parent.span_id, "remote") if span.parent else "none"
        children.setdefault(above, set()).add(span.name)
    return children


async def test_a_recall_is_a_tree_of_spans(
    api: Api, ada: User, exported: InMemorySpanExporter
) -> None:
    """The request continues the trace of its client; below are the recall, its arms, the trip."""
    door = RestDoor(api, api.service)
    await door.remember(content="Ada keeps bees.", user=ada)
    for _ in range(3):  # until the items are in memory
        await door.recall("What does Ada keep?", user=ada)
    exported.clear()
    trace_id = "0af7651916cd43dd8448eb211c80319c"
    headers = {
        "traceparent": f"00-{trace_id}-b7ad6b7169203331-01",
        "tracestate": f"x={MARK}",
        **api.service,
    }
    asked = {"query": f"Does Ada keep {MARK}?", "user_id": str(ada.id)}
    await api.client.post("/api/memory/recall", json=asked, headers=headers)
    children = tree(exported)
    assert children["remote"] == {"POST /api/memory/recall"}
    assert children["recall"] >= {
        "embedding",
        "recall.dense",
        "recall.keyword",
        "recall.rank",
        "database.connection",
        "database.trip",
    }
    found = {span.name: span for span in exported.get_finished_spans()}
    request, trip = found["POST /api/memory/recall"], found["database.trip"]
    assert {f"{span.context.trace_id:032x}" for span in found.values() if span.context} == {
        trace_id
    }
    assert request.attributes is not None
    assert request.attributes["http.response.status_code"] == 200
    assert request.attributes["remembrancer.user_id"] == str(ada.id)
    assert "recall.fetch.fetch" in str(trip.attributes)
    assert MARK not in "".join(span.to_json() for span in found.values())


async def test_spans_reach_a_collector(memory: Remembrancer, ada: User) -> None:
    """By the variables of the standard, over HTTP; of this package alone."""
    bodies: list[bytes] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    collector = HTTPServer(("127.0.0.1", 0), Collector)
    thread = threading.Thread(target=collector.serve_forever, daemon=True)
    thread.start()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{collector.server_port}")
        with traced():
            await memory.recall(MARK, user=ada)
    collector.shutdown()
    thread.join()
    collector.server_close()
    [request] = [ExportTraceServiceRequest.FromString(body) for body in bodies]
    names = {
        span.name
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    }
    assert {"recall", "database.trip"} <= names
    assert "remembrancer" in str(request.resource_spans[0].resource)
    assert MARK not in str(request)


# Slow statements -----------------------------------------------------------------------------


@pytest.fixture
async def slow(
    memory: Remembrancer, model: Scripted, tmp_path: Path
) -> AsyncIterator[Remembrancer]:
    """The store, in which every round trip is slow, with the scripted model behind it."""
    llm = {"model": "openai:scripted", "base_url": model.base_url, "timeout": 60, "retries": 0}
    settings = Settings(
        data_dir=tmp_path,
        embedding=EmbeddingSettings(threads=1),
        database=DatabaseSettings(slow_query_ms=1),
        llm=LanguageModelSettings(**llm),
    )
    url = memory.database.url.replace("+psycopg", "")
    async with Remembrancer.open(database_url=url, settings=settings) as opened:
        assert opened.database._slow is not None
        opened.database._slow.limit = 0.0
        yield opened


async def planned(memory: Remembrancer) -> None:
    """Wait for the plans that are being read."""
    slow = memory.database._slow
    if slow is not None and slow._task is not None:
        await slow._task


async def test_a_slow_trip_is_logged_with_plans_without_values(
    slow: Remembrancer, ada: User, lines: list[dict[str, Any]]
) -> None:
    """By name; of the pipeline and of SQLAlchemy's statements; a plan has $1 for a value."""
    await slow.remember(f"Ada keeps {MARK}.", user=ada)
    await planned(slow)
    await slow.recall(MARK, user=ada)
    await planned(slow)
    await slow.jobs.list(ADMIN)
    await planned(slow)
    told = [line["event"] for line in lines if line["logger"] == "remembrancer.db.slow"]
    trips = [event for event in told if event.startswith("slow round trip to the database, ")]
    plans = [event for event in told if event.startswith("plan of ")]
    assert any("recall.asker.asker, recall." in trip for trip in trips)
    assert any("jobs.queue.page" in trip for trip in trips)
    recall = next(plan for plan in plans if "recall.asker" in plan)
    assert "Index" in recall
    assert "$1" in recall
    page = next(plan for plan in plans if "jobs.queue.page" in plan)
    assert "procrastinate_jobs" in page
    without = [plan for plan in plans if "\nnone (" in plan]
    assert len(without) <= len(plans) / 4, without
    assert MARK not in str(lines)


# Metrics -------------------------------------------------------------------------------------


async def test_each_metric_of_the_dashboard_exists(api: Api, ada: User) -> None:
    """Each query names metrics, labels and values that a server has after a few requests."""
    await api.client.post(
        "/api/memory/recall", json={"query": "x", "user_id": str(ada.id)}, headers=api.service
    )
    await api.client.get("/api/agents")
    await api.client.get("/metrics", headers=api.admin)
    text = (await api.client.get("/metrics", headers=api.admin)).text
    labels: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels.setdefault(sample.name, set()).update(sample.labels)
    panels = json.loads(DASHBOARD.read_text("utf-8"))["panels"]
    queries = [target["expr"] for panel in panels for target in panel["targets"]]
    named = re.findall(r"\b((?:remembrancer|process)_\w+)(?:\{([^}]*)\})?", " ".join(queries))
    assert len(named) > 15
    for name, selector in named:
        assert name in labels, name
        for label in re.findall(r'(\w+)=~?"', selector):
            assert label in labels[name] | {"job", "instance"}, (name, label)
    spans_named = set(re.findall(r'span="([\w.]+)"', " ".join(queries)))
    assert spans_named <= set(spans.Name.__args__)


# Content -------------------------------------------------------------------------------------


async def test_what_is_said_is_in_no_log_metric_or_trace(
    slow: Remembrancer,
    api: Api,
    ada: User,
    agent: Agent,
    model: Scripted,
    lines: list[dict[str, Any]],
    exported: InMemorySpanExporter,
) -> None:
    """Every way in gets words that are nowhere after: not in lines, plans, labels or spans."""
    app = api.client._transport.app
    app.state.memory = slow
    door = RestDoor(api, api.service)
    made = await door.remember(content=f"Ada keeps {MARK} rest.", user=ada)
    await door.recall(f"{MARK} rest?", user=ada, metadata={MARK: MARK})
    with pytest.raises(Refused):
        await door.remember(content=f"{MARK} " * 2000, user=ada)
    await api.client.get(f"/api/{MARK}", headers=api.service)
    await api.client.get("/api/memory", params={MARK: MARK}, headers=api.service)
    await api.client.post("/api/memory/recall", content=f"{{{MARK}", headers=api.service)
    await slow.remember(f"Ada keeps {MARK} library.", user=ada, agent=agent)
    await slow.memories.forget(as_actor(ada), made["memory"]["id"])
    async with mcp_client("http://test", await api.key_of(ada), app=app) as client:
        await client.call_tool("add_to_memory", {"content": f"{MARK} tool", "category": MARK})
        await client.call_tool("memory_recall", {"query": f"{MARK} tool"})
        await client.get_prompt("start_conversation", {"message": f"{MARK} prompt"})
    talk = await slow.conversations.open(as_actor(ada), ConversationCreate(title=f"{MARK} title"))
    said = [MessageCreate(content=f"{MARK} line {n}", user_id=ada.id) for n in range(52)]
    await slow.conversations.append(as_actor(ada), talk.id, said)
    model.said = [answer(f"{MARK} summary", fact(f"Ada likes {MARK} model", "Ada", 1))]
    await slow.worker.run(once=True)
    typed = {"text": f"/memory add Ada keeps {MARK} chat", "platform": "x", "chat_id": "1"}
    typed |= {"platform_user_id": "Ada-2", "display_name": "Ada", "agent_id": str(agent.id)}
    told = await api.client.post("/api/chat/commands", json=typed, headers=api.service)
    assert told.status_code == 200, told.text
    link = await slow.sign_ins.link(ADMIN)
    page = {"Accept": "text/html"}
    async with httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app=app), base_url="http://test", follow_redirects=True
    ) as browser:
        await browser.get("/login", params={"token": link}, headers=page)
        await browser.get("/memories", params={"q": MARK, "text": MARK}, headers=page)
        await browser.get(f"/{MARK}", headers=page)
        await browser.post("/signin", data={"key": MARK}, headers=page)
    await planned(slow)
    metrics = (await api.client.get("/metrics", headers=api.admin)).text
    finished = "".join(span.to_json() for span in exported.get_finished_spans())
    assert len(lines) > 100
    for where, text in (("log", json.dumps(lines)), ("metrics", metrics), ("spans", finished)):
        assert MARK not in text.casefold(), where
    assert {span.name for span in exported.get_finished_spans()} >= {
        *("job summarise", "llm", "recall", "embedding", "database.trip", "POST /mcp"),
    }
    jobs = [line for line in lines if line.get("job") == "summarise"]
    assert jobs
    assert all("request_id" not in line and line["job_id"] for line in jobs)
