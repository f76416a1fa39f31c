"""Usage by day and agent, the last use of keys, and how far long work is."""

from datetime import UTC, date, datetime, timedelta
from uuid import uuid4

import pytest
from helpers import ADMIN, Api, rows
from pages import Browser, World
from test_client import client_of

from remembrancer import (
    Agent,
    ContextQuery,
    ConversationCreate,
    Forbidden,
    InvalidInput,
    MemoryCreate,
    MessageCreate,
    NotFound,
    RecallQuery,
    Remembrancer,
    Role,
    User,
    as_actor,
)
from remembrancer.importers.progress import ImportProgress, recent
from remembrancer.keys.schemas import KeyCreate
from remembrancer.memories.budget import Budget
from remembrancer.usage.schemas import DailyUsage

pytestmark = pytest.mark.usefixtures("one_day")


async def _usage(memory: Remembrancer) -> dict[tuple[str | None, str], DailyUsage]:
    lines = (await memory.usage.list(ADMIN)).items
    assert {line.day for line in lines} <= {datetime.now(UTC).date()}
    return {(line.agent, line.kind): line for line in lines}


async def _counted(memory: Remembrancer) -> dict[tuple[str | None, str], int]:
    """What is counted, without the size of the database."""
    usage = await _usage(memory)
    return {key: line.amount for key, line in usage.items() if key[1] != "disk"}


async def test_what_an_agent_does_is_counted_and_timed(
    memory: Remembrancer, ada: User, agent: Agent
) -> None:
    """Recalls, contexts with their tokens, and writes; of the same day in one row each."""
    me = as_actor(ada, agent)
    for content in ("Ada likes tea.", "Ada sails."):
        await memory.memories.remember(me, MemoryCreate(content=content))
        await memory.backend.usage_counts.flush()
    talk = await memory.conversations.open(me, ConversationCreate(agent_id=agent.id))
    await memory.conversations.append(me, talk.id, [MessageCreate(content="Good morning!")])
    await memory.memories.recall(me, RecallQuery(query="What does Ada drink?"))
    context = await memory.conversations.context(me, ContextQuery(message="What does Ada do?"))
    usage = await _usage(memory)
    name = agent.name
    assert usage[name, "write"].amount == 3
    assert sum(usage[name, "write"].durations) == 3
    assert usage[name, "recall"].amount == 2
    assert usage[name, "tokens"].amount == context.stable.tokens + context.dynamic.tokens
    assert rows("SELECT count(*) FROM daily_usage WHERE kind = 'write'") == [(1,)]


async def test_what_is_refused_is_counted_as_such(
    memory: Remembrancer, ada: User, agent: Agent
) -> None:
    """An agent that there is not has no row: whoever asks could make up as many as they like."""
    me = as_actor(ada, agent)
    with pytest.raises(InvalidInput):
        await memory.memories.remember(me, MemoryCreate(content="My card is 4111 1111 1111 1111."))
    for _ in range(2):
        with pytest.raises(NotFound):
            await memory.memories.recall(as_actor(ada, uuid4()), RecallQuery(query="tea"))
    assert await _counted(memory) == {(agent.name, "refusal"): 1, (None, "refusal"): 2}


async def test_evictions_and_the_size_of_the_database_are_counted(
    memory: Remembrancer, ada: User, agent: Agent
) -> None:
    """As many memories as went; the size is the last one of the day."""
    me = as_actor(ada, agent)
    made = await memory.memories.remember(me, MemoryCreate(content="Ada likes tea."))
    async with memory.database.transaction(me) as (connection, actor):
        gone = await Budget(1, memory.backend.usage_counts).enforce(connection, actor, ada.id, [])
    assert gone == [made.memory.id]
    await memory.backend.usage_counts.measure()
    await memory.backend.usage_counts.measure()
    usage = await _usage(memory)
    assert usage[agent.name, "eviction"].amount == 1
    assert usage[None, "disk"].amount > 1_000_000


async def test_usage_has_a_period_and_is_for_admins(
    api: Api, memory: Remembrancer, ada: User, agent: Agent
) -> None:
    """The library and the client say the same; a day that is long gone is deleted."""
    rows(
        "INSERT INTO daily_usage SELECT CAST(now() AS date) - n, %s, 'recall', n, '{}'"
        " FROM unnest(ARRAY[1, 40, 500]) AS n",
        agent.id,
    )
    today = datetime.now(UTC).date()

    async def amounts(since: date | None = None) -> list[int]:
        lines = (await memory.usage.list(ADMIN, since=since, agent_id=agent.id)).items
        async with client_of(api, api.admin) as client:
            assert (await client.usage.list(since=since, agent_id=agent.id)).items == lines
        return [line.amount for line in lines]

    assert await amounts() == [1]
    assert await amounts(today - timedelta(days=60)) == [40, 1]
    await memory.retention.run(ADMIN, dry_run=False)
    assert rows("SELECT count(*) FROM daily_usage WHERE kind = 'recall'") == [(2,)]
    for since in (today + timedelta(days=1), today - timedelta(days=400)):
        with pytest.raises(InvalidInput, match="since"):
            await memory.usage.list(ADMIN, since=since)
    with pytest.raises(Forbidden):
        await memory.usage.list(as_actor(ada))


async def test_a_key_says_when_it_was_last_used(api: Api, memory: Remembrancer) -> None:
    """One that was never used says nothing, nor does an attempt with one that is revoked."""
    used, _, gone = [
        await memory.keys.create(ADMIN, KeyCreate(name=name, role=Role.SERVICE))
        for name in ("used", "idle", "gone")
    ]
    await memory.keys.revoke(ADMIN, gone.id)
    for key in (used, used, gone):
        headers = {"Authorization": f"Bearer {key.secret}"}
        await api.client.get("/api/agents", headers=headers)
    await memory.keys.uses.flush()
    keys = {key.name: key.last_used_at for key in (await memory.keys.list(ADMIN)).items}
    assert keys["used"]
    assert datetime.now(UTC) - keys["used"] < timedelta(minutes=1)
    assert keys["idle"] is None
    assert keys["gone"] is None


async def test_an_import_tells_how_far_it_is(memory: Remembrancer) -> None:
    """While it runs, when it has ended, when it failed, and when it was killed."""
    async with ImportProgress(memory.database, 10) as whole:
        whole.advance(4)
        await whole._note()
        [row] = await recent(memory.database)
        assert (row.done, row.total, row.is_running) == (4, 10, True)
        whole.advance(6)
    with pytest.raises(ValueError, match="broken"):
        async with ImportProgress(memory.database, 3):
            raise ValueError("broken")
    killed = ImportProgress(memory.database, 7)
    await killed._write("begin", total=7)
    rows("UPDATE imports SET updated_at = now() - interval '2 minutes' WHERE total = 7")
    seen = {row.total: row for row in await recent(memory.database)}
    assert (seen[10].done, seen[10].reason, seen[10].is_running) == (10, None, False)
    assert seen[3].reason == "ValueError"
    assert seen[7].interrupted


async def test_the_pages_show_usage_work_and_failed_jobs(
    world: World, admin_there: Browser, ada_there: Browser
) -> None:
    """Charts with their tables, by agent; a job that failed with its reason; nothing for users."""
    pantry = world.agents["Pantry"]
    await world.memory.memories.recall(as_actor(world.ada, pantry), RecallQuery(query="tea"))
    page = await admin_there.get("/admin/usage?days=7")
    assert "Recalls, a column a day" in page
    assert page.count("<tbody>") == page.count("As a table") + 1
    assert f"days=7&agent={pantry.id}" in page
    one = await admin_there.get(f"/admin/usage?days=7&agent={world.agents['Quiet Hour'].id}")
    assert '<th scope="row">Pantry' not in one
    await admin_there.get("/admin/usage?days=8", 422)
    await admin_there.get("/admin/usage?agent=x", 422)
    job = rows("SELECT jobs.enqueue('summarise', 'summarise', 'none:1', '{}')")[0][0]
    rows("UPDATE jobs.procrastinate_jobs SET status = 'failed' WHERE id = %s", job)
    rows(
        "INSERT INTO jobs.job_outcomes (job_id, reason, counts) VALUES (%s, 'Unavailable', '{}')",
        job,
    )
    async with ImportProgress(world.memory.database, 10):
        page = await admin_there.get("/admin")
        assert "Summary of a conversation: Unavailable" in page
        assert f"/admin/jobs/{job}/retry" in page
        assert "0 of 10" in page
        assert 'hx-get="/admin/jobs/work"' in page
    assert 'hx-get="/admin/jobs/work"' not in await admin_there.get("/admin/jobs/work")
    for path in ("/admin/usage", "/admin/jobs/work"):
        await ada_there.get(path, 403)


async def test_a_visit_is_one_line_of_the_log(world: World, admin_there: Browser) -> None:
    """A page view of a person by name; each of its reads on request, and within days."""
    await admin_there.get(f"/people/{world.ada.id}/agents")
    page = await admin_there.get("/admin/audit?person=ada&action=preference.read")
    assert page.count('<details class="visit">') == 1
    assert "preferences read" in page
    assert "about Ada" in page
    each = await admin_there.get("/admin/audit?person=ada&lines=each")
    assert each.count('<details class="visit">') > 2
    assert "No entries" in await admin_there.get("/admin/audit?until=2020-01-01")
    today = datetime.now(UTC).date()
    assert "visit" in await admin_there.get(f"/admin/audit?since={today}&until={today}")
    for query in ("since=soon", "until=9999-12-31", "person=nobody-like-it"):
        assert 'aria-invalid="true"' in await admin_there.get(f"/admin/audit?{query}", 422)


async def test_an_admin_chooses_among_people_of_one_name(
    world: World, admin_there: Browser
) -> None:
    """Two Adas: the page asks which one; a platform id and an id name one."""
    rows("UPDATE users SET display_name = 'Ada' WHERE id = %s", world.bob.id)
    page = await admin_there.get("/admin/audit?person=Ada", 422)
    assert f'<option value="{world.ada.id}">' in page
    assert f'<option value="{world.bob.id}">' in page
    await admin_there.get(f"/people/{world.bob.id}/profile")
    await admin_there.get(f"/people/{world.ada.id}/profile")
    chosen = f"person=Ada&person_for=Ada&user_id={world.bob.id}"
    for query in (chosen, f"person={world.bob.id}", f"user_id={world.bob.id}"):
        page = await admin_there.get(f"/admin/audit?{query}&action=user.read")
        assert f"/people/{world.bob.id}/profile" in page
        assert f"/people/{world.ada.id}/profile" not in page


async def test_shared_knowledge_is_a_place_of_its_own(world: World, admin_there: Browser) -> None:
    """Added, found in other words, forgotten for everybody and brought back."""
    await admin_there.get("/admin/shared/new")
    words = "The kitchen closes at nine."
    page = await admin_there.post("/admin/shared", content=words, kind="fact", category="other")
    assert "Added for everybody." in page
    [(memory_id,)] = rows("SELECT id FROM memories WHERE content = %s", words)
    found = await admin_there.get("/admin/shared?text=closing+kitchens")
    assert "<mark>kitchen</mark>" in found
    assert "Nothing of it" in await admin_there.get("/admin/shared?text=xyzzy")
    page = await admin_there.post(f"/admin/shared/{memory_id}/forget")
    assert "Forgotten for everybody." in page
    assert words in await admin_there.get("/admin/shared?status=forgotten&text=kitchen")
    await admin_there.post(f"/admin/shared/{memory_id}/restore")
    hits = (await world.memory.recall("When does the kitchen close?", user=world.bob)).hits
    assert words in [hit.content for hit in hits]
    await admin_there.get("/admin/shared/new")
    kept = await admin_there.post("/admin/shared", 422, content="My card 4111 1111 1111 1111")
    assert "My card" in kept
