"""Plans of the product's own statements in a store of 200 users: indexes, and few rows read.

Postgres explains each statement as it runs, for the service's role with row-level security.
"""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import psycopg
import pytest
from helpers import database_beside
from sqlalchemy import event

from remembrancer import (
    Actor,
    ConversationCreate,
    MessageCreate,
    Remembrancer,
    Role,
    Settings,
    User,
    as_actor,
)
from remembrancer.audit.schemas import AuditFilter
from remembrancer.context.schemas import ContextQuery
from remembrancer.db.migrate import migrate
from remembrancer.db.urls import driver_url
from remembrancer.retention.service import Retention
from remembrancer.settings import RetentionSettings

USERS: Final = 200
EACH: Final = 100
"""Memories of each user; they have 60 messages as well, in two conversations."""
MOST_READ: Final = 5 * (EACH + 60)
"""Rows that a request may read of one table: some times what its user has."""
LARGE: Final = {
    "memories", "memory_versions", "mentions", "associations", "recall_items", "postings",
    "messages", "conversations", "participants", "audit_log", "procrastinate_jobs",
    "frozen_contexts", "api_keys",
}  # fmt: skip

FILL: Final = """
SET session_replication_role = replica;
CREATE TEMP TABLE people AS
SELECT CAST(md5('user ' || u) AS uuid) AS id, u FROM generate_series(1, 200) AS u;
CREATE TEMP TABLE vectors AS
SELECT n, CAST(array_agg(sin(n * d) ORDER BY d) AS halfvec) AS v
  FROM generate_series(0, 99) AS n, generate_series(1, 384) AS d GROUP BY n;
INSERT INTO users (id, display_name) SELECT id, 'User ' || u FROM people;
INSERT INTO conversations (id, opened_by, message_count, summarised_to)
SELECT CAST(md5('talk ' || u || ' ' || c) AS uuid), id, CASE WHEN c <= 2 THEN 30 ELSE 0 END,
       CASE WHEN c <= 2 THEN 9 ELSE 0 END
  FROM people, generate_series(1, 25) AS c;
INSERT INTO participants (user_id, conversation_id) SELECT opened_by, id FROM conversations;
INSERT INTO messages (owner_id, id, conversation_id, position, role, content, sent_at)
SELECT opened_by, CAST(md5(id || ' ' || p) AS uuid), id, p, 'user', 'Word ' || p || ' said.', now()
  FROM conversations, generate_series(1, message_count) AS p;
INSERT INTO memories (owner_id, id, kind, category, content, content_hash, tokens, importance)
SELECT id, 'm' || lpad(n::text, 7, '0'), 'fact', 'other', 'Fact ' || n || ' of ' || u,
       decode(md5(n || ' ' || u), 'hex'), 5, 0.5
  FROM generate_series(1, 100) AS n, people;
INSERT INTO memories (owner_id, id, kind, category, content, content_hash, tokens, importance,
                      status, updated_at, forgotten_at, expires_at)
SELECT id, 'o' || n, 'fact', 'other', 'Old ' || n, decode(md5(n || ' old ' || u), 'hex'), 5, 0.5,
       (ARRAY['evicted', 'forgotten', 'active'])[n % 3 + 1], at,
       CASE n % 3 WHEN 1 THEN at END, CASE n % 3 WHEN 2 THEN now() + (u - 2) * interval '1 day' END
  FROM people CROSS JOIN generate_series(1, 24) AS n
 CROSS JOIN LATERAL (SELECT now() - (200 - u) * interval '1 day' AS at) AS past;
INSERT INTO memory_versions (owner_id, memory_id, version, content)
SELECT owner_id, id, 1, content FROM memories;
INSERT INTO memory_versions (owner_id, memory_id, version, content, recorded_at, superseded_at)
SELECT id, 'm' || lpad(n::text, 7, '0'), 0, 'Said before', past.at, past.at
  FROM people CROSS JOIN generate_series(1, 20) AS n
 CROSS JOIN LATERAL (SELECT now() - (200 - u) * interval '1 day' AS at) AS past;
INSERT INTO associations (owner_id, memory_id, target_owner_id, target_id, relation, weight)
SELECT a.owner_id, a.id, b.owner_id, b.id, 'related_to', 0.5
  FROM memories AS a JOIN memories AS b ON b.owner_id = a.owner_id AND b.id > a.id
 WHERE abs(hashtext(a.id || b.id)) % 50 = 0;
INSERT INTO mentions (owner_id, memory_id, id)
SELECT owner_id, id, CAST(md5(owner_id || id) AS uuid) FROM memories;
INSERT INTO recall_items (owner_id, length, content_hash, embedding, source_type, memory_id,
                          memory_version, at, kind, category, importance)
SELECT owner_id, 4, content_hash, v, 'memory', id, 1, created_at, kind, category, importance
  FROM memories JOIN vectors ON n = abs(hashtext(owner_id || id)) % 100;
INSERT INTO recall_items (owner_id, length, content_hash, embedding, source_type, source_id,
                          conversation_id, position, at)
SELECT owner_id, 3, decode(md5(id::text), 'hex'), v, 'message', id, conversation_id,
       position, sent_at
  FROM messages JOIN vectors ON n = position;
INSERT INTO postings (owner_id, term, item_id, frequency)
SELECT owner_id, term, id, 1
  FROM recall_items, LATERAL unnest(ARRAY['fact', 'word', 'w' || id % 50, 'x' || id % 9]) AS term;
INSERT INTO frozen_contexts (owner_id, conversation_id, agent_id, time_zone, budget, tokens,
                             left_out, digest, frozen_at)
SELECT opened_by, id, CAST('00000000-0000-0000-0000-000000000000' AS uuid), 'UTC', 1, 1, 0, '',
       now()
  FROM conversations;
INSERT INTO api_keys (id, name, role, user_id, hash)
SELECT CAST(md5(id || ' ' || n) AS uuid), 'Key', 'user', id, decode(md5(id || ' ' || n), 'hex')
  FROM people, generate_series(1, 20) AS n;
INSERT INTO idempotency_keys (owner_id, action, key, fingerprint, created_at)
SELECT id, 'remember', 'k' || n, '', now() - (200 - u) * interval '1 day'
  FROM people, generate_series(1, 20) AS n;
INSERT INTO item_changes SELECT id, 1, CAST('{}' AS bigint[]) FROM users;
INSERT INTO audit_log (owner_id, id, actor_role, entry_point, action, target_ids)
SELECT owner_id, id, 'service', 'python', 'memory.read', ARRAY[memory_id] FROM mentions;
INSERT INTO jobs.procrastinate_jobs (queue_name, task_name, lock, args, status)
SELECT 'summarise', 'summarise', 'summarise:' || id, jsonb_build_object('conversation_id', id),
       CASE WHEN row_number() OVER (ORDER BY id) = 1 THEN 'failed' ELSE 'succeeded' END
           ::jobs.procrastinate_job_status
  FROM conversations, generate_series(1, 2);
RESET session_replication_role;
VACUUM ANALYZE;
"""


@dataclass
class Explained:
    """The store, and the plans of what it has run."""

    memory: Remembrancer
    user: User
    talk: Any
    owner: psycopg.Connection[Any]
    plans: list[dict[str, Any]]

    async def faults(self, request: "Request", repeat: int = 3) -> list[str]:
        """Return what is wrong with the plans of a request, once its statements are prepared."""
        for _ in range(repeat):
            self.plans.clear()
            await request(self)
        assert self.plans
        read: dict[str, float] = {}
        faults = []
        for plan in self.plans:
            for node in _nodes(plan["Plan"]):
                table = _table(node)
                if table not in LARGE:
                    continue
                rows = node["Actual Loops"] * sum(
                    node.get(count, 0)
                    for count in (
                        "Actual Rows",
                        "Rows Removed by Filter",
                        "Rows Removed by Index Recheck",
                    )
                )
                read[table] = read.get(table, 0) + rows
                if node["Node Type"] == "Seq Scan" and rows:
                    faults.append(f"the whole of {table}: {plan['Query Text'][:200]}")
        return [*faults, *(f"{n:.0f} of {table}" for table, n in read.items() if n > MOST_READ)]

    @contextmanager
    def without(self, index: str) -> Iterator[None]:
        """Let the planner use an index no longer."""
        change = "UPDATE pg_index SET indisvalid = %s WHERE indexrelid = %s::regclass"
        self.owner.execute(change, [False, index])
        try:
            yield
        finally:
            self.owner.execute(change, [True, index])


Request = Callable[[Explained], Awaitable[object]]


def _table(node: dict[str, Any]) -> str | None:
    """The table of a scan; a month of the audit log is that."""
    name = node.get("Relation Name")
    return "audit_log" if name and name.startswith("audit_log_") else name


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", ()):
        yield from _nodes(child)


@pytest.fixture(scope="module")
def filled(database_url: str) -> Iterator[str]:
    with database_beside(database_url, "plans") as url:
        migrate(driver_url(url))
        with psycopg.connect(url, autocommit=True) as owner:
            for statement in FILL.split(";\n"):
                owner.execute(statement)
            name = owner.info.dbname
            for setting in (
                "session_preload_libraries = auto_explain",
                "auto_explain.log_min_duration = 0",
                "auto_explain.log_analyze = on",
                "auto_explain.log_timing = off",
                "auto_explain.log_nested_statements = on",
                "auto_explain.log_format = json",
                "auto_explain.log_level = notice",
                "client_min_messages = notice",
            ):
                owner.execute(f'ALTER DATABASE "{name}" SET {setting}')
        yield url


@pytest.fixture
async def explained(filled: str, opened: Remembrancer) -> AsyncIterator[Explained]:
    plans: list[dict[str, Any]] = []

    def note(diagnostic: psycopg.errors.Diagnostic) -> None:
        _, found, plan = (diagnostic.message_primary or "").partition("plan:\n")
        if found:
            plans.append(json.loads(plan))

    settings = opened.settings.model_copy(update={"data_dir": opened.settings.data_dir / "plans"})
    async with Remembrancer.open(
        database_url=filled, settings=Settings(**dict(settings))
    ) as memory:
        event.listen(
            memory.database._location.pool.engine.sync_engine,
            "connect",
            lambda connection, _: connection.driver_connection.add_notice_handler(note),
        )
        await memory.database._location.pool.close()
        user = (await memory.users.list(as_actor(), limit=1)).items[0]
        talks = (await memory.conversations.list(as_actor(user))).items
        talk = next(talk for talk in talks if talk.message_count)
        with psycopg.connect(filled, autocommit=True) as owner:
            yield Explained(memory, user, talk.id, owner, plans)


async def recall(store: Explained) -> None:
    assert (await store.memory.recall("Which fact and which word?", user=store.user)).hits


async def filtered_recall(store: Explained) -> None:
    """Not chosen in memory."""
    since = datetime(2020, 1, 1, tzinfo=UTC)
    found = await store.memory.recall("Which fact, which word?", user=store.user, since=since)
    assert found.hits


async def recent(store: Explained) -> None:
    assert (await store.memory.recall(mode="recent", user=store.user)).hits


async def context(store: Explained) -> None:
    query = ContextQuery(conversation_id=store.talk, message="Which fact and which word?")
    await store.memory.conversations.context(as_actor(store.user), query)


async def memories(store: Explained) -> None:
    page = await store.memory.memories.list(as_actor(store.user), limit=10)
    await store.memory.memories.list(as_actor(store.user), limit=10, cursor=page.next_cursor)


async def history(store: Explained) -> None:
    await store.memory.memories.get(as_actor(store.user), "m0000042")


async def conversations(store: Explained) -> None:
    await store.memory.conversations.list(as_actor(store.user), limit=10)
    await store.memory.conversations.messages(as_actor(store.user), store.talk, last=10)


async def append(store: Explained) -> None:
    said = [MessageCreate(content="I met somebody at the station.")]
    await store.memory.conversations.append(as_actor(store.user), store.talk, said)


async def remember(store: Explained) -> None:
    await store.memory.remember("The user likes long walks.", user=store.user)


async def open_conversation(store: Explained) -> None:
    await store.memory.conversations.open(as_actor(store.user), ConversationCreate())


async def graph(store: Explained) -> None:
    assert (await store.memory.lookup.graph(as_actor(store.user))).edges


async def timeline(store: Explained) -> None:
    assert (await store.memory.lookup.timeline(as_actor(store.user), "UTC")).known.items


async def sweep(store: Explained) -> None:
    await store.memory.summaries.sweep(everything=False)


async def audit(store: Explained) -> None:
    """Of the months that are asked for, and of no other."""
    now = datetime.now(UTC)
    since = now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    filters = AuditFilter(since=since, until=now)
    assert (await store.memory.audit.list(as_actor(store.user), filters, limit=10)).items
    months = {node.get("Relation Name") for plan in store.plans for node in _nodes(plan["Plan"])}
    assert f"audit_log_{now:%Y_%m}" in months
    assert months.isdisjoint({f"audit_log_{now + timedelta(days=40):%Y_%m}", "audit_log_other"})


async def sweep_of_all(store: Explained) -> None:
    await store.memory.summaries.sweep(everything=True)


async def expiry(store: Explained) -> None:
    await store.memory.expiry.sweep()


async def access_counts(store: Explained) -> None:
    await recall(store)
    store.plans.clear()
    await store.memory.access_counts.flush()


async def retention(store: Explained) -> None:
    # Ended jobs have no index by age: they are those of a day. Nor have messages: the first ones
    # of all conversations are looked at.
    days = dict.fromkeys(("evicted", "forgotten", "versions"), 199)
    days |= dict.fromkeys(("jobs", "failed_jobs"), 0)
    old = Retention(store.memory.database, RetentionSettings(**days))
    await old.run(Actor(Role.ADMIN), dry_run=True)
    await old.run(Actor(Role.ADMIN), dry_run=False)


async def erase_memory(store: Explained) -> None:
    await store.memory.memories.erase(as_actor(store.user), "m0000007", dry_run=False)


async def erase_another(store: Explained) -> None:
    new = await store.memory.remember("The user sails a dinghy.", user=store.user)
    store.plans.clear()
    await store.memory.memories.erase(as_actor(store.user), new.memory.id, dry_run=False)


async def delete_message(store: Explained) -> None:
    talk = await store.memory.conversations.messages(as_actor(store.user), store.talk, last=1)
    message = talk.items[0].id
    await store.memory.conversations.delete_message(as_actor(store.user), store.talk, message)


async def delete_conversation(store: Explained) -> None:
    talks = (await store.memory.conversations.list(as_actor(store.user))).items
    await store.memory.conversations.delete(as_actor(store.user), talks[-1].id)


async def forget_many(store: Explained) -> None:
    page = await store.memory.memories.list(as_actor(store.user), limit=3)
    await store.memory.memories.forget_many(
        as_actor(store.user), [memory.id for memory in page.items], dry_run=False
    )


async def erase_user(store: Explained) -> None:
    users = (await store.memory.users.list(as_actor(), limit=5)).items
    await store.memory.users.erase(as_actor(), users[-1].id, dry_run=False)


UPKEEP: Final[list[Request]] = [
    sweep_of_all, expiry, access_counts, retention, erase_memory, delete_message,
    delete_conversation, forget_many, erase_user,
]  # fmt: skip
REQUESTS: Final[list[Request]] = [
    recall, filtered_recall, recent, context, memories, history, conversations, append, remember,
    open_conversation, graph, timeline, sweep, audit,
]  # fmt: skip


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda request: request.__name__)
async def test_a_request_reads_little_of_large_tables(
    explained: Explained, request_: Request
) -> None:
    """No large table as a whole, and not many times what its user has."""
    assert await explained.faults(request_) == []


@pytest.mark.parametrize(
    ("request_", "index"),
    [
        (recall, "pk_recall_items"),
        (filtered_recall, "pk_recall_items"),
        (filtered_recall, "pk_postings"),
        (filtered_recall, "ix_recall_items_conversation"),
        (context, "pk_conversations"),
        (history, "pk_memory_versions"),
        (conversations, "pk_participants"),
        (sweep, "jobs.ix_procrastinate_jobs_failed"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
async def test_without_its_index_a_request_reads_too_much(
    explained: Explained, request_: Request, index: str
) -> None:
    """The test above would notice."""
    with explained.without(index):
        assert await explained.faults(request_) != []


async def test_upkeep_and_deletions_read_what_they_are_about(explained: Explained) -> None:
    """Sweeps, retention, and deletions of a memory, a message, a conversation and a user."""
    faults = {request.__name__: await explained.faults(request, 1) for request in UPKEEP}
    assert faults == {name: [] for name in faults}


async def test_a_memory_is_erased_without_a_look_at_all_postings_of_its_owner(
    explained: Explained,
) -> None:
    """They are found by its terms: by the item alone, the index is read from end to end."""
    assert await explained.faults(erase_another, 1) == []
    nodes = [node for plan in explained.plans for node in _nodes(plan["Plan"])]
    found = [n["Index Cond"] for n in nodes if _table(n) == "postings" and "Index Cond" in n]
    assert found
    assert all("term = " in condition for condition in found), found


@pytest.mark.parametrize(
    ("request_", "index"),
    [
        (sweep_of_all, "ix_conversations_behind"),
        (retention, "ix_memories_left"),
        (retention, "ix_memory_versions_superseded"),
        (delete_conversation, "ix_frozen_contexts_conversation_id"),
        (delete_conversation, "jobs.ix_procrastinate_jobs_key"),
        (erase_user, "ix_api_keys_user_id"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
async def test_without_its_index_upkeep_reads_too_much(
    explained: Explained, request_: Request, index: str
) -> None:
    """The test above would notice."""
    with explained.without(index):
        assert await explained.faults(request_, 1) != []
