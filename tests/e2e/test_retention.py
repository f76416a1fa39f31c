"""Retention: what is old goes in small batches, what rests on it stays true, and nothing halves."""

import asyncio
import signal
import subprocess
import sys
from collections.abc import Mapping
from uuid import UUID

import pytest
from helpers import ADMIN, Api, audit_lines, rows
from pages import Browser, World
from test_client import client_of

from remembrancer import (
    ContextQuery,
    Conversation,
    ConversationCreate,
    Forbidden,
    MemoryCreate,
    MemoryUpdate,
    MessageCreate,
    NotFound,
    Remembrancer,
    User,
    as_actor,
)
from remembrancer.integrity import check
from remembrancer.retention import removals
from remembrancer.retention.service import RULES, Retention
from remembrancer.settings import RetentionSettings

OLD = "now() - interval '40 days'"


async def removed(memory: Remembrancer, *, dry_run: bool = False, **days: int) -> Mapping[str, int]:
    """What a run with these settings removes, or counts."""
    retention = Retention(memory.database, RetentionSettings(**days))
    report = await retention.run(ADMIN, dry_run=dry_run)
    assert report.is_complete
    assert report.dry_run is dry_run
    return {line.what: line.count for line in report.items if line.count}


async def talk_of(memory: Remembrancer, user: User, count: int) -> Conversation:
    """A conversation about boats, summarised but for its window."""
    me = as_actor(user)
    talk = await memory.conversations.open(me, ConversationCreate(title="Boats"))
    said = [MessageCreate(content=f"Boat {n} of {user.display_name}.") for n in range(1, count + 1)]
    await memory.conversations.append(me, talk.id, said)
    await memory.conversations.summarize(me, talk.id)
    rows("UPDATE conversations SET created_at = now() - interval '50 days'")
    return talk


def age(talk: UUID, last: int) -> None:
    rows(
        f"UPDATE messages SET created_at = {OLD} WHERE conversation_id = %s AND position <= %s",
        talk,
        last,
    )


def halves() -> list[int]:
    """What is there of messages without the rest of them, or the other way round."""
    return [
        rows(f"SELECT count(*) FROM {query}")[0][0]
        for query in (
            "recall_items AS i WHERE source_type = 'message' AND NOT EXISTS ("
            " SELECT FROM messages AS m WHERE m.owner_id = i.owner_id AND m.id = i.source_id)",
            "recall_items AS i WHERE source_type = 'chunk' AND NOT EXISTS ("
            " SELECT FROM chunks AS c WHERE c.owner_id = i.owner_id AND c.id = i.source_id)",
            "messages AS m WHERE NOT EXISTS (SELECT FROM recall_items AS i"
            " WHERE i.owner_id = m.owner_id AND i.source_id = m.id)",
            "postings AS p WHERE NOT EXISTS (SELECT FROM recall_items AS i"
            " WHERE i.owner_id = p.owner_id AND i.id = p.item_id)",
            # A summary says nothing of a message that is gone.
            "chunks AS c WHERE content <> '' AND (SELECT count(*) FROM messages AS m"
            " WHERE m.conversation_id = c.conversation_id"
            " AND m.position BETWEEN c.range_start AND c.range_end)"
            " <> c.range_end - c.range_start + 1",
            "withheld_messages AS w WHERE NOT EXISTS (SELECT FROM messages AS m"
            " WHERE m.owner_id = w.owner_id AND m.id = w.message_id)",
        )
    ]


async def test_old_messages_go_and_the_memories_made_of_them_stay(
    memory: Remembrancer, ada: User
) -> None:
    """With items, summaries and words; what is newer is summarised anew, and it is told."""
    me = as_actor(ada)
    talk = await talk_of(memory, ada, 45)
    first = rows("SELECT id FROM messages WHERE position = 1")[0][0]
    source = {"conversation_id": talk.id, "message_id": first}
    remembered = await memory.memories.remember(
        me, MemoryCreate(content="Ada has a magenta boat.", **source)
    )
    age(talk.id, 23)
    assert await removed(memory, dry_run=True, messages=30) == {"messages": 23}
    assert rows("SELECT count(*) FROM messages") == [(45,)]
    assert await removed(memory, messages=60) == {}
    assert await removed(memory, messages=30) == {"messages": 23}
    assert await removed(memory, messages=30) == {}
    assert rows("SELECT min(position), count(*) FROM messages") == [(24, 22)]
    assert halves() == [0] * 6
    await memory.worker.run(once=True)
    assert await check(memory.database) == []
    [chunk] = (await memory.conversations.chunks(me, talk.id)).items
    assert (chunk.range_start, chunk.range_end) == (21, 25)
    assert "Boat 24" in chunk.content
    assert "Boat 23" not in chunk.content
    found = await memory.recall("Which boat has Ada? Boat 3, boat 7, boat 23?", user=ada, limit=50)
    contents = [hit.content for hit in found.hits]
    assert "Ada has a magenta boat." in contents
    assert not any(f"Boat {n} of" in content for content in contents for n in range(1, 24))
    there = await memory.memories.get(me, remembered.memory.id)
    assert [mention.message_id for mention in there.mentions] == [first]
    origin = (await memory.lookup.story(me, there)).origin
    assert origin is not None
    assert (origin.message_removed, origin.words) == (True, None)
    await memory.conversations.context(
        me, ContextQuery(conversation_id=talk.id, message="Which boat?")
    )
    more = await memory.conversations.append(me, talk.id, [MessageCreate(content="One more.")])
    assert more.messages[0].position == 46
    [line] = [line for line in audit_lines() if line.action == "message.remove"]
    assert (line.owner_id, len(line.target_ids), str(first) in line.target_ids) == (
        ada.id, 23, True,
    )  # fmt: skip


async def test_by_default_no_message_and_no_memory_is_removed(
    memory: Remembrancer, ada: User
) -> None:
    """However old it is; neither what was forgotten nor what undoing needs."""
    talk = await talk_of(memory, ada, 25)
    for content in ("Ada sails.", "Ada rows.", "Ada swims."):
        await memory.remember(content, user=ada)
    first, second, _ = [row.id for row in (await memory.memories.list(as_actor(ada))).items]
    await memory.memories.forget(as_actor(ada), first)
    await memory.memories.update(as_actor(ada), second, MemoryUpdate(content="Ada surfs."))
    ages = {
        "messages": "created_at",
        "memories": "forgotten_at",
        "memory_versions": "superseded_at",
        "conversations": "created_at",
    }
    for table, column in ages.items():
        rows(f"UPDATE {table} SET {column} = {column} - interval '9000 days'")
    before = {table: rows(f"SELECT count(*) FROM {table}") for table in (*ages, "chunks")}
    assert not {"messages", "forgotten", "evicted", "versions", "undo"} & {
        *await removed(memory), *await removed(memory, dry_run=True)
    }  # fmt: skip
    assert {table: rows(f"SELECT count(*) FROM {table}") for table in before} == before
    assert (await memory.conversations.get(as_actor(ada), talk.id)).message_count == 25


async def test_what_is_forgotten_or_evicted_for_long_is_erased(
    memory: Remembrancer, ada: User, bob: User
) -> None:
    """A forgotten memory takes along what it withholds; one that is restored in time stays."""
    me = as_actor(ada)
    talk = await memory.conversations.open(me, ConversationCreate())
    said = await memory.conversations.append(
        me, talk.id, [MessageCreate(content=f"I own a {pet}.") for pet in ("cat", "dog", "newt")]
    )
    ids = []
    for pet, message in zip(("cat", "dog", "newt"), said.messages, strict=True):
        new = MemoryCreate(content=f"Ada owns a {pet}.", message_id=message.id)
        ids.append((await memory.memories.remember(me, new)).memory.id)
    old, restored, fresh = ids
    for id_ in ids:
        await memory.memories.forget(me, id_)
    rows(f"UPDATE memories SET forgotten_at = {OLD} WHERE id = ANY (%s)", [old, restored])
    await memory.memories.restore(me, restored)
    evicted = (await memory.remember("Bob paints.", user=bob)).memory.id
    rows(f"UPDATE memories SET status = 'evicted', updated_at = {OLD} WHERE id = %s", evicted)
    assert await removed(memory, dry_run=True, forgotten=30) == {"forgotten": 1}
    assert await removed(memory, forgotten=30) == {"forgotten": 1}
    with pytest.raises(NotFound):
        await memory.memories.restore(me, old)
    await memory.memories.restore(me, fresh)
    words = rows("SELECT content FROM messages ORDER BY position")
    assert words == [("I own a dog.",), ("I own a newt.",)]
    assert await removed(memory, evicted=30) == {"evicted": 1}
    for table in ("memories", "memory_versions", "mentions", "recall_items", "postings"):
        assert rows(f"SELECT count(*) FROM {table} WHERE owner_id = %s", bob.id) == [(0,)]
    assert halves() == [0] * 6
    assert await check(memory.database) == []
    lines = [line for line in audit_lines() if line.action == "memory.remove"]
    assert [(line.owner_id, line.target_ids) for line in lines] == [
        (ada.id, [old]), (bob.id, [evicted]),
    ]  # fmt: skip


async def test_old_versions_go_and_the_current_one_is_recalled(
    memory: Remembrancer, ada: User
) -> None:
    """Versions that were superseded for long; never the last, whatever its words."""
    me = as_actor(ada)
    id_ = (await memory.remember("Ada lives in Porto.", user=ada)).memory.id
    changes = (
        MemoryUpdate(importance=0.9),
        MemoryUpdate(content="Ada lives in Lund."),
        MemoryUpdate(importance=0.8),
        MemoryUpdate(content="Ada lives in Graz."),
        MemoryUpdate(importance=0.7),
    )
    for change in changes:
        await memory.memories.update(me, id_, change)
    rows(f"UPDATE memory_versions SET superseded_at = {OLD} WHERE version <= 3")
    rows("UPDATE memory_versions SET superseded_at = NULL WHERE version = 6")
    assert await removed(memory, dry_run=True, versions=30) == {"versions": 3}
    assert await removed(memory, versions=30) == {"versions": 3}
    history = (await memory.memories.get(me, id_)).versions
    assert sorted(version.version for version in history) == [4, 5, 6]
    items = "SELECT memory_version FROM recall_items WHERE memory_id = %s ORDER BY 1"
    assert rows(items, id_) == [(4,), (6,)]
    rows(f"UPDATE memory_versions SET superseded_at = {OLD} WHERE superseded_at IS NOT NULL")
    assert await removed(memory, versions=30) == {"versions": 2}
    assert rows(items, id_) == [(6,)]
    assert await check(memory.database) == []
    hits = (await memory.recall("Where does Ada live?", user=ada)).hits
    assert [hit.content for hit in hits] == ["Ada lives in Graz."]


async def test_each_kind_of_row_goes_by_its_setting(memory: Remembrancer, ada: User) -> None:
    """In batches, the oldest first; what a dry run counts is what the run removes."""
    when = f"{OLD}, {OLD} + interval '20 days'"
    rows(
        "INSERT INTO undo_records (owner_id, id, action, record, created_at)"
        f" SELECT %s, gen_random_uuid(), 'x', '{{}}', unnest(ARRAY[{when}])",
        ada.id,
    )
    rows(
        "INSERT INTO idempotency_keys (owner_id, action, key, fingerprint, created_at)"
        f" SELECT %s, 'x', n::text, '', {OLD} FROM generate_series(1, 450) AS n",
        ada.id,
    )
    rows(
        "INSERT INTO uploads (owner_id, id, name, is_own, status, created_at)"
        f" SELECT %s, gen_random_uuid(), 'x', true, unnest(ARRAY['done', 'storing']), {OLD}",
        ada.id,
    )
    rows(
        "INSERT INTO sessions (hash, user_id, expires_at)"
        " SELECT unnest(ARRAY['a', 'b']::bytea[]), %s,"
        " now() + unnest(ARRAY[-1, 1]) * interval '1 hour'",
        ada.id,
    )
    rows("INSERT INTO sign_in_links (hash, expires_at) VALUES ('a', now() - interval '1h')")
    rows("INSERT INTO daily_usage VALUES (now()::date - 500, %s, 'recall', 1, '{}')", ada.id)
    for status, days in (("succeeded", 2), ("failed", 2), ("failed", 40)):
        rows(
            "WITH j AS (INSERT INTO jobs.procrastinate_jobs (queue_name, task_name, status)"
            " VALUES ('x', 'x', %s) RETURNING id)"
            " INSERT INTO jobs.procrastinate_events (job_id, type, at)"
            " SELECT id, 'failed', now() - %s * interval '1 day' FROM j",
            status,
            days,
        )
    await memory.remember("Ada keeps bees.", user=ada)
    rows("UPDATE audit_log SET at = now() - interval '500 days'")
    lines = rows("SELECT count(*) FROM audit_log")[0][0]
    counted = await removed(memory, dry_run=True, undo=30)
    assert counted == {
        "undo": 1, "audit": lines, "usage": 1, "jobs": 1, "failed_jobs": 1, "sessions": 2,
        "uploads": 1, "idempotency_keys": 450,
    }  # fmt: skip
    assert await removed(memory, undo=30) == counted
    assert await removed(memory, undo=30) == {}
    assert [rule.what for rule in RULES] == list(RetentionSettings.model_fields)


async def test_every_way_says_the_same(
    memory: Remembrancer, api: Api, ada: User, admin_there: Browser, world: World
) -> None:
    """Library, REST, client and page; for admins alone."""
    rows("UPDATE audit_log SET at = now() - interval '500 days'")
    report = await memory.retention.run(ADMIN)
    assert {line.what: line.days for line in report.items if line.days}["audit"] == 400
    there = await api.client.post("/api/retention", headers=api.admin)
    assert there.json()["items"] == [line.model_dump() for line in report.items]
    assert there.json()["dry_run"] is True
    async with client_of(api, api.admin) as client:
        assert (await client.retention.run()).items == report.items
    page = await admin_there.get("/admin/retention")
    [count] = [line.count for line in report.items if line.what == "audit"]
    assert count > 0
    for text in ("retention.audit", "400 days", "for ever", f">{count}<"):
        assert text in page, text
    for headers in (api.service, await api.key_of(ada)):
        refused = await api.client.post("/api/retention?dry_run=false", headers=headers)
        assert refused.status_code == 403
    with pytest.raises(Forbidden):
        await memory.retention.run(as_actor(ada), dry_run=False)
    assert (await memory.retention.run(ADMIN)).items == report.items
    done = await api.client.post("/api/retention?dry_run=false", headers=api.admin)
    assert done.json()["items"] == there.json()["items"]
    assert not any(line.count for line in (await memory.retention.run(ADMIN)).items)


async def test_a_page_says_that_a_message_is_gone(
    memory: Remembrancer, admin_there: Browser, world: World
) -> None:
    """The links of a memory that cites it lead to its conversation and not to an error."""
    [(owner, cited, talk, message)] = rows(
        "SELECT n.owner_id, n.memory_id, n.conversation_id, n.message_id FROM mentions AS n"
        " JOIN memories AS m ON m.owner_id = n.owner_id AND m.id = n.memory_id"
        " WHERE n.message_id IS NOT NULL AND n.owner_id = %s AND m.status = 'active' LIMIT 1",
        world.ada.id,
    )
    rows("UPDATE messages SET created_at = now() - interval '40 days'")
    rows("UPDATE conversations SET created_at = now() - interval '40 days'")
    assert (await removed(memory, messages=30))["messages"]
    gone = "The message is no longer stored."
    page = await admin_there.get(f"/people/{owner}/memories/{cited}")
    assert gone in page
    assert gone in await admin_there.get(f"/people/{owner}/conversations/{talk}?message={message}")


async def test_writers_go_on_beside_it(
    memory: Remembrancer, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing that is said or remembered meanwhile waits for a run, fails or is lost."""
    monkeypatch.setattr(removals, "AT_ONCE", 5)
    talk = await talk_of(memory, ada, 60)
    age(talk.id, 60)
    me = as_actor(ada)

    async def write(number: int) -> None:
        await memory.conversations.append(me, talk.id, [MessageCreate(content=f"New {number}.")])
        await memory.remember(f"Ada knows knot {number}.", user=ada)

    counts, *_ = await asyncio.gather(removed(memory, messages=30), *map(write, range(8)))
    assert counts == {"messages": 60}
    assert rows("SELECT array_agg(position ORDER BY position) FROM messages") == [
        (list(range(61, 69)),)
    ]
    assert len((await memory.memories.list(me, limit=50)).items) == 8
    assert halves() == [0] * 6


KILLED = """
import asyncio, os, sys
from sqlalchemy.ext.asyncio import AsyncConnection
from remembrancer.access import Actor, Role
from remembrancer.db.engine import Database
from remembrancer.retention import removals, service
from remembrancer.settings import RetentionSettings

removals.AT_ONCE = 10
execute = AsyncConnection.execute

async def run(point):
    left = point
    async def count(*args, **kwargs):
        nonlocal left
        result = await execute(*args, **kwargs)
        left -= 1
        if not left:
            os.kill(os.getpid(), 9)
        return result
    AsyncConnection.execute = count
    database = Database(sys.argv[1])
    retention = service.Retention(database, RetentionSettings(messages=30))
    await retention.run(Actor(Role.ADMIN), dry_run=False)

for line in sys.stdin:
    child = os.fork()
    if not child:
        asyncio.run(run(int(line)))
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


def killed(url: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", KILLED, url]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize(
    "points", [[6, 9, 11, 14, 16, 30], pytest.param([*range(3, 90)], marks=pytest.mark.soak)],
    ids=["few", "many"],
)  # fmt: skip
async def test_kill_9_in_the_middle_leaves_nothing_by_halves(
    memory: Remembrancer, ada: User, points: list[int]
) -> None:
    """After any statement: each message is there with all that is made of it, or not at all."""
    talk = await talk_of(memory, ada, 200)
    age(talk.id, 190)
    codes = []
    with killed(memory.database.url) as process:
        assert process.stdin
        assert process.stdout
        for point in points:
            process.stdin.write(f"{point}\n")
            process.stdin.flush()
            codes.append(int(await asyncio.to_thread(process.stdout.readline)))
            assert halves() == [0] * 6
            left, first = rows("SELECT count(*), min(position) FROM messages")[0]
            assert left == 200 - first + 1
            noted = [line for line in audit_lines() if line.action == "message.remove"]
            assert sum(len(line.target_ids) for line in noted) == 200 - left
        process.stdin.close()
    assert codes[0] == -signal.SIGKILL
    await removed(memory, messages=30)
    assert rows("SELECT count(*) FROM messages") == [(10,)]
    assert halves() == [0] * 6
    assert await check(memory.database) == []
