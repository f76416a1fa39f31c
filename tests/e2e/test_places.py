"""Places: known by their place id, counted by mention, recalled and kept like any memory."""

import asyncio

import pytest
from entry_points import Door, Refused
from helpers import Api, person, rows

from remembrancer import Agent, Remembrancer, Scope, User
from remembrancer.memories.schemas import Status

HOME = {"place_id": "home", "place_name": "Home", "notes": "123 Main St, Seattle"}


async def test_a_place_is_known_by_its_id_and_adding_it_again_is_a_mention(
    door: Door, ada: User
) -> None:
    """Name and notes stay as they were; conversation and message of each mention are kept."""
    first, second = await door.source(ada), await door.source(ada)
    added = await door.add_place(ada, **HOME, **first)
    assert added["outcome"] == "created"
    again = await door.add_place(ada, place_id="home", place_name="My flat", **second)
    assert (again["outcome"], again["place"]["memory_id"]) == (
        "mentioned",
        added["place"]["memory_id"],
    )
    place = await door.place(ada, "home")
    assert {name: place[name] for name in HOME} == HOME
    assert place["mention_count"] == 2
    assert {
        where: [said[0] for said in mentions] for where, mentions in place["mentioned_in"].items()
    } == {
        first["conversation_id"]: [first["message_id"]],
        second["conversation_id"]: [second["message_id"]],
    }
    assert (await door.places(ada))["items"] == [place]


async def test_two_places_of_one_name_are_two_places(door: Door, ada: User) -> None:
    """Words and subject do not make two places one, in one batch or after each other."""
    for place_id in ("cafe-1", "cafe-2"):
        added = await door.add_place(ada, place_id=place_id, place_name="Cafe")
        assert added["outcome"] == "created"
    batch = [
        {"content": "Gym", "kind": "place", "subject": "Gym", "place_id": place_id}
        for place_id in ("gym-1", "gym-2", "gym-1")
    ]
    outcomes = [one["outcome"] for one in await door.remember_many(batch, user=ada)]
    assert outcomes == ["created", "created", "mentioned"]
    listed = (await door.places(ada))["items"]
    assert {p["place_id"]: p["mention_count"] for p in listed} == {
        "cafe-1": 1,
        "cafe-2": 1,
        "gym-1": 2,
        "gym-2": 1,
    }


async def test_twenty_parallel_mentions_are_twenty_mentions(door: Door, ada: User) -> None:
    """None is lost and none doubled, though all come from one message."""
    await door.add_place(ada, **HOME)
    where = await door.source(ada)
    await asyncio.gather(*(door.mention_place(ada, "home", **where) for _ in range(20)))
    place = await door.place(ada, "home")
    assert place["mention_count"] == 21
    assert [said[0] for said in place["mentioned_in"][where["conversation_id"]]] == [
        where["message_id"]
    ] * 20


async def test_parallel_adding_makes_one_place(door: Door, ada: User) -> None:
    """The same place from ten conversations at once: one place, ten mentions."""
    sources = [await door.source(ada) for _ in range(10)]
    await asyncio.gather(*(door.add_place(ada, **HOME, **where) for where in sources))
    [place] = (await door.places(ada))["items"]
    assert (place["mention_count"], len(place["mentioned_in"])) == (10, 10)


async def test_a_repeated_request_mentions_once(door: Door, ada: User) -> None:
    """With an idempotency key, a retry is no second mention."""
    for _ in range(2):
        await door.add_place(ada, **HOME, key="add")
        await door.mention_place(ada, "home", key="mention")
    assert (await door.place(ada, "home"))["mention_count"] == 2


async def test_a_place_is_recalled_by_name_and_by_notes(door: Door, ada: User, bob: User) -> None:
    """Of its owner alone."""
    await door.add_place(ada, **HOME)
    await door.remember("Ada likes tea.", user=ada)
    for question in ("Where is Main St?", "home"):
        hit = (await door.recall(question, user=ada))["hits"][0]
        assert (hit["kind"], hit["content"]) == ("place", "Home: 123 Main St, Seattle")
    assert (await door.recall("home", user=bob))["hits"] == []
    with pytest.raises(Refused) as refused:
        await door.place(bob, "home")
    assert (refused.value.status, refused.value.fields) == (404, ["place_id"])
    with pytest.raises(Refused):
        await door.mention_place(bob, "home")
    assert (await door.place(ada, "home"))["mention_count"] == 1


async def test_an_update_of_its_memory_changes_the_notes(door: Door, ada: User) -> None:
    """Its name only together with its words, and it stays a place."""
    memory_id = (await door.add_place(ada, **HOME))["place"]["memory_id"]
    await door.update(memory_id, user=ada, content="Home: 5 Oak Avenue")
    assert (await door.place(ada, "home"))["notes"] == "5 Oak Avenue"
    await door.update(memory_id, user=ada, content="The flat", subject="The flat")
    place = await door.place(ada, "home")
    assert (place["place_name"], place["notes"]) == ("The flat", None)
    for field, changes in (
        ("content", {"subject": "Elsewhere"}),
        ("subject", {"subject": None, "content": "x"}),
        ("kind", {"kind": "fact"}),
    ):
        with pytest.raises(Refused) as refused:
            await door.update(memory_id, user=ada, **changes)
        assert (refused.value.status, refused.value.fields) == (422, [field])


async def test_an_agent_has_places_of_its_own_scope(
    door: Door, ada: User, agent: Agent, memory: Remembrancer
) -> None:
    """The same place id in both scopes is two places; moving one to the other makes it one."""
    await door.add_place(ada, **HOME)
    kept = await door.add_place(ada, agent=agent, **HOME, **await door.source(ada))
    assert (kept["outcome"], kept["scope"]) == ("created", Scope.AGENT)
    assert (await door.place(ada, "home", agent=agent))["mention_count"] == 1
    moved = await door.move(ada, agent, to="global", dry_run=False)
    assert (moved["moved"], moved["merged"]) == (0, 1)
    [place] = (await door.places(ada))["items"]
    assert (place["mention_count"], place["agent_id"]) == (2, None)
    await door.undo_move(ada, moved["undo_id"])
    assert len((await door.places(ada))["items"]) == 2


async def test_merging_two_people_makes_their_places_one_and_undo_two(
    door: Door, ada: User, memory: Remembrancer
) -> None:
    """The survivor has the mentions of both; taken back, each has their own again."""
    other = await person(memory, "Ada2", platform="telegram")
    mine, theirs = await door.source(ada), await door.source(other)
    await door.add_place(ada, **HOME, **mine)
    await door.add_place(other, place_id="home", place_name="Flat", **theirs)
    await door.add_place(other, place_id="work", place_name="Home", notes="123 Main St, Seattle")
    merged = await door.merge(ada, other)
    places = {p["place_id"]: p for p in (await door.places(ada))["items"]}
    assert set(places) == {"home", "work"}
    assert set(places["home"]["mentioned_in"]) == {
        mine["conversation_id"],
        theirs["conversation_id"],
    }
    await door.unmerge(ada, merged["undo_id"])
    assert list((await door.place(ada, "home"))["mentioned_in"]) == [mine["conversation_id"]]
    assert (await door.place(other, "home"))["place_name"] == "Flat"


async def test_export_has_places_and_erasure_leaves_nothing_of_them(door: Door, ada: User) -> None:
    """Place id and mentions are in the export; afterwards in no table."""
    where = await door.source(ada)
    await door.add_place(ada, **HOME, **where)
    lines = await door.exported(ada)
    [place] = [line for line in lines if line["type"] == "memory"]
    assert (place["place_id"], place["content"]) == ("home", "Home: 123 Main St, Seattle")
    [mention] = place["mentions"]
    assert mention["conversation_id"] == where["conversation_id"]
    await door.erase_user(ada, dry_run=False)
    for table in ("memories", "mentions", "recall_items", "postings"):
        assert rows(f"SELECT count(*) FROM {table} WHERE owner_id = %s", ada.id) == [(0,)]


async def test_a_message_that_is_erased_takes_its_words_about_a_place_along(
    door: Door, ada: User
) -> None:
    """A place that stands on other words too has those again, with tokens and notes."""
    talk = await door.open(user=ada)
    said = (await door.say(talk["id"], [{"content": "We moved."}], user=ada))["messages"][0]
    memory_id = (await door.add_place(ada, **HOME))["place"]["memory_id"]
    before = await door.read(memory_id, user=ada)
    changes = {"content": "Home: 5 Oak Avenue", "message_id": said["id"]}
    await door.update(memory_id, user=ada, **changes)
    await door.delete_message(talk["id"], said["id"], user=ada)
    after = await door.read(memory_id, user=ada)
    assert [after[f] for f in ("content", "notes", "tokens")] == [
        before[f] for f in ("content", "notes", "tokens")
    ]
    again = await door.add_place(ada, **HOME)
    assert again["place"]["memory_id"] == memory_id


@pytest.mark.parametrize("place_id", ["a/b", "x/mentions", "home page", "%2F", "café", "?a=b#c"])
async def test_any_text_is_a_place_id(door: Door, ada: User, place_id: str) -> None:
    """Slashes, spaces and the rest, in paths too; nothing crosses over to another place."""
    await door.add_place(ada, place_id="x", place_name="Other")
    await door.add_place(ada, place_id=place_id, place_name="This")
    assert (await door.mention_place(ada, place_id))["mention_count"] == 2
    assert (await door.place(ada, place_id))["place_name"] == "This"
    assert (await door.place(ada, "x"))["mention_count"] == 1


@pytest.mark.parametrize("place_id", ["\x00", "\ud800", "x" * 256, "line\nbreak"])
async def test_what_cannot_be_a_place_id_is_refused(door: Door, ada: User, place_id: str) -> None:
    """A 4xx that names the field, in a new place, a mention and a look."""
    for call in (
        lambda: door.add_place(ada, place_id=place_id, place_name="This"),
        lambda: door.mention_place(ada, place_id),
        lambda: door.place(ada, place_id),
    ):
        with pytest.raises(Refused) as refused:
            await call()
        # A line break in a path is no path of ours at all.
        nowhere = refused.value.status == 404 and "\n" in place_id
        assert refused.value.status in {404, 422}
        assert refused.value.fields == ["place_id"] or nowhere


@pytest.mark.parametrize(
    ("field", "place"),
    [
        ("notes", {"notes": "pin code for the door: hunter2hunter2, password is zyzzyva77plugh"}),
        ("place_name", {"place_name": "5555 5555 5555 4444"}),
        ("place_id", {"place_id": "GB82 WEST 1234 5698 7654 32"}),
        ("notes", {"notes": "x" * 2001}),
    ],
)
async def test_the_guard_and_the_limit_hold_for_places(
    door: Door, ada: User, field: str, place: dict[str, str]
) -> None:
    """Refused with the field of the place, and nothing stored."""
    with pytest.raises(Refused) as refused:
        await door.add_place(ada, **(HOME | place))
    assert (refused.value.status, refused.value.fields) == (422, [field])
    assert (await door.places(ada))["items"] == []


async def test_a_user_key_is_for_its_own_places(api: Api, ada: User, bob: User) -> None:
    """Somebody else's do not exist for it."""
    headers = await api.key_of(bob)
    for method, path in (("GET", "/places"), ("POST", "/places"), ("GET", "/memory-budget")):
        answer = await api.client.request(
            method, f"/api/users/{ada.id}{path}", headers=headers, json=HOME
        )
        assert answer.status_code == 404, path


async def test_places_come_in_pages(door: Door, ada: User) -> None:
    """Each once, in the order they were added; a cursor of another list is refused."""
    for number in range(5):
        await door.add_place(ada, place_id=f"p{number}", place_name=f"Place {number}")
    found, cursor = [], None
    while True:
        page = await door.places(ada, limit=2, cursor=cursor)
        found += [place["place_id"] for place in page["items"]]
        if (cursor := page["next_cursor"]) is None:
            break
    assert found == [f"p{number}" for number in range(5)]
    with pytest.raises(Refused) as refused:
        await door.places(ada, cursor="x")
    assert (refused.value.status, refused.value.fields) == (422, ["cursor"])


async def test_a_forgotten_place_is_remembered_anew_and_its_twin_cannot_come_back(
    door: Door, ada: User
) -> None:
    """One active place per id, whichever way it comes."""
    old = (await door.add_place(ada, **HOME))["place"]["memory_id"]
    await door.forget(old, user=ada)
    new = await door.add_place(ada, **HOME)
    assert new["outcome"] == "created"
    with pytest.raises(Refused) as refused:
        await door.restore(old, user=ada)
    assert refused.value.status == 409
    [(status,)] = rows("SELECT status FROM memories WHERE id = %s", old)
    assert status == Status.FORGOTTEN
