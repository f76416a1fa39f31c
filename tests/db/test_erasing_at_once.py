"""An erasure and whatever happens at the same moment: nobody slips in, nobody waits for ever."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

import psycopg
from helpers import ADMIN, Store, person, rows

from remembrancer import (
    Agent,
    AssociationCreate,
    ConversationCreate,
    MemberAdd,
    MemoryUpdate,
    MessageCreate,
    MoveRequest,
    NotFound,
    PlatformLink,
    PreferenceUpdate,
    RecallQuery,
    Remembrancer,
    ResolveUser,
    Role,
    SpaceCreate,
    ToggleUpdate,
    User,
    UserUpdate,
    as_actor,
)
from remembrancer.db.tables import metadata
from remembrancer.embeddings import CachedQueries
from remembrancer.keys.schemas import KeyCreate

Write = Callable[[], Awaitable[Any]]


async def _talk(memory: Remembrancer, *people: User) -> tuple[UUID, list[UUID]]:
    """A conversation in which each has said one thing."""
    talk = await memory.conversations.open(as_actor(people[0]), ConversationCreate())
    said = [MessageCreate(content=f"I am {one.display_name}.", user_id=one.id) for one in people]
    appended = await memory.conversations.append(as_actor(), talk.id, said)
    return talk.id, [message.id for message in appended.messages]


def _rows_about(user: User) -> dict[str, int]:
    """Rows in which a user is named, in every table but the audit log."""
    found = {}
    for table in metadata.sorted_tables:
        if table.name != "audit_log":
            [[count]] = rows(
                f"SELECT count(*) FROM {table.name} AS t WHERE t::text LIKE %s", f"%{user.id}%"
            )
            found[table.name] = count
    return {name: count for name, count in found.items() if count}


def _waiting() -> int:
    """How many connections wait for a lock."""
    [[count]] = rows("SELECT count(*) FROM pg_locks WHERE NOT granted")
    return int(count)


async def _until(condition: Callable[[], bool]) -> None:
    """Wait until something is so."""
    while not await asyncio.to_thread(condition):  # noqa: ASYNC110 - the database tells nobody
        await asyncio.sleep(0.01)


async def _writers(memory: Remembrancer, who: User, bob: User, agent: Agent) -> dict[str, Write]:
    """All that can be written of a user."""
    me, staff = as_actor(who, agent), as_actor()
    space = await memory.spaces.create(as_actor(bob), SpaceCreate(name="S"))
    group, _ = await _talk(memory, bob)
    own, _ = await _talk(memory, who)
    known = (await memory.remember("Keeps bees.", user=who, agent=agent)).memory.id
    other = (await memory.remember("Has a hat.", user=who)).memory.id
    edge = AssociationCreate(target_id=other, relation="related_to")
    late = MessageCreate(content="Late.", user_id=who.id)
    allow = {"allow_agent_specific_memory": False}
    link = PlatformLink(platform="x", platform_user_id=str(who.id))
    platform_user_id = who.platform_links[0].platform_user_id
    again = ResolveUser(platform="discord", platform_user_id=platform_user_id, display_name="New")
    return {
        "remember": lambda: memory.remember("Late.", user=who, agent=agent),
        "update": lambda: memory.memories.update(me, known, MemoryUpdate(content="Late too.")),
        "forget": lambda: memory.memories.forget(me, known),
        "associate": lambda: memory.associations.add(as_actor(who), known, edge),
        "open": lambda: memory.conversations.open(me, ConversationCreate()),
        "append": lambda: memory.conversations.append(staff, group, [late]),
        "append to own": lambda: memory.conversations.append(me, own, [late]),
        "prefer": lambda: memory.preferences.set(
            staff, who.id, agent.id, PreferenceUpdate(**allow)
        ),
        "toggle": lambda: memory.preferences.set_toggle(staff, who.id, ToggleUpdate(**allow)),
        "make a space": lambda: memory.spaces.create(as_actor(who), SpaceCreate(name="L")),
        "join": lambda: memory.spaces.add_member(
            as_actor(bob), space.id, MemberAdd(user_id=who.id)
        ),
        "make a key": lambda: memory.keys.create(
            ADMIN, KeyCreate(name="own", role=Role.USER, user_id=who.id)
        ),
        "link": lambda: memory.users.link(staff, who.id, link),
        "merge": lambda: memory.users.merge(staff, bob.id, who.id),
        "rename": lambda: memory.users.update(staff, who.id, UserUpdate(display_name="L")),
        "resolve": lambda: memory.users.resolve(staff, again),
        "move": lambda: memory.moves.move(
            staff, who.id, agent.id, MoveRequest(to="global", dry_run=False)
        ),
    }


async def test_every_writer_waits_for_an_erasure_and_then_finds_nobody(
    memory: Remembrancer, bob: User, agent: Agent
) -> None:
    """Whatever is written of a user at that moment is erased with the rest, or refused."""
    for name in await _writers(memory, await person(memory, "Nobody"), bob, agent):
        who = await person(memory, f"Writes {name}")
        write = (await _writers(memory, who, bob, agent))[name]
        with psycopg.connect(Store.url) as first:
            first.execute("SELECT FROM users WHERE id = %s FOR UPDATE", (who.id,))
            erasing = asyncio.create_task(memory.users.erase(as_actor(), who.id, dry_run=False))
            await _until(lambda: _waiting() == 1)
            writing = asyncio.ensure_future(write())
            await _until(lambda task=writing: task.done() or _waiting() == 2)
            assert not writing.done(), name
        ended = await asyncio.gather(erasing, writing, return_exceptions=True)
        assert not isinstance(ended[0], BaseException), (name, ended[0])
        # Who is looked up at that moment may be told of as they were.
        if name != "resolve":
            assert isinstance(ended[1], NotFound), (name, ended[1])
        assert _rows_about(who) == {}, name


async def test_a_message_and_its_author_are_erased_at_once(memory: Remembrancer, bob: User) -> None:
    """One waits for the other, neither for ever; nothing is left."""
    for number in range(4):
        who = await person(memory, f"P{number}")
        talk, [said, _] = await _talk(memory, who, bob)
        ended = await asyncio.gather(
            memory.conversations.delete_message(as_actor(who), talk, said),
            memory.users.erase(as_actor(), who.id, dry_run=False),
            return_exceptions=True,
        )
        assert isinstance(ended[0], NotFound) or not isinstance(ended[0], BaseException)
        assert not isinstance(ended[1], BaseException)
        # The conversation goes on with the other; it tells who opened it.
        assert _rows_about(who).keys() <= {"conversations"}


async def test_people_who_share_things_are_erased_at_once(memory: Remembrancer) -> None:
    """Whoever remains owns the space; what nobody is in any more is gone."""
    for number in range(4):
        one, two, three = [await person(memory, f"{name}{number}") for name in "ABC"]
        all_three = SpaceCreate(name="S", member_ids=[two.id, three.id])
        kept = await memory.spaces.create(as_actor(one), all_three)
        await memory.spaces.create(as_actor(one), SpaceCreate(name="T", member_ids=[two.id]))
        talk, [of_one, of_two] = await _talk(memory, one, two)
        # Each remembers what the other said.
        await memory.remember("Two is two.", user=one, message_id=of_two)
        await memory.remember("One is one.", user=two, message_id=of_one)
        await asyncio.gather(
            *(memory.users.erase(as_actor(), u.id, dry_run=False) for u in (one, two))
        )
        assert rows("SELECT user_id, role FROM space_members") == [(three.id, "owner")]
        assert rows("SELECT id FROM spaces") == [(kept.id,)]
        assert not rows("SELECT FROM conversations WHERE id = %s", talk)
        await memory.users.erase(as_actor(), three.id, dry_run=False)
        assert not rows("SELECT FROM spaces")


async def test_who_writes_by_a_former_id_is_waited_for_as_well(
    memory: Remembrancer, ada: User, bob: User
) -> None:
    """After a merge both ids are one person: an erasure waits for a writer by either."""
    talk, _ = await _talk(memory, ada)
    await memory.users.merge(as_actor(), ada.id, bob.id)
    late = MessageCreate(content="Late.", user_id=bob.id)
    with psycopg.connect(Store.url) as first:
        # The conversation is taken last, when an append holds its people already.
        first.execute("SELECT FROM conversations WHERE id = %s FOR UPDATE", (talk,))
        writing = asyncio.create_task(memory.conversations.append(as_actor(), talk, [late]))
        await _until(lambda: _waiting() == 1)
        erasing = asyncio.create_task(memory.users.erase(as_actor(), ada.id, dry_run=False))
        await _until(lambda: _waiting() == 2)
    await asyncio.gather(writing, erasing)
    assert _rows_about(ada) == _rows_about(bob) == {}


async def test_queued_work_about_what_is_gone_goes(memory: Remembrancer, ada: User) -> None:
    """No job is left for a conversation that nobody takes part in any more."""
    talk, _ = await _talk(memory, ada)
    said = [MessageCreate(content=f"Message {n}.") for n in range(60)]
    await memory.conversations.append(as_actor(ada), talk, said)
    assert rows("SELECT count(*) FROM jobs.procrastinate_jobs") == [(1,)]
    receipt = await memory.users.erase(as_actor(), ada.id, dry_run=False)
    assert receipt.rows["jobs"] == 1
    assert rows("SELECT count(*) FROM jobs.procrastinate_jobs") == [(0,)]


async def test_questions_that_this_process_keeps_are_forgotten(
    memory: Remembrancer, ada: User
) -> None:
    """The cache of vectors holds what people asked; after an erasure it is empty."""
    assert isinstance(memory.embedder, CachedQueries)
    await memory.memories.recall(as_actor(ada), RecallQuery(query="What of the heron?"))
    await memory.users.erase(as_actor(), ada.id)
    assert memory.embedder._vectors
    await memory.users.erase(as_actor(), ada.id, dry_run=False)
    assert not memory.embedder._vectors


async def test_a_merge_that_was_taken_back_is_no_trace_of_who_is_erased(
    memory: Remembrancer, ada: User, bob: User
) -> None:
    """Its record is the other's, and names both; it goes. What was erased does not come back."""
    talk, [said] = await _talk(memory, bob)
    await memory.remember("Bob keeps wasps.", user=bob, message_id=said)
    tea = await memory.remember("Bob likes tea.", user=bob)
    merge = await memory.users.merge(as_actor(), ada.id, bob.id)
    await memory.conversations.delete_message(as_actor(ada), talk, said)
    await memory.memories.erase(as_actor(ada), tea.memory.id, dry_run=False)
    await memory.users.undo_merge(as_actor(), ada.id, merge.undo_id)
    assert (await memory.memories.list(as_actor(bob))).total == 0
    assert "undo_records" in _rows_about(bob)
    await memory.users.erase(as_actor(), bob.id, dry_run=False)
    assert _rows_about(bob) == {}
