"""Filters on metadata, in lists and in recall."""

from typing import Any

import pytest
from entry_points import Door, refusals

from remembrancer import User

TRIPS = [
    ("Ada takes the ferry to Oslo.", {"trip": "Oslo", "price": 89, "day": "2026-05-02"}),
    ("Ada takes the train to Oslo.", {"trip": "Oslo", "price": 120.5, "paid": True}),
    ("Ada takes the bus to Bergen.", {"trip": "Bergen", "price": "89", "day": "2026-06-01"}),
    ("Ada walks home.", {"trip": ["Oslo"], "price": None}),
    ("Ada takes a taxi.", {}),
]
FERRY, TRAIN, BUS, WALK, _ = (content for content, _ in TRIPS)


@pytest.fixture
async def trips(door: Door, ada: User) -> None:
    statements = [{"content": text, "metadata": metadata} for text, metadata in TRIPS]
    await door.remember_many(statements, user=ada)


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"trip": "Oslo"}, {FERRY, TRAIN}),
        ({"trip": "oslo"}, set()),
        ({"trip": {"in": ["Oslo", "Bergen"]}}, {FERRY, TRAIN, BUS}),
        ({"price": 89}, {FERRY}),
        ({"price": 89.0}, {FERRY}),
        ({"price": {"in": [89, "89", 7]}}, {FERRY, BUS}),
        ({"price": {"gt": 89}}, {TRAIN}),
        ({"price": {"gte": 89, "lt": 120.5}}, {FERRY}),
        ({"price": {"lte": 120.5}}, {FERRY, TRAIN}),
        ({"price": {"gte": ""}}, {BUS}),
        ({"day": {"gt": "2026-05-31"}}, {BUS}),
        ({"paid": True}, {TRAIN}),
        ({"paid": {"in": [False, True]}}, {TRAIN}),
        ({"trip": {"eq": "Oslo"}, "price": {"lt": 100}}, {FERRY}),
        ({"gone": "x"}, set()),
        ({}, {content for content, _ in TRIPS}),
    ],
)
async def test_lists_and_recall_have_what_matches(
    door: Door, ada: User, trips: None, wanted: dict[str, Any], found: set[str]
) -> None:
    """By value, by a choice of values and in a range; nothing else, however near."""
    listed = await door.listed(user=ada, metadata=wanted)
    assert {memory["content"] for memory in listed["memories"]} == found
    assert listed["total"] == len(found)
    for mode in ("hybrid", "recent"):
        told = await door.contents("How does Ada travel?", user=ada, metadata=wanted, mode=mode)
        assert set(told) == found


async def test_a_filter_shows_nothing_of_others_and_no_messages(
    door: Door, ada: User, bob: User, trips: None
) -> None:
    """The access rule holds first; a message has no memory's metadata."""
    talk = await door.open(user=ada)
    await door.say(talk["id"], [{"content": "I take the ferry to Oslo."}], user=ada)
    assert (await door.listed(user=bob, metadata={"trip": "Oslo"}))["total"] == 0
    assert await door.contents("Oslo", user=bob, metadata={"trip": "Oslo"}) == []
    told = await door.contents("ferry to Oslo", user=ada, metadata={"trip": "Oslo"})
    assert set(told) == {FERRY, TRAIN}


@pytest.mark.parametrize(
    "wrong",
    [
        {"price": {"near": 3}},
        {"price": {}},
        {"price": {"$gt": 3}},
        {"price": None},
        {"price": [1]},
        {"price": {"in": 3}},
        {"price": {"in": []}},
        {"price": {"in": list(range(101))}},
        {"price": {"in": [[1]]}},
        {"price": {"gt": True}},
        {"price": {"gt": {"a": 1}}},
    ],
)
async def test_an_unknown_operator_or_value_is_refused(door: Door, ada: User, wrong: Any) -> None:
    """With the field of the metadata that is wrong."""
    refused = await refusals(
        door.listed(user=ada, metadata=wrong),
        door.recall("travel", user=ada, metadata=wrong),
    )
    for one in refused:
        assert (one.status, one.fields) == (422, ["metadata.price"])
