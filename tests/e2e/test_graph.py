"""Associations: making them, looking at them, and what recall finds along them."""

from itertools import pairwise
from typing import Any

import pytest
from entry_points import Door, Json, refusals
from helpers import Api, audit_lines, rows

from remembrancer import Agent, Remembrancer, SpaceCreate, User, as_actor
from remembrancer.recall.graph_arm import WALK

QUERY = "Which tea does Ada drink in the morning?"
SEED = "Ada drinks green tea in the morning."
FAR_OFF = (
    "The bridge was painted red.",
    "Quarterly revenue fell.",
    "The driver of the printer is out of date.",
)


async def _told(door: Door, content: str, **how: Any) -> str:
    return (await door.remember(content, **how))["memory"]["id"]


async def _noise(door: Door, user: Any, count: int = 45) -> None:
    """So many memories nearer to the question than what is far off that no arm reaches it."""
    said = [
        {"content": f"Somebody drinks tea in the morning {' and reads on' * (n // 5)} {n}."}
        for n in range(count)
    ]
    await door.remember_many(said, user=user)


async def _chain(door: Door, user: Any, *contents: str, **edge: Any) -> list[str]:
    """Memories, each associated with the next."""
    ids = [await _told(door, content, user=user) for content in contents]
    for one, other in pairwise(ids):
        await door.associate(one, other, user=user, **edge)
    return ids


async def _hits(door: Door, query: str = QUERY, **asked: Any) -> dict[str, Json]:
    answer = await door.recall(query, limit=30, **asked)
    return {hit["id"]: hit for hit in answer["hits"] if hit["type"] == "memory"}


def _reached(hits: dict[str, Json]) -> set[str]:
    """What the graph arm came to."""
    return {memory_id for memory_id, hit in hits.items() if hit["reasons"]["path"]}


def _lines(outcome: str) -> list[Any]:
    """Audit lines of this outcome, but for reads, which are noted later."""
    return [
        line
        for line in audit_lines()
        if line.outcome == outcome and not (outcome == "done" and line.action.endswith(".read"))
    ]


def _edges(page: Json) -> list[tuple[str, str, str]]:
    return [(e["memory_id"], e["relation"], e["target_id"]) for e in page["items"]]


# Making them ---------------------------------------------------------------------------


async def test_an_association_made_again_gets_the_new_weight(door: Door, ada: User) -> None:
    """Same source, target and relation: one edge. Another relation is another edge."""
    one, other = [await _told(door, content, user=ada) for content in FAR_OFF[:2]]
    made = await door.associate(one, other, user=ada)
    assert (made["relation"], made["weight"]) == ("related_to", 0.5)
    assert made["user_id"] == made["target_user_id"] == str(ada.id)
    again = await door.associate(one, other, weight=0.9, user=ada)
    assert again["weight"] == 0.9
    assert again["created_at"] == made["created_at"]
    await door.associate(one, other, relation="caused_by", weight=0.1, user=ada)
    page = await door.associations(one, user=ada)
    assert _edges(page) == [(one, "related_to", other), (one, "caused_by", other)]
    assert await door.associations(other, user=ada) == page


async def test_associations_come_with_a_memory(door: Door, ada: User) -> None:
    """In the same transaction, in a single call and in bulk, for a mention too."""
    target = await _told(door, FAR_OFF[0], user=ada)
    edge = {"target_id": target, "relation": "part_of", "weight": 0.8}
    one = await _told(door, FAR_OFF[1], user=ada, associations=[edge])
    [bulk, mention] = await door.remember_many(
        [
            {"content": FAR_OFF[2], "associations": [edge]},
            {"content": FAR_OFF[1], "associations": [{**edge, "relation": "updates"}]},
        ],
        user=ada,
    )
    assert mention["outcome"] == "mentioned"
    found = _edges(await door.associations(target, user=ada))
    other = bulk["memory"]["id"]
    assert sorted(found) == sorted(
        [(one, "part_of", target), (other, "part_of", target), (one, "updates", target)]
    )


async def test_a_target_that_is_missing_is_named_and_nothing_is_stored(
    door: Door, ada: User
) -> None:
    """By its field, wherever in the request it stands."""
    mine = await _told(door, FAR_OFF[0], user=ada)
    wrong = {"target_id": "AAAAAAAA"}
    good = {"target_id": mine}
    [alone, bulk, later] = await refusals(
        door.remember("A new fact", user=ada, associations=[good, wrong]),
        door.remember_many(
            [{"content": "A new fact"}, {"content": "Another", "associations": [wrong]}], user=ada
        ),
        door.associate(mine, "AAAAAAAA", user=ada),
    )
    assert (alone.status, alone.fields) == (404, ["associations.1.target_id"])
    assert (bulk.status, bulk.fields) == (404, ["memories.1.associations.0.target_id"])
    assert (later.status, later.fields) == (404, ["target_id"])
    assert (await door.listed(user=ada))["total"] == 1
    assert rows("SELECT count(*) FROM associations") == [(0,)]


async def test_a_memory_is_never_associated_with_itself(door: Door, ada: User) -> None:
    """Not by its id, and not by saying it again."""
    mine = await _told(door, FAR_OFF[0], user=ada)
    [direct, said] = await refusals(
        door.associate(mine, mine, user=ada),
        door.remember(FAR_OFF[0], user=ada, associations=[{"target_id": mine}]),
    )
    assert (direct.status, direct.fields) == (422, ["target_id"])
    assert (said.status, said.fields) == (422, ["associations.0.target_id"])


async def test_what_is_wrong_with_an_association_is_named(door: Door, ada: User) -> None:
    """Weight, relation and target are checked before anything happens."""
    mine = await _told(door, FAR_OFF[0], user=ada)
    for spoilt in ({"weight": 1.1}, {"weight": -0.1}, {"relation": "likes"}, {"target_id": "a b"}):
        [field] = spoilt
        [refused] = await refusals(door.associate(mine, **{"target_id": mine, **spoilt}, user=ada))
        assert (refused.status, refused.fields) == (422, [field])


async def test_an_association_is_removed_by_relation_or_altogether(door: Door, ada: User) -> None:
    """And one that is not there is a 404."""
    one, other = await _chain(door, ada, *FAR_OFF[:2])
    await door.associate(one, other, relation="updates", user=ada)
    await door.associate(one, other, relation="part_of", user=ada)
    await door.dissociate(one, other, "updates", user=ada)
    assert len((await door.associations(one, user=ada))["items"]) == 2
    await door.dissociate(one, other, user=ada)
    assert (await door.associations(one, user=ada))["items"] == []
    [gone] = await refusals(door.dissociate(one, other, user=ada))
    assert (gone.status, gone.fields) == (404, ["target_id"])


async def test_associations_come_in_pages_the_strongest_first(door: Door, ada: User) -> None:
    """Each once, in the same order on every way through."""
    hub = await _told(door, FAR_OFF[0], user=ada)
    said = [
        {"content": f"Fact {n}", "associations": [{"target_id": hub, "weight": (n % 4) / 4}]}
        for n in range(11)
    ]
    await door.remember_many(said, user=ada)
    whole = (await door.associations(hub, user=ada))["items"]
    assert len(whole) == 11
    weights = [edge["weight"] for edge in whole]
    assert weights == sorted(weights, reverse=True)
    paged, cursor = [], None
    while True:
        page = await door.associations(hub, user=ada, limit=4, cursor=cursor)
        paged += page["items"]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert paged == whole
    [refused] = await refusals(door.associations(hub, user=ada, cursor="nonsense"))
    assert (refused.status, refused.fields) == (422, ["cursor"])


# Who may -------------------------------------------------------------------------------


async def test_nobody_links_from_or_to_what_is_not_theirs_to_see(
    door: Door, ada: User, bob: User
) -> None:
    """CASE 14: 404, nothing changed, and a line in the audit log, for each way to try."""
    hers = await _told(door, FAR_OFF[0], user=ada)
    also_hers = await _told(door, FAR_OFF[1], user=ada)
    await door.associate(hers, also_hers, user=ada)
    his = await _told(door, FAR_OFF[2], user=bob)
    before = rows("SELECT * FROM associations")
    only_bob = await door.of(bob)
    for way in (door, only_bob):
        lines = len(_lines("refused"))
        ended = await refusals(
            way.associate(hers, his, user=bob),
            way.associate(his, hers, user=bob),
            way.dissociate(hers, also_hers, user=bob),
            way.associations(hers, user=bob),
            way.neighbours(hers, user=bob),
            way.suggestions(hers, user=bob),
            way.remember("A fact", user=bob, associations=[{"target_id": hers}]),
        )
        assert {one.status for one in ended} == {404}
        noted = _lines("refused")[lines:]
        assert len(noted) == len(ended)
        assert all(line.target_ids == [hers] for line in noted)
    assert rows("SELECT * FROM associations") == before


async def test_shared_knowledge_is_linked_to_by_all_and_from_by_staff(
    door: Door, ada: User
) -> None:
    """One's own memory may lead to shared knowledge; what leads from it is for staff that acts
    for nobody."""
    shared, other = [await _told(door, text, shared=True) for text in FAR_OFF[:2]]
    own = await door.of(ada)
    mine = await _told(own, FAR_OFF[2])
    await own.associate(mine, shared)
    for refused in await refusals(
        own.associate(shared, mine), door.associate(shared, mine, user=ada)
    ):
        assert refused.status == 403
    # To everybody else, the shared one stands alone.
    assert (await door.associations(shared))["items"] == []
    await door.associate(shared, other, relation="part_of")
    assert len((await own.associations(shared))["items"]) == 2


async def test_changes_leave_a_line_in_the_audit_log(door: Door, ada: User) -> None:
    """With both ids and whose they are."""
    one, other = await _chain(door, ada, *FAR_OFF[:2])
    await door.dissociate(one, other, user=ada)
    made, removed = [line for line in _lines("done") if line.action.startswith("association.")]
    assert (made.action, made.target_ids) == ("association.set", [one, other])
    assert (removed.action, removed.target_ids) == ("association.remove", [one, other])
    assert {line.owner_id for line in (made, removed)} == {ada.id}


# Recall --------------------------------------------------------------------------------


async def test_recall_finds_what_is_one_and_two_steps_away_and_not_three(
    door: Door, ada: User
) -> None:
    """And says by which way."""
    seed, near, far, _too_far = await _chain(
        door, ada, SEED, *FAR_OFF, relation="caused_by", weight=1
    )
    await _noise(door, ada)
    hits = await _hits(door, user=ada)
    assert _reached(hits) == {near, far}
    first = {"memory_id": seed, "relation": "caused_by", "direction": "outgoing"}
    assert hits[near]["reasons"]["path"] == [first]
    assert hits[far]["reasons"]["path"] == [first, {**first, "memory_id": near}]
    ranks = [hits[one]["reasons"]["arms"]["graph"]["rank"] for one in (seed, near, far)]
    assert ranks == [1, 2, 3]
    assert hits[seed]["reasons"]["path"] == []


async def test_associations_are_walked_in_both_directions(door: Door, ada: User) -> None:
    """What leads to a memory is found from it as well."""
    await _noise(door, ada)
    seed = await _told(door, SEED, user=ada)
    edge = {"target_id": seed, "relation": "result_of"}
    near = await _told(door, FAR_OFF[0], user=ada, associations=[edge])
    hits = await _hits(door, user=ada)
    assert hits[near]["reasons"]["path"] == [
        {"memory_id": seed, "relation": "result_of", "direction": "incoming"}
    ]


async def test_the_strongest_of_several_ways_counts(door: Door, ada: User) -> None:
    """Each memory once; a strong detour beats a weak direct way."""
    await _noise(door, ada)
    seed, middle, end = [await _told(door, text, user=ada) for text in (SEED, *FAR_OFF[:2])]
    await door.associate(seed, end, weight=0.2, user=ada)
    await door.associate(seed, middle, weight=1, user=ada)
    await door.associate(middle, end, weight=0.9, relation="part_of", user=ada)
    hits = await _hits(door, user=ada)
    assert [step["memory_id"] for step in hits[end]["reasons"]["path"]] == [seed, middle]
    strength = hits[end]["reasons"]["arms"]["graph"]["raw"]
    assert strength == pytest.approx(0.9 * WALK["decay"] ** 2, abs=1e-3)
    answer = await door.recall(QUERY, user=ada, limit=100)
    ids = [hit["id"] for hit in answer["hits"]]
    assert len(ids) == len(set(ids))


async def test_what_is_strongly_associated_with_the_best_comes_among_the_first(
    door: Door, ada: User
) -> None:
    """Without the association it is not among the first; with it, it follows its seed."""
    await _noise(door, ada)
    seed = await _told(door, SEED, user=ada)
    near = await _told(door, FAR_OFF[0], user=ada)
    before = await door.contents(QUERY, user=ada)
    assert FAR_OFF[0] not in before
    await door.associate(seed, near, weight=1, user=ada)
    after = await door.contents(QUERY, user=ada)
    assert before[0] == after[0] == SEED
    assert FAR_OFF[0] in after
    # The others keep their order.
    assert [text for text in after if text != FAR_OFF[0]] == before[: len(after) - 1]


async def test_neighbours_never_outvote_what_they_were_reached_from(door: Door, ada: User) -> None:
    """Any number of associations, all of them as strong as can be: the seed stays before them."""
    seed = await _told(door, SEED, user=ada)
    strong = [{"target_id": seed, "weight": 1}]
    said = [{"content": f"Number {n} is painted red.", "associations": strong} for n in range(30)]
    await door.remember_many(said, user=ada)
    await _noise(door, ada)
    answer = (await door.recall(QUERY, user=ada, limit=50))["hits"]
    assert answer[0]["id"] == seed
    for content in (SEED, said[7]["content"], said[29]["content"]):
        assert (await door.contents(content, user=ada))[0] == content


async def test_recall_along_associations_is_the_same_each_time(door: Door, ada: User) -> None:
    """Equal weights and equal strengths included."""
    seed = await _told(door, SEED, user=ada)
    said = [
        {"content": f"Number {n} is painted red.", "associations": [{"target_id": seed}]}
        for n in range(20)
    ]
    await door.remember_many(said, user=ada)
    await _noise(door, ada)
    answers = [(await door.recall(QUERY, user=ada, limit=40))["hits"] for _ in range(3)]
    assert all([hit["id"] for hit in one] == [hit["id"] for hit in answers[0]] for one in answers)
    assert all(
        [hit["reasons"] for hit in one] == [h["reasons"] for h in answers[0]] for one in answers
    )


async def test_filters_hold_for_what_is_reached(door: Door, ada: User) -> None:
    """What they leave out is walked through and not returned."""
    await _noise(door, ada)
    seed = await _told(door, SEED, user=ada)
    middle = await _told(door, FAR_OFF[0], user=ada, kind="goal")
    end = await _told(door, FAR_OFF[1], user=ada)
    await door.associate(seed, middle, weight=1, user=ada)
    await door.associate(middle, end, weight=1, user=ada)
    hits = await _hits(door, user=ada, kinds=["fact"])
    assert middle not in hits
    assert [step["memory_id"] for step in hits[end]["reasons"]["path"]] == [seed, middle]
    said = (await door.recall(QUERY, user=ada, sources=["message"]))["hits"]
    assert said == []


async def test_forgotten_memories_are_neither_found_nor_passed(door: Door, ada: User) -> None:
    """A walk stops before them; once they are back, it goes on."""
    await _noise(door, ada)
    seed, middle, end = await _chain(door, ada, SEED, *FAR_OFF[:2], weight=1)
    await door.forget(middle, user=ada)
    assert not {middle, end} & set(await _hits(door, user=ada))
    assert (await door.associations(seed, user=ada))["items"] == []
    around = await door.neighbours(seed, user=ada, depth=2)
    assert [node["id"] for node in around["nodes"]] == [seed]
    await door.restore(middle, user=ada)
    assert {middle, end} <= set(await _hits(door, user=ada))


async def test_hits_show_what_they_update_and_contradict(door: Door, ada: User, bob: User) -> None:
    """From both sides, with the direction; other relations and other people's are not shown."""
    old = await _told(door, "Ada drinks coffee.", user=ada, shared=True)
    new = await _told(door, "Ada drinks tea.", user=ada)
    his = await _told(door, "Ada drinks coffee, says Bob.", user=bob)
    await door.associate(new, old, relation="updates", user=ada)
    await door.associate(new, old, relation="contradicts", weight=0, user=ada)
    await door.associate(new, old, relation="related_to", user=ada)
    await door.associate(his, old, relation="contradicts", user=bob)
    await door.associate(his, old, relation="updates", user=bob)
    hits = await _hits(door, user=ada)
    assert hits[new]["relations"] == [
        {"memory_id": old, "relation": "contradicts", "direction": "outgoing"},
        {"memory_id": old, "relation": "updates", "direction": "outgoing"},
    ]
    assert hits[old]["relations"] == [
        {"memory_id": new, "relation": "contradicts", "direction": "incoming"},
        {"memory_id": new, "relation": "updates", "direction": "incoming"},
    ]


async def test_an_earlier_day_knows_no_later_association(door: Door, ada: User) -> None:
    """Recall as of a time walks the associations of that time."""
    await _noise(door, ada)
    ids = [await _told(door, text, user=ada) for text in (SEED, FAR_OFF[0])]
    [(between,)] = rows("SELECT clock_timestamp()")
    await door.associate(*ids, relation="updates", weight=1, user=ada)
    then = await _hits(door, user=ada, as_of=between.isoformat())
    assert ids[1] not in then
    assert then[ids[0]]["relations"] == []
    now = await _hits(door, user=ada)
    assert ids[1] in now
    assert now[ids[0]]["relations"] != []


# What must not be crossed --------------------------------------------------------------


async def test_a_walk_stops_at_what_is_somebody_elses(door: Door, ada: User, bob: User) -> None:
    """CASE 15: Ada's memory, a shared one, Bob's: her recall reaches the shared one and stops."""
    await _noise(door, ada)
    hers = await _told(door, SEED, user=ada)
    his = await _told(door, FAR_OFF[1], user=bob)
    beyond = await _told(door, FAR_OFF[2], user=bob)
    leads_to_his = [{"target_id": his, "weight": 1}]
    shared = await _told(door, FAR_OFF[0], user=bob, shared=True, associations=leads_to_his)
    await door.associate(hers, shared, weight=1, user=ada)
    await door.associate(his, shared, weight=1, relation="part_of", user=bob)
    await door.associate(his, beyond, weight=1, user=bob)
    for way, who in ((door, ada), (await door.of(ada), None)):
        hits = await _hits(way, user=who)
        assert shared in hits
        assert not {his, beyond} & set(hits)
        assert _edges(await way.associations(shared, user=who)) == [(hers, "related_to", shared)]
        around = await way.neighbours(shared, user=who, depth=2)
        assert {node["id"] for node in around["nodes"]} == {hers, shared}
        assert len(around["edges"]) == 1
        answers = str([await way.recall(QUERY, user=who, limit=100), around])
        assert FAR_OFF[1] not in answers
        assert his not in answers
    seen_by_bob = await door.neighbours(shared, user=bob, depth=2)
    assert {node["id"] for node in seen_by_bob["nodes"]} == {shared, his, beyond}


async def test_a_walk_never_leaves_the_namespace_in_effect(
    door: Door, ada: User, agent: Agent
) -> None:
    """What one agent alone remembers of a user is not reached through what all of them know."""
    await door.change_agent(agent.id, memory_scope="agent")
    await _noise(door, ada)
    seed = await _told(door, SEED, user=ada)
    private = await _told(door, FAR_OFF[0], user=ada, agent=agent)
    back = await _told(door, FAR_OFF[1], user=ada)
    await door.associate(seed, private, weight=1, user=ada)
    await door.associate(private, back, weight=1, user=ada)
    other = await door.create_agent(name="Other", memory_scope="global")
    hits = await _hits(door, user=ada, agent=other["id"])
    assert seed in hits
    assert not {private, back} & set(hits)
    own = await _hits(door, user=ada, agent=agent)
    assert set(own) == {private}
    assert own[private]["reasons"]["path"] == []
    # Ada herself, without an agent, sees it all.
    assert (await _hits(door, user=ada))[back]["reasons"]["path"] != []


async def test_members_of_a_space_walk_what_is_shared_there(
    door: Door, memory: Remembrancer, ada: User, bob: User
) -> None:
    """Both ways along what another member shared, and never into what is private to them."""
    space = await memory.spaces.create(
        as_actor(ada), SpaceCreate(name="The trip", member_ids=[bob.id])
    )
    shared = {"space_id": str(space.id), "visibility": "shared"}
    await _noise(door, bob)
    seed = await _told(door, SEED, user=ada, **shared)
    strong = {"target_id": seed, "weight": 1}
    near = await _told(door, FAR_OFF[0], user=ada, **shared, associations=[strong])
    far = await _told(door, FAR_OFF[1], user=ada, **shared)
    secret = await _told(door, FAR_OFF[2], user=ada, associations=[strong])
    await door.associate(near, far, weight=1, user=ada)
    await door.associate(seed, secret, weight=1, user=ada)
    hits = await _hits(door, user=bob)
    assert _reached(hits) == {near, far}
    assert secret not in hits
    assert [step["direction"] for step in hits[far]["reasons"]["path"]] == ["incoming", "outgoing"]
    around = await door.neighbours(seed, user=bob, depth=2)
    assert {node["id"] for node in around["nodes"]} == {seed, near, far}
    # No longer shared, no longer walked.
    statement = "UPDATE associations SET shared_space_id = NULL WHERE owner_id = %s"
    rows(f"{statement} AND memory_id = %s", ada.id, near)
    assert not _reached(await _hits(door, user=bob))


# Looking at them -----------------------------------------------------------------------


async def test_a_neighbourhood_has_each_memory_once_and_the_edges_between(
    door: Door, ada: User
) -> None:
    """One step or two, the strongest first, a circle included."""
    a, b, c = await _chain(door, ada, *FAR_OFF, weight=0.8)
    await door.associate(c, a, weight=0.1, user=ada)
    d = await _told(door, SEED, user=ada, associations=[{"target_id": c}])
    one = await door.neighbours(a, user=ada)
    assert [(n["id"], n["depth"], n["strength"]) for n in one["nodes"]] == [
        (a, 0, 1.0),
        (b, 1, 0.8),
        (c, 1, 0.1),
    ]
    assert {(e["memory_id"], e["target_id"]) for e in one["edges"]} == {(a, b), (b, c), (c, a)}
    assert one["complete"]
    two = await door.neighbours(a, user=ada, depth=2)
    assert [(n["id"], n["depth"]) for n in two["nodes"]] == [(a, 0), (b, 1), (c, 1), (d, 2)]
    assert two["nodes"][3]["content"] == SEED
    few = await door.neighbours(a, user=ada, depth=2, limit=1)
    assert [n["id"] for n in few["nodes"]] == [a, b]
    assert not few["complete"]
    for wrong in ({"depth": 0}, {"depth": 3}, {"limit": 0}, {"limit": 201}):
        [refused] = await refusals(door.neighbours(a, user=ada, **wrong))
        assert (refused.status, refused.fields) == (422, list(wrong))


async def test_a_hub_is_shown_and_walked_by_its_strongest(door: Door, ada: User) -> None:
    """However many lead to a popular memory, a bounded number is looked at."""
    hub = await _told(door, SEED, user=ada)
    said = [
        {"content": f"Fact {n}", "associations": [{"target_id": hub, "weight": n / 100}]}
        for n in range(100)
    ]
    made = await door.remember_many(said, user=ada)
    await _noise(door, ada)
    strongest = [one["memory"]["id"] for one in reversed(made)]
    around = await door.neighbours(hub, user=ada, limit=10)
    assert [node["id"] for node in around["nodes"]] == [hub, *strongest[:10]]
    assert not around["complete"]
    hits = await _hits(door, user=ada)
    assert _reached(hits) == set(strongest[: int(WALK["fanout"])])


async def test_similar_memories_are_suggested_and_nothing_is_made(door: Door, ada: User) -> None:
    """In the answer of a write and afterwards; what is associated is suggested no more."""
    first = await _told(door, "Ada parks at gate 12 of the airport.", user=ada)
    made = await door.remember("Ada parks at gate 13 of the airport.", user=ada)
    second = made["memory"]["id"]
    [suggestion] = made["suggestions"]
    assert suggestion["target_id"] == first
    assert suggestion["relation"] == "contradicts"
    assert suggestion["content"] == "Ada parks at gate 12 of the airport."
    assert suggestion["similarity"] > 0.9
    assert (await door.suggestions(second, user=ada))["items"] == [suggestion]
    assert rows("SELECT count(*) FROM associations") == [(0,)]
    await door.associate(second, first, relation="contradicts", user=ada)
    assert (await door.suggestions(second, user=ada))["items"] == []
    assert (await door.suggestions(first, user=ada))["items"] == []


async def test_what_is_later_on_the_same_subject_is_suggested_as_an_update(
    door: Door, ada: User
) -> None:
    """From the later to the earlier, however differently it is said."""
    old = await _told(door, "She lives beside the river.", user=ada, subject="home")
    new = await door.remember(
        "Moved up to the mountains.", user=ada, subject="Home", allow_similar=True
    )
    found = [(one["target_id"], one["relation"]) for one in new["suggestions"]]
    assert found == [(old, "updates")]
    assert (await door.suggestions(old, user=ada))["items"] == []


async def test_suggestions_are_of_the_same_owner_and_within_sight(
    door: Door, ada: User, bob: User, agent: Agent
) -> None:
    """Not other people's, and not what the agent that asks may not read."""
    await door.remember("Ada parks at gate 12 of the airport.", user=bob)
    await door.change_agent(agent.id, memory_scope="agent")
    await door.remember("Ada parks at gate 11 of the airport.", user=ada, agent=agent)
    made = await door.remember("Ada parks at gate 13 of the airport.", user=ada, agent=agent)
    assert len(made["suggestions"]) == 1
    other = await door.create_agent(name="Other")
    elsewhere = await door.remember(
        "Ada parks at gate 14 of the airport.", user=ada, agent=other["id"]
    )
    assert elsewhere["suggestions"] == []


async def test_a_repeated_request_gets_its_suggestions_again(door: Door, ada: User) -> None:
    """The same key, the same answer."""
    await door.remember("Ada parks at gate 12 of the airport.", user=ada)
    said = "Ada parks at gate 13 of the airport."
    first = await door.remember(said, user=ada, key="k")
    assert first["suggestions"]
    assert await door.remember(said, user=ada, key="k") == first


async def test_put_and_post_do_the_same(api: Api, ada: User) -> None:
    """An association is set, so it does not matter how often or by which of them."""
    ids = [(await api.memory.remember(content, user=ada)).memory.id for content in FAR_OFF[:2]]
    path = f"/api/memory/{ids[0]}/associations?user_id={ada.id}"
    body = {"target_id": ids[1]}
    put = await api.client.put(path, json=body, headers=api.service)
    post = await api.client.post(path, json=body, headers=api.service)
    assert put.status_code == post.status_code == 200
    assert put.json() == post.json()
