"""Spaces: who is in them, what is shared there, and what is left when somebody goes."""

import asyncio
from typing import Any
from uuid import uuid4

import pytest
from entry_points import Door, Json, PythonDoor, Refused, refusals
from helpers import audit_lines, person, rows
from rule_removal import row_security_off_meanwhile, rule_removal

from remembrancer import Actor, Agent, RecallQuery, Remembrancer, Role, User, as_actor

GRAN = "Gran was born in Lisbon."


@pytest.fixture
async def cleo(memory: Remembrancer) -> User:
    return await person(memory, "Cleo")


@pytest.fixture
async def family(door: Door, ada: User, bob: User) -> str:
    """A space that Ada owns and Bob is a member of."""
    made = await door.create_space(user=ada, name="Gran", member_ids=[str(bob.id)])
    return made["id"]


async def _ids(door: Door, **asked: Any) -> list[str]:
    return [memory["id"] for memory in (await door.listed(**asked))["memories"]]


async def _sees(
    door: Door, user: User, memory_id: str, space: str, query: str = GRAN
) -> list[bool]:
    """Whether each way of reading shows somebody a memory: list, get, recall, by words."""
    listed = memory_id in await _ids(door, user=user)
    within = memory_id in await _ids(door, user=user, space_id=space)
    try:
        got = (await door.read(memory_id, user=user))["id"] == memory_id
    except Refused:
        got = False
    hits = (await door.recall(query, user=user))["hits"]
    recent = (await door.recall(None, user=user, mode="recent"))["hits"]
    return [
        listed,
        within,
        got,
        memory_id in [hit["id"] for hit in hits],
        memory_id in [hit["id"] for hit in recent],
    ]


def _places(memory_id: str) -> tuple[set[Any], ...]:
    """What each table says of who sees a memory."""
    return (
        set(rows("SELECT visibility FROM memories WHERE id = %s", memory_id)),
        set(rows("SELECT visibility FROM recall_items WHERE memory_id = %s", memory_id)),
        set(
            rows(
                "SELECT p.shared_space_id FROM postings AS p JOIN recall_items AS i"
                " ON i.owner_id = p.owner_id AND i.id = p.item_id WHERE i.memory_id = %s",
                memory_id,
            )
        ),
    )


def _refusals(action: str) -> list[Any]:
    return [one for one in audit_lines() if (one.action, one.outcome) == (action, "refused")]


async def _fact(door: Door, space: str, user: User, content: str = GRAN, **fields: Any) -> str:
    written = await door.remember_in(space, content, user=user, **fields)
    return written["memory"]["id"]


# Facts -------------------------------------------------------------------------------------


async def test_a_shared_fact_is_seen_everywhere_and_a_private_one_nowhere(
    door: Door, family: str, ada: User, bob: User, cleo: User
) -> None:
    """Private by default; shared, the next read of a member shows it; unshared, none does."""
    fact = await _fact(door, family, ada)
    for visibility, seen in (("shared", True), ("private", False), ("shared", True)):
        if visibility == "shared":
            assert await _sees(door, bob, fact, family) == [False] * 5
        shown = await door.show(fact, visibility, user=ada)
        assert (shown["id"], shown["visibility"]) == (fact, visibility)
        assert await _sees(door, bob, fact, family) == [seen] * 5
        assert await _sees(door, ada, fact, family) == [True] * 5
        assert await _sees(door, cleo, fact, family) == [False] * 5
    assert [len(kinds) for kinds in _places(fact)] == [1, 1, 1]


async def test_every_version_of_a_fact_is_shared_and_hidden_together(
    door: Door, family: str, ada: User, bob: User
) -> None:
    """Also the words of earlier versions, which a question as of an earlier day is asked of."""
    fact = await _fact(door, family, ada)
    await door.update(fact, user=ada, content="Gran was born in Porto.")
    await door.show(fact, "shared", user=ada)
    assert [str(one) for one in _places(fact)[2]] == [f"(UUID('{family}'),)"]
    assert len(_places(fact)[1]) == 1
    assert len((await door.read(fact, user=bob))["versions"]) == 2
    await door.update(fact, user=ada, content="Gran was born in Faro.")
    assert [
        memory["content"] for memory in (await door.listed_in(family, user=bob))["memories"]
    ] == ["Gran was born in Faro."]
    await door.show(fact, "private", user=ada)
    assert _places(fact) == ({("private",)}, {("private",)}, {(None,)})


async def test_only_the_author_changes_shares_or_forgets_a_fact(
    door: Door, family: str, ada: User, bob: User, cleo: User
) -> None:
    """For every other member and for strangers it is a 404, a line in the log, and no change."""
    fact = await _fact(door, family, ada, visibility="shared")
    hidden = await _fact(door, family, ada, "Gran hid her letters.")
    before = rows("SELECT id, content, status, visibility, version FROM memories ORDER BY id")
    for who in (bob, cleo):
        own = await door.of(who)
        for memory_id in (fact, hidden):
            for asked in (door, own):
                named = {"user": who} if asked is door else {}
                refused = await refusals(
                    asked.update(memory_id, content="Forged.", **named),
                    asked.forget(memory_id, **named),
                    asked.show(memory_id, "private", **named),
                    asked.show(memory_id, "shared", **named),
                )
                assert {one.status for one in refused} == {404}
                assert all(one.fields == ["memory_id"] for one in refused)
    assert (
        rows("SELECT id, content, status, visibility, version FROM memories ORDER BY id") == before
    )
    assert len(_refusals("memory.share")) == 16
    assert {line.target_ids[0] for line in _refusals("memory.share")} == {fact, hidden}


async def test_only_what_lies_in_a_space_can_be_shared(door: Door, ada: User, bob: User) -> None:
    """422 for a memory outside spaces, whoever its owner; making it private changes nothing."""
    memory_id = (await door.remember(GRAN, user=ada))["memory"]["id"]
    [refused] = await refusals(door.show(memory_id, "shared", user=ada))
    assert (refused.status, refused.fields) == (422, ["visibility"])
    assert (await door.show(memory_id, "private", user=ada))["visibility"] == "private"
    [refused] = await refusals(door.show(memory_id, "shared", user=bob))
    assert refused.status == 404
    [refused] = await refusals(door.show(memory_id, "public", user=ada))
    assert (refused.status, refused.fields) == (422, ["visibility"])


async def test_sharing_needs_the_current_version_if_one_is_named(
    door: Door, family: str, ada: User
) -> None:
    """412, and nothing is shown."""
    fact = await _fact(door, family, ada)
    await door.update(fact, user=ada, content="Gran was born in Porto.")
    [refused] = await refusals(door.show(fact, "shared", user=ada, if_version=1))
    assert refused.status == 412
    assert (await door.show(fact, "shared", user=ada, if_version=2))["visibility"] == "shared"


async def test_facts_are_listed_in_the_order_they_were_learned(
    door: Door, family: str, ada: User, bob: User
) -> None:
    """Mine and what others share, page by page, each marked as mine or not."""
    mine = [await _fact(door, family, ada, f"Ada knows {n}.") for n in range(2)]
    shared = await _fact(door, family, bob, "Bob tells this.", visibility="shared")
    await _fact(door, family, bob, "Bob keeps this.")
    last = await _fact(door, family, ada, "Ada knows more.", category="hobby")
    found: list[Json] = []
    cursor = None
    while True:
        page = await door.facts(family, user=ada, limit=3, cursor=cursor)
        found += page["items"]
        if (cursor := page["next_cursor"]) is None:
            break
    assert [fact["id"] for fact in found] == [*mine, shared, last]
    assert [fact["mine"] for fact in found] == [True, True, False, True]
    assert [fact["author"] for fact in found] == [None, None, "Bob", None]
    own = await (await door.of(ada)).facts(family)
    assert [fact["author"] for fact in own["items"]] == [None, None, "Bob", None]
    [shared] = (await door.facts(family, user=bob))["items"][:1]
    assert (shared["mine"], shared["author"]) == (True, "Bob"), "on every shared line"
    assert found[-1]["category"] == "hobby"
    assert {fact["space_id"] for fact in found} == {family}


async def test_what_is_shared_with_its_edges_is_hidden_with_them(
    door: Door, family: str, ada: User, bob: User
) -> None:
    """An association is seen by who sees both of its ends."""
    first = await _fact(door, family, ada, visibility="shared")
    second = await _fact(door, family, ada, "Gran played the cello.")
    await door.associate(second, first, user=ada)
    assert (await door.associations(first, user=bob))["items"] == []
    await door.show(second, "shared", user=ada)
    [edge] = (await door.associations(first, user=bob))["items"]
    assert edge["memory_id"] == second
    await door.show(second, "private", user=ada)
    assert (await door.associations(first, user=bob))["items"] == []


async def test_sibling_names_never_cross(door: Door, ada: User, bob: User) -> None:
    """`acme` and `acme-corp` are two spaces, whatever their names begin with."""
    acme = (await door.create_space(user=ada, name="acme"))["id"]
    corp = (await door.create_space(user=bob, name="acme-corp"))["id"]
    fact = await _fact(door, acme, ada, visibility="shared")
    assert await _sees(door, bob, fact, acme) == [False] * 5
    assert (await door.listed_in(corp, user=bob))["memories"] == []
    for user, name in ((ada, "acme"), (bob, "acme-corp")):
        assert [space["name"] for space in (await door.spaces(user=user))["items"]] == [name]
    refused = await refusals(
        door.listed_in(acme, user=bob), door.facts(acme, user=bob), door.space(acme, user=bob)
    )
    assert {one.status for one in refused} == {404}


# Members -----------------------------------------------------------------------------------


async def test_a_space_exists_for_its_members_alone(
    door: Door, family: str, ada: User, cleo: User
) -> None:
    """404 for everybody else, whatever they try, and a line in the log for each."""
    own = await door.of(cleo)
    for asked, named in ((door, {"user": cleo}), (own, {})):
        refused = await refusals(
            asked.space(family, **named),
            asked.change_space(family, name="Mine", **named),
            asked.delete_space(family, **named),
            asked.restore_space(family, **named),
            asked.members(family, **named),
            asked.add_member(family, cleo, **named),
            asked.change_member(family, ada, role="member", **named),
            asked.remove_member(family, ada, **named),
            asked.leave(family, **named),
            asked.remember_in(family, GRAN, **named),
            asked.listed_in(family, **named),
            asked.facts(family, **named),
        )
        assert {one.status for one in refused} == {404}
    refused_lines = [line for line in audit_lines() if line.outcome == "refused"]
    assert len(refused_lines) == 2 * 12
    assert {line.target_ids[0] for line in refused_lines} == {family}
    assert (await door.space(family, user=ada))["member_count"] == 2


async def test_what_takes_an_owner_is_refused_to_members(
    door: Door, family: str, ada: User, bob: User, cleo: User
) -> None:
    """403: they see the space, and may not run it."""
    refused = await refusals(
        door.change_space(family, user=bob, name="Mine"),
        door.delete_space(family, user=bob),
        door.add_member(family, cleo, user=bob),
        door.change_member(family, bob, user=bob, role="owner"),
        door.remove_member(family, ada, user=bob),
    )
    assert {one.status for one in refused} == {403}
    seen = await door.space(family, user=bob)
    assert (seen["name"], seen["role"], seen["member_count"]) == ("Gran", "member", 2)


async def test_members_are_added_listed_and_removed_by_owners(
    door: Door, family: str, ada: User, bob: User, cleo: User
) -> None:
    """Who joins sees what is shared from then on; who is removed sees it no more."""
    fact = await _fact(door, family, ada, visibility="shared")
    joined = await door.add_member(family, cleo, user=ada, key="k")
    assert joined == await door.add_member(family, cleo, user=ada, key="k")
    assert (joined["display_name"], joined["role"]) == ("Cleo", "member")
    assert await _sees(door, cleo, fact, family) == [True] * 5
    [again, nobody] = await refusals(
        door.add_member(family, cleo, user=ada), door.add_member(family, uuid4(), user=ada)
    )
    assert (again.status, nobody.status, nobody.fields) == (409, 404, ["user_id"])
    first = await door.members(family, user=bob, limit=2)
    rest = await door.members(family, user=bob, limit=2, cursor=first["next_cursor"])
    names = [one["display_name"] for one in first["items"] + rest["items"]]
    assert sorted(names) == ["Ada", "Bob", "Cleo"]
    assert rest["next_cursor"] is None
    await door.remove_member(family, cleo, user=ada)
    assert await _sees(door, cleo, fact, family) == [False] * 5


async def test_the_name_and_description_change_for_everybody(
    door: Door, family: str, ada: User, bob: User
) -> None:
    """What is left out stays; null is refused by name."""
    await door.change_space(family, user=ada, name="Granny")
    changed = await door.change_space(family, user=ada, description="Our grandmother.")
    assert changed == {**await door.space(family, user=bob), "role": "owner"}
    assert (changed["name"], changed["description"]) == ("Granny", "Our grandmother.")
    [refused] = await refusals(door.change_space(family, user=ada, name=None))
    assert (refused.status, refused.fields) == (422, ["name"])


async def test_somebody_always_owns_a_space(door: Door, family: str, ada: User, bob: User) -> None:
    """The last owner neither leaves nor steps down while others stay: they hand over first."""
    refused = await refusals(
        door.leave(family, user=ada),
        door.change_member(family, ada, user=ada, role="member"),
        door.remove_member(family, ada, user=ada),
    )
    assert {one.status for one in refused} == {409}
    [wrong] = await refusals(
        door.change_member(family, bob, user=ada, role="member", hand_over=True)
    )
    assert (wrong.status, wrong.fields) == (422, ["hand_over"])
    handed = await door.change_member(family, bob, user=ada, role="owner", hand_over=True)
    assert handed["role"] == "owner"
    assert (await door.space(family, user=ada))["role"] == "member"
    await door.leave(family, user=ada)
    assert (await door.space(family, user=bob))["member_count"] == 1


async def test_two_owners_who_leave_at_once_leave_one(
    door: Door, family: str, ada: User, bob: User, cleo: User
) -> None:
    """One goes; the other is the last owner by then, and is refused."""
    await door.add_member(family, cleo, user=ada)
    await door.change_member(family, bob, user=ada, role="owner")
    ended = await asyncio.gather(
        door.leave(family, user=ada), door.leave(family, user=bob), return_exceptions=True
    )
    assert sorted(getattr(one, "status", 0) for one in ended) == [0, 409]
    owners = rows("SELECT count(*) FROM space_members WHERE role = 'owner'")
    assert owners == [(1,)]


# Leaving and ending ------------------------------------------------------------------------


async def test_leaving_hides_what_others_shared_and_keeps_what_is_ones_own(
    door: Door, family: str, ada: User, bob: User
) -> None:
    """And what the leaver shared stays shared until they take it back."""
    adas = await _fact(door, family, ada, visibility="shared")
    shared = await _fact(door, family, bob, "Gran loved Bob.", visibility="shared")
    private = await _fact(door, family, bob, "Gran scolded Bob.")
    await door.leave(family, user=bob)
    assert await _sees(door, bob, adas, family) == [False] * 5
    assert await _sees(door, bob, private, family, "Gran scolded Bob") == [True] * 5
    assert await _sees(door, bob, shared, family, "Gran loved Bob") == [True] * 5
    assert await _sees(door, ada, shared, family, "Gran loved Bob") == [True] * 5
    assert await _sees(door, ada, private, family, "Gran scolded Bob") == [False] * 5
    await door.show(shared, "private", user=bob)
    assert await _sees(door, ada, shared, family, "Gran loved Bob") == [False] * 5
    [refused] = await refusals(door.show(shared, "shared", user=bob))
    assert (refused.status, refused.fields) == (409, ["visibility"])
    assert _places(shared)[0] == {("private",)}


async def test_who_left_adds_nothing_to_what_the_members_see(
    door: Door, family: str, ada: User, bob: User
) -> None:
    """Their shared facts are not edited or restored from outside; their private ones are."""
    shared = await _fact(door, family, bob, "Gran loved Bob.", visibility="shared")
    gone = await _fact(door, family, bob, "Gran taught Bob.", visibility="shared")
    private = await _fact(door, family, bob, "Gran scolded Bob.")
    await door.forget(gone, user=bob)
    await door.leave(family, user=bob)
    own = await door.of(bob)
    for asked, named in ((door, {"user": bob}), (own, {})):
        refused = await refusals(
            asked.update(shared, content="Gran hated Bob.", **named),
            asked.restore(gone, **named),
            asked.associate(shared, private, **named),
        )
        assert [one.status for one in refused] == [409] * 3
        content = f"Gran scolded Bob often, says {type(asked).__name__} {len(named)}."
        assert (await asked.update(private, content=content, **named))["content"] == content
    assert (await door.read(shared, user=ada))["content"] == "Gran loved Bob."
    await own.show(gone, "private")
    assert (await own.restore(gone))["visibility"] == "private"
    await own.show(shared, "private")
    assert (await own.update(shared, content="Gran hated Bob."))["version"] == 2
    assert await _ids(door, user=ada) == []


async def test_a_space_is_deleted_when_nothing_lies_in_it(
    door: Door, family: str, ada: User, bob: User
) -> None:
    """409 while there are memories, anybody's, or conversations; forgotten ones do not count."""
    fact = await _fact(door, family, bob)
    [refused] = await refusals(door.delete_space(family, user=ada))
    assert (refused.status, refused.fields) == (409, ["space_id"])
    assert (await door.space(family, user=bob))["member_count"] == 2
    await door.forget(fact, user=bob)
    await door.delete_space(family, user=ada)
    refused_each = await refusals(
        door.space(family, user=ada), door.remember_in(family, GRAN, user=bob)
    )
    assert {one.status for one in refused_each} == {404}
    [refused] = await refusals(door.restore_space(family, user=bob))
    assert refused.status == 404
    back = await door.restore_space(family, user=ada)
    assert (back["name"], back["role"], back["member_count"]) == ("Gran", "owner", 2)
    await door.open(user=ada, space_id=family)
    [refused] = await refusals(door.delete_space(family, user=ada))
    assert refused.status == 409


async def test_a_deleted_space_and_a_new_fact_never_pass_each_other(
    door: Door, ada: User, bob: User
) -> None:
    """Whoever writes is waited for: no fact lies in a space that is gone."""
    for n in range(5):
        space = (await door.create_space(user=ada, name=f"S{n}", member_ids=[str(bob.id)]))["id"]
        await asyncio.gather(
            door.delete_space(space, user=ada),
            door.remember_in(space, f"Fact {n}", user=bob),
            return_exceptions=True,
        )
    lost = "SELECT count(*) FROM memories WHERE space_id NOT IN (SELECT id FROM spaces)"
    assert rows(lost) == [(0,)]


async def test_the_last_member_may_go_and_take_the_space_along(door: Door, ada: User) -> None:
    """Their facts stay theirs, and who left last can bring the space back."""
    space = (await door.create_space(user=ada, name="Alone"))["id"]
    fact = await _fact(door, space, ada)
    await door.leave(space, user=ada)
    assert (await door.spaces(user=ada))["items"] == []
    assert (await door.read(fact, user=ada))["content"] == GRAN
    assert (await door.restore_space(space, user=ada))["role"] == "owner"
    assert [one["id"] for one in (await door.facts(space, user=ada))["items"]] == [fact]


async def test_spaces_come_in_pages(door: Door, ada: User, bob: User) -> None:
    """In the order they were made, each with one's role and the number of members."""
    for n in range(3):
        await door.create_space(user=ada, name=f"Space {n}", member_ids=[str(bob.id)] * (n % 2))
    first = await door.spaces(user=ada, limit=2)
    rest = await door.spaces(user=ada, limit=2, cursor=first["next_cursor"])
    found = first["items"] + rest["items"]
    assert [(one["name"], one["role"], one["member_count"]) for one in found] == [
        ("Space 0", "owner", 1),
        ("Space 1", "owner", 2),
        ("Space 2", "owner", 1),
    ]
    assert rest["next_cursor"] is None
    made = await door.create_space(user=ada, name="Once", key="k")
    assert await door.create_space(user=ada, name="Once", key="k") == made


async def test_a_merged_person_is_in_the_spaces_of_both(
    door: Door, family: str, ada: User, bob: User, cleo: User
) -> None:
    """Named by either id, they are the one member they are now."""
    await door.add_member(family, cleo, user=ada)
    await _fact(door, family, cleo, visibility="shared")
    await door.merge(bob, cleo)
    assert (await door.space(family, user=cleo))["member_count"] == 2
    [listed] = (await door.facts(family, user=cleo))["items"]
    assert (listed["mine"], listed["user_id"]) == (True, str(bob.id))
    assert (await door.change_member(family, cleo, user=ada, role="owner"))["user_id"] == str(
        bob.id
    )
    [mine] = (await door.facts(family, user=ada))["items"]
    assert (mine["mine"], mine["content"]) == (False, GRAN)


async def test_changes_are_in_the_log_of_whom_they_concern(
    door: Door, family: str, ada: User, bob: User
) -> None:
    """Ids, never content: who joined, who went, what was shared."""
    fact = await _fact(door, family, ada)
    await door.show(fact, "shared", user=ada)
    await door.show(fact, "private", user=ada)
    await door.leave(family, user=bob)
    done = [(one.action, one.owner_id, one.target_ids[0]) for one in audit_lines()]
    for action, owner, target in (
        ("memory.share", ada.id, fact),
        ("memory.unshare", ada.id, fact),
        ("space.leave", bob.id, family),
    ):
        assert (action, owner, target) in done
    assert not any("Lisbon" in str(one) for one in audit_lines())


# The second lock ---------------------------------------------------------------------------


async def _shown_without_the_rule(memory: Remembrancer, actor: Actor) -> list[int]:
    """How many rows each read and each table shows when no statement has the rule."""
    with rule_removal() as removal:
        with removal.needed():
            listed = (await memory.memories.list(actor)).items
        with removal.needed():
            hits = (await memory.memories.recall(actor, RecallQuery(query=GRAN))).hits
    counts = [len(listed), len(hits)]
    async with memory.database.transaction(actor) as (connection, _):
        for table in ("memories", "recall_items", "memory_versions"):
            counted = await connection.exec_driver_sql(f"SELECT count(*) FROM {table}")
            counts.append(counted.scalar_one())
        words = await connection.exec_driver_sql("SELECT count(*) > 0 FROM postings")
        return [*counts, int(words.scalar_one())]


@pytest.mark.parametrize("role", [Role.USER, Role.SERVICE, Role.ADMIN])
async def test_row_security_hides_what_was_unshared_when_a_query_forgets_the_rule(
    memory: Remembrancer, ada: User, bob: User, agent: Agent, role: Role
) -> None:
    """Shared, the database itself shows it; unshared, it hides it, words and vectors too."""
    door = PythonDoor(memory, as_actor())
    space = (await door.create_space(user=ada, name="Gran", member_ids=[str(bob.id)]))["id"]
    fact = await _fact(door, space, ada, visibility="shared")
    actor = Actor(role, user_id=bob.id)
    for visibility, seen in (("shared", 1), ("private", 0)):
        await door.show(fact, visibility, user=ada)
        assert await _shown_without_the_rule(memory, actor) == [seen] * 6
    async with row_security_off_meanwhile():  # the counter-proof: nothing else hides it
        assert await _shown_without_the_rule(memory, actor) == [1] * 6
