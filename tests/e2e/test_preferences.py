"""Preferences under a policy, the deprecated toggle, and what is read from the next moment on."""

import asyncio
import json
import logging
from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

import pytest
from entry_points import Door, Refused, refusals
from helpers import ADMIN, Api, audit_lines, person, rows

from remembrancer import (
    Agent,
    AgentCreate,
    PreferenceUpdate,
    Remembrancer,
    Scope,
    User,
    as_actor,
)
from remembrancer.preferences.migration import ToggleMigration

NO_PREFERENCE = "No preference set for this agent"


async def refused(call: Any) -> Refused:
    [refusal] = await refusals(call)
    return refusal


async def helper(memory: Remembrancer, name: str, scope: Scope = Scope.AGENT) -> Agent:
    return await memory.agents.create(as_actor(), AgentCreate(name=name, memory_scope=scope))


# One user and one agent ------------------------------------------------------------------


async def test_a_preference_is_set_read_changed_and_reset(
    door: Door, ada: User, agent: Agent
) -> None:
    """Set twice it is the same preference; reset, it is gone and the default counts."""
    made = await door.prefer(ada, agent, False)
    assert set(made) == {
        "id", "user_id", "agent_id", "allow_agent_specific_memory", "created_at", "updated_at",
    }  # fmt: skip
    assert made["user_id"] == str(ada.id)
    assert made["agent_id"] == str(agent.id)
    assert made["allow_agent_specific_memory"] is False
    assert await door.preference(ada, agent) == made
    assert await door.preferences(ada) == [made]

    assert await door.prefer(ada, agent, False) == made
    changed = await door.prefer(ada, agent, True)
    assert changed["id"] == made["id"]
    assert changed["created_at"] == made["created_at"]
    assert changed["updated_at"] > made["updated_at"]
    assert changed["allow_agent_specific_memory"] is True

    await door.reset_preference(ada, agent)
    assert (await refused(door.preference(ada, agent))).status == 404
    assert (await refused(door.reset_preference(ada, agent))).status == 404
    assert await door.preferences(ada) == []


async def test_answers_are_worded_as_clients_know_them(api: Api, ada: User, agent: Agent) -> None:
    """The message of a reset and the reasons of both 404s."""
    path = f"/api/memory/users/{ada.id}/agents/{agent.id}/settings"
    absent = await api.client.get(path, headers=api.service)
    assert absent.status_code == 404
    assert absent.json()["detail"] == NO_PREFERENCE
    body = {"allow_agent_specific_memory": True}
    assert (await api.client.put(path, json=body, headers=api.service)).status_code == 200
    gone = await api.client.delete(path, headers=api.service)
    assert gone.json() == {"message": "Preference reset to agent default"}
    again = await api.client.delete(path, headers=api.service)
    assert again.status_code == 404
    assert again.json()["detail"] == "No preference to delete"


async def test_agents_say_their_default_scope(door: Door) -> None:
    """`agent` unless another was chosen."""
    assert (await door.create_agent(name="Own"))["memory_scope"] == "agent"
    made = await door.create_agent(name="All", memory_scope="global")
    assert made["memory_scope"] == "global"
    assert (await door.change_agent(made["id"], memory_scope="agent"))["memory_scope"] == "agent"


async def test_the_scope_in_effect_says_what_decided_it(
    door: Door, ada: User, agent: Agent
) -> None:
    """Policy before preference before toggle before default."""
    admin = await door.as_admin()

    async def now() -> tuple[str, str, bool | None]:
        told = await door.scope(ada, agent)
        assert told["user_id"] == str(ada.id)
        assert told["agent"]["id"] == str(agent.id)
        preference = told["user_preference"]
        allowed = preference and preference["allow_agent_specific_memory"]
        return told["effective_scope"], told["source"], allowed

    assert await now() == ("agent", "agent_default", None)
    await door.set_toggle(ada, False)
    assert await now() == ("global", "user_toggle", None)
    await door.prefer(ada, agent, True)
    assert await now() == ("agent", "user_preference", True)
    await admin.set_policy(False)
    assert await now() == ("global", "admin_override", True)
    await admin.set_policy(True)
    await door.reset_preference(ada, agent)
    assert await now() == ("global", "user_toggle", None)
    await door.set_toggle(ada, None)
    assert await now() == ("agent", "agent_default", None)


async def test_scopes_of_all_agents_come_in_pages(
    door: Door, memory: Remembrancer, ada: User, bob: User
) -> None:
    """In the order agents were made, retired ones left out, each with its own source."""
    agents = [
        await helper(memory, f"A{n}", Scope.GLOBAL if n % 2 else Scope.AGENT) for n in range(5)
    ]
    await memory.agents.delete(as_actor(), agents[2].id)
    await door.prefer(ada, agents[0], False)
    await door.prefer(ada, agents[1], True)
    await door.prefer(bob, agents[3], True)
    found: list[Any] = []
    cursor = None
    while True:
        page = await door.scopes(ada, limit=2, cursor=cursor)
        assert len(page["items"]) <= 2
        found += page["items"]
        if (cursor := page["next_cursor"]) is None:
            break
    assert [(c["agent"]["name"], c["effective_scope"], c["source"]) for c in found] == [
        ("A0", "global", "user_preference"),
        ("A1", "agent", "user_preference"),
        ("A3", "global", "agent_default"),
        ("A4", "agent", "agent_default"),
    ]
    assert found[0] == await door.scope(ada, agents[0])
    assert found[2]["user_preference"] is None


# What is read and written next -----------------------------------------------------------


@pytest.mark.parametrize("preferred", [False, True])
async def test_the_next_read_and_write_go_by_a_changed_preference(
    door: Door, ada: User, agent: Agent, preferred: bool
) -> None:
    """Recall, lists and writes change at once; what is stored stays where it is."""
    await door.prefer(ada, agent, not preferred)
    first = await door.remember("Ada plays the viola.", user=ada, agent=agent)
    await door.prefer(ada, agent, preferred)
    assert await door.contents("viola", user=ada, agent=agent) == []
    assert (await door.listed(user=ada, agent=agent))["total"] == 0
    second = await door.remember("Ada rows on Sundays.", user=ada, agent=agent)
    assert second["scope"] == ("agent" if preferred else "global")
    assert second["scope_source"] == "user_preference"
    assert await door.contents("rowing", user=ada, agent=agent) == ["Ada rows on Sundays."]

    await door.prefer(ada, agent, not preferred)
    assert await door.contents("viola", user=ada, agent=agent) == ["Ada plays the viola."]
    kept = await door.read(first["memory"]["id"], user=ada)
    assert kept["agent_id"] == first["memory"]["agent_id"]
    assert kept["updated_at"] == first["memory"]["updated_at"]


async def test_the_next_read_goes_by_a_changed_policy(door: Door, ada: User, agent: Agent) -> None:
    """Off, every agent reads the global scope; on again, its own."""
    admin = await door.as_admin()
    await door.remember("Ada plays the viola.", user=ada, agent=agent)
    assert (await admin.set_policy(False))["allow_agent_specific_memory_globally"] is False
    answer = await door.recall("viola", user=ada, agent=agent)
    assert (answer["hits"], answer["scope_source"]) == ([], "admin_override")
    await admin.set_policy(True)
    assert await door.contents("viola", user=ada, agent=agent) == ["Ada plays the viola."]


async def test_messages_are_kept_where_the_scope_in_effect_says(
    door: Door, ada: User, agent: Agent
) -> None:
    """What was said under one scope is not recalled under the other."""
    opened = await door.open(user=ada, agent=agent)
    await door.prefer(ada, agent, False)
    await door.say(opened["id"], [{"content": "My boat is called Nutmeg."}], user=ada)
    await door.prefer(ada, agent, True)
    assert await door.contents("boat", user=ada, agent=agent) == []
    await door.say(opened["id"], [{"content": "My other boat is Clove."}], user=ada)
    assert await door.contents("boat", user=ada, agent=agent) == ["My other boat is Clove."]


@pytest.mark.parametrize("why", ["admin_override", "user_preference", "user_toggle"])
async def test_asking_for_agent_scope_where_it_is_global_stores_globally_and_says_so(
    door: Door, ada: User, agent: Agent, why: str
) -> None:
    """`scope_changed`, with what decided it."""
    if why == "admin_override":
        await (await door.as_admin()).set_policy(False)
    elif why == "user_preference":
        await door.prefer(ada, agent, False)
    else:
        await door.set_toggle(ada, False)
    told = await door.remember("Ada has a dog.", user=ada, agent=agent, scope="agent")
    assert told["scope_changed"] is True
    assert (told["scope"], told["scope_source"]) == ("global", why)
    assert told["memory"]["agent_id"] is None
    again = await door.remember("Ada has a cat.", user=ada, agent=agent)
    assert again["scope_changed"] is False


async def test_what_the_agent_will_not_read_says_so(door: Door, ada: User, agent: Agent) -> None:
    """Global scope through an agent of scope `agent`: stored, with a note, also in a batch and in
    a repeated answer; no note for all else."""
    told = await door.remember("Ada has a dog.", user=ada, agent=agent, scope="global", key="k")
    assert told["memory"]["agent_id"] is None
    assert "will not read it" in told["note"]
    again = await door.remember("Ada has a dog.", user=ada, agent=agent, scope="global", key="k")
    assert again["note"] == told["note"]
    [unread, read] = await door.remember_many(
        [{"content": "Ada has a hen.", "scope": "global"}, {"content": "Ada has a cat."}],
        user=ada,
        agent=agent,
    )
    assert (unread["note"], read["note"]) == (told["note"], None)
    assert await door.contents("pets", user=ada, agent=agent, sources=["memory"]) == [
        "Ada has a cat."
    ]
    await door.prefer(ada, agent, False)
    read = await door.remember("Ada has a cow.", user=ada, agent=agent, scope="global")
    assert read["note"] is None


# Many at once ----------------------------------------------------------------------------


async def test_many_agents_or_all_are_set_alike_and_reset(
    door: Door, memory: Remembrancer, ada: User, bob: User
) -> None:
    """Counts say what was made, changed and right already; other users are untouched."""
    agents = [await helper(memory, f"A{n}") for n in range(4)]
    retired = await helper(memory, "Retired")
    await memory.agents.delete(as_actor(), retired.id)
    await door.prefer(bob, agents[0], True)
    some = [str(a.id) for a in agents[:2]]
    off = {"allow_agent_specific_memory": False}
    told = await door.prefer_many(ada, agent_ids=[*some, some[0]], **off)
    assert told == {"created": 2, "changed": 0, "unchanged": 0}
    told = await door.prefer_many(ada, agent_ids=some[:1], allow_agent_specific_memory=True)
    assert told == {"created": 0, "changed": 1, "unchanged": 0}
    told = await door.prefer_many(ada, all=True, **off)
    assert told == {"created": 2, "changed": 1, "unchanged": 1}
    mine = await door.preferences(ada)
    assert {p["agent_id"] for p in mine} == {str(a.id) for a in agents}
    assert not any(p["allow_agent_specific_memory"] for p in mine)

    unknown = await refused(door.prefer_many(ada, agent_ids=[*some, str(uuid4())], **off))
    assert (unknown.status, unknown.fields) == (404, ["agent_ids.2"])
    assert (await refused(door.prefer_many(ada, **off))).status == 422
    assert (await refused(door.prefer_many(ada, agent_ids=some, all=True, **off))).status == 422

    assert await door.reset_preferences(ada) == 4
    assert await door.reset_preferences(ada) == 0
    assert await door.preferences(ada) == []
    assert len(await door.preferences(bob)) == 1


@pytest.mark.parametrize("kind", ["json", "csv"])
async def test_an_export_is_imported_again(
    door: Door, memory: Remembrancer, ada: User, bob: User, kind: str
) -> None:
    """The same preferences afterwards, and again nothing changes."""
    agents = [await helper(memory, f"A{n}") for n in range(3)]
    for n, one in enumerate(agents):
        await door.prefer(ada, one, n % 2 == 0)
    await door.prefer(bob, agents[0], False)
    file = await door.export_preferences(ada, kind=kind)
    assert str(bob.id) not in str(file)
    await door.reset_preference(ada, agents[0])
    await door.prefer(ada, agents[1], True)
    told = await door.import_preferences(file, ada)
    assert told == {"created": 1, "changed": 1, "unchanged": 1}
    told = await door.import_preferences(file, ada)
    assert told == {"created": 0, "changed": 0, "unchanged": 3}
    assert await door.export_preferences(ada, kind=kind) == file

    admin = await door.as_admin()
    everybody = await admin.export_preferences(kind=kind)
    assert await door.reset_preferences(ada) == 3
    assert await door.reset_preferences(bob) == 1
    told = await admin.import_preferences(everybody)
    assert told == {"created": 4, "changed": 0, "unchanged": 0}
    assert await admin.export_preferences(kind=kind) == everybody


async def test_a_csv_file_may_leave_out_whose_it_is(door: Door, ada: User, agent: Agent) -> None:
    """Columns in any order; a byte order mark and quotes do no harm."""
    file = f'\ufeffallow_agent_specific_memory,agent_id\r\nfalse,"{agent.id}"\r\n'
    assert (await door.import_preferences(file, ada))["created"] == 1
    assert (await door.preference(ada, agent))["allow_agent_specific_memory"] is False


async def test_a_file_may_name_its_users_by_platform_and_id(
    door: Door, ada: User, bob: User, agent: Agent
) -> None:
    """In JSON and CSV, of one user and of many; somebody else's name and an unknown one are
    refused alike."""
    admin = await door.as_admin()
    files = [
        _csv(f"discord:Ada-1,{agent.id},false", f"{bob.id},{agent.id},false"),
        {
            "preferences": [
                {"user_id": user, "agent_id": str(agent.id), "allow_agent_specific_memory": True}
                for user in ("discord:Ada-1", "discord:Bob-1")
            ]
        },
    ]
    for file, allowed in zip(files, (False, True), strict=True):
        await admin.import_preferences(file)
        for user in (ada, bob):
            stored = await door.preference(user, agent)
            assert stored["allow_agent_specific_memory"] is allowed
    own = await door.of(ada)
    mine = _csv(f"discord:Ada-1,{agent.id},false")
    assert (await own.import_preferences(mine, ada))["changed"] == 1
    for name in ("discord:Bob-1", "discord:nobody", "nobody"):
        refusal = await refused(own.import_preferences(_csv(f"{name},{agent.id},true"), ada))
        assert (refusal.status, refusal.fields) == (422, ["preferences.0.user_id"])
    refusal = await refused(admin.import_preferences(_csv(f"discord:nobody,{agent.id},true")))
    assert (refusal.status, refusal.fields) == (422, ["preferences.0.user_id"])


def _csv(*lines: str) -> str:
    return "\n".join(["user_id,agent_id,allow_agent_specific_memory", *lines])


async def test_one_bad_row_is_named_and_nothing_is_written(
    door: Door, memory: Remembrancer, ada: User, bob: User, agent: Agent
) -> None:
    """A file is taken as a whole or not at all."""
    admin = await door.as_admin()
    good = f"{ada.id},{agent.id},true"
    other = await helper(memory, "Other")
    bad: list[tuple[str, str]] = [
        (f"{ada.id},{uuid4()},true", "preferences.1.agent_id"),
        (f"{ada.id},{other.id},perhaps", "preferences.1.allow_agent_specific_memory"),
        (f"{ada.id},{other.id},", "preferences.1.allow_agent_specific_memory"),
        (f"{ada.id},x,true", "preferences.1.agent_id"),
        (f"{ada.id},{agent.id},false", "preferences.1.agent_id"),
        (f"{ada.id},{other.id},true,more", "preferences.1"),
    ]
    for line, field in [*bad, (f"{bob.id},{other.id},true", "preferences.1.user_id")]:
        refusal = await refused(door.import_preferences(_csv(good, line), ada))
        assert (refusal.status, refusal.fields) == (422, [field]), line
    strangers = [
        f"{uuid4()},{agent.id},true",
        f",{other.id},true",
        f"{UUID(int=0)},{agent.id},true",
    ]
    for line, field in [*bad, *((one, "preferences.1.user_id") for one in strangers)]:
        refusal = await refused(admin.import_preferences(_csv(good, line)))
        assert (refusal.status, refusal.fields) == (422, [field]), line
    for file in ("", "agent_id\nx", "agent_id,allow_agent_specific_memory,wish\n", '"'):
        assert (await refused(door.import_preferences(file, ada))).status == 422, file
    row = {"agent_id": str(agent.id), "allow_agent_specific_memory": True}
    wrong = {"preferences": [row, {**row, "surprise": 1}]}
    refusal = await refused(door.import_preferences(wrong, ada))
    assert (refusal.status, refusal.fields) == (422, ["preferences.1.surprise"])
    assert rows("SELECT count(*) FROM memory_preferences") == [(0,)]


async def test_a_file_that_cannot_be_read_is_refused(api: Api, ada: User) -> None:
    """Neither JSON nor CSV, not in UTF-8, or something else altogether."""
    path = f"/api/memory/users/{ada.id}/agents/settings/import"
    for kind, content in (
        ("text/csv", b"agent_id,allow_agent_specific_memory\n\xff\xfe,true"),
        ("text/csv", b"agent_id,allow_agent_specific_memory\nx\x00y,true"),
        ("application/json", b"{"),
        ("text/plain", b"{}"),
        ("", b"{}"),
    ):
        response = await api.client.post(
            path, content=content, headers={**api.service, "Content-Type": kind}
        )
        assert response.status_code == 422, (kind, response.text)
        assert response.json()["errors"], response.text


async def test_many_who_set_one_preference_at_once_make_one(
    door: Door, ada: User, agent: Agent
) -> None:
    """The last word counts, and none is refused."""
    answers = await asyncio.gather(*(door.prefer(ada, agent, n % 2 == 0) for n in range(8)))
    assert len({answer["id"] for answer in answers}) == 1
    assert len(await door.preferences(ada)) == 1


# Who may ---------------------------------------------------------------------------------


async def test_users_decide_for_themselves_alone(
    door: Door, ada: User, bob: User, agent: Agent
) -> None:
    """Somebody else's preferences, scopes, toggle and moves do not exist for a user."""
    own = await door.of(bob)
    assert (await own.prefer(bob, agent, False))["allow_agent_specific_memory"] is False
    assert (await own.scope(bob, agent))["source"] == "user_preference"
    row = {"agent_id": str(agent.id), "allow_agent_specific_memory": False}
    refusals_ = await refusals(
        own.preference(ada, agent),
        own.prefer(ada, agent, False),
        own.reset_preference(ada, agent),
        own.preferences(ada),
        own.prefer_many(ada, all=True, allow_agent_specific_memory=False),
        own.reset_preferences(ada),
        own.scope(ada, agent),
        own.scopes(ada),
        own.export_preferences(ada),
        own.import_preferences({"preferences": [row]}, ada),
        own.toggle(ada),
        own.set_toggle(ada, False),
        own.move(ada, agent, to="global", dry_run=False),
        own.undo_move(ada, uuid4()),
    )
    assert {r.status for r in refusals_} == {404}
    forbidden = await refusals(
        own.set_policy(False),
        own.statistics(),
        own.export_preferences(),
        own.import_preferences({"preferences": []}),
        door.set_policy(False),
        door.statistics(),
        door.export_preferences(),
        door.import_preferences({"preferences": []}),
    )
    assert {r.status for r in forbidden} == {403}
    assert (await own.policy())["allow_agent_specific_memory_globally"] is True
    assert rows("SELECT user_id FROM memory_preferences") == [(bob.id,)]


async def test_an_unknown_user_or_agent_is_not_found(door: Door, ada: User, agent: Agent) -> None:
    """Never a silent default."""
    nobody, nothing = uuid4(), uuid4()
    found = await refusals(
        *(
            call
            for user, which in ((nobody, agent.id), (ada.id, nothing))
            for call in (
                door.preference(user, which),
                door.prefer(user, which, True),
                door.reset_preference(user, which),
                door.scope(user, which),
                door.move(user, which, to="global"),
            )
        ),
        door.preferences(nobody),
        door.prefer_many(nobody, all=True, allow_agent_specific_memory=True),
        door.reset_preferences(nobody),
        door.scopes(nobody),
        door.export_preferences(nobody),
        door.import_preferences({"preferences": []}, nobody),
        door.toggle(nobody),
        door.set_toggle(nobody, False),
        door.undo_move(nobody, uuid4()),
        door.preferences(UUID(int=0)),
    )
    assert {r.status for r in found} == {404}
    assert [r.fields for r in found[:10]] == [["user_id"]] * 5 + [["agent_id"]] * 5


async def test_a_retired_agent_has_no_preferences(
    door: Door, memory: Remembrancer, ada: User, agent: Agent
) -> None:
    """It is unknown from then on, and left out of lists and files."""
    await door.prefer(ada, agent, True)
    await memory.agents.delete(as_actor(), agent.id)
    assert (await refused(door.preference(ada, agent))).status == 404
    assert await door.preferences(ada) == []
    assert await door.export_preferences(ada) == {"preferences": []}
    assert await door.reset_preferences(ada) == 0


async def test_an_old_id_of_one_who_was_merged_works(
    door: Door, ada: User, bob: User, agent: Agent
) -> None:
    """Preferences of both are the survivor's, under either id, in files as well."""
    await door.prefer(bob, agent, False)
    file = await door.export_preferences(bob)
    await door.merge(ada, bob)
    assert (await door.preference(bob, agent))["user_id"] == str(ada.id)
    assert await door.scope(bob, agent) == await door.scope(ada, agent)
    assert (await door.prefer(bob, agent, True))["user_id"] == str(ada.id)
    assert (await door.import_preferences(file, bob))["changed"] == 1
    assert (await (await door.as_admin()).import_preferences(file))["unchanged"] == 1
    assert (await door.set_toggle(bob, False))["user_id"] == str(ada.id)


async def test_changes_are_in_the_audit_log(door: Door, ada: User, agent: Agent) -> None:
    """Ids of agents, whose they are and who did it; a change of nothing is no change."""
    await door.prefer(ada, agent, True)
    await door.prefer(ada, agent, True)
    await door.reset_preference(ada, agent)
    await door.set_toggle(ada, True)
    lines = [
        (line.action, line.owner_id, line.target_ids)
        for line in audit_lines()
        if line.action.startswith("preference.")
    ]
    assert lines == [
        ("preference.set", ada.id, [str(agent.id)]),
        ("preference.reset", ada.id, [str(agent.id)]),
        ("preference.toggle", ada.id, []),
    ]


# Statistics ------------------------------------------------------------------------------


async def _world(door: Door, memory: Remembrancer) -> None:
    """Users with all kinds of preferences and toggles."""
    people = [await person(memory, f"P{n}") for n in range(6)]
    agents = [await helper(memory, f"A{n}", list(Scope)[n % 2]) for n in range(5)]
    retired = await helper(memory, "Retired")
    gone = await person(memory, "Gone")
    for n, one in enumerate(people):
        if n % 3 == 0:
            await door.set_toggle(one, n % 2 == 1)
        for m, other in enumerate(agents):
            if (n + m) % 3 == 0 and n < 5:
                await door.prefer(one, other, (n * m) % 2 == 0)
        await door.prefer(one, retired, True)
        await door.remember(f"Fact {n}", user=one, agent=agents[n % 5])
        await door.remember(f"Everywhere {n}", user=one)
    await door.remember("Shared", shared=True)
    forgotten = await door.remember("Forgotten", user=people[0])
    await door.forget(forgotten["memory"]["id"], user=people[0])
    await memory.agents.delete(as_actor(), retired.id)
    await door.merge(people[0], gone)


@pytest.mark.parametrize("policy", [True, False])
async def test_statistics_are_those_of_a_world_counted_by_hand(
    door: Door, memory: Remembrancer, policy: bool
) -> None:
    """Each number is what asking for every user and agent one by one adds up to."""
    admin = await door.as_admin()
    await _world(door, memory)
    await admin.set_policy(policy)
    pairs = [
        (one.id, config["effective_scope"], config["source"])
        for one in (await memory.users.list(ADMIN)).items
        for config in (await door.scopes(one, limit=200))["items"]
    ]
    told = await admin.statistics()
    assert (told["users"], told["agents"], told["pairs"]) == (6, 5, 30)
    assert told["agents_by_default_scope"] == {"global": 3, "agent": 2}

    def number(which: Callable[[Any], bool]) -> tuple[int, int]:
        found = [pair for pair in pairs if which(pair)]
        return len(found), len({pair[0] for pair in found})

    for scope in ("global", "agent"):
        counted = number(lambda pair, scope=scope: pair[1] == scope)  # type: ignore[misc]
        by_pairs, by_users = told["pairs_by_effective_scope"], told["users_by_effective_scope"]
        assert (by_pairs[scope], by_users[scope]) == counted
    for source in ("admin_override", "user_preference", "user_toggle", "agent_default"):
        counted = number(lambda pair, source=source: pair[2] == source)  # type: ignore[misc]
        assert (told["pairs_by_source"][source], told["users_by_source"][source]) == counted
    where = {
        scope: rows(f"SELECT count(*) FROM memories WHERE status = 'active' AND {which}")[0][0]
        for scope, which in {
            "global": "agent_id IS NULL AND owner_id <> '00000000-0000-0000-0000-000000000000'",
            "agent": "agent_id IS NOT NULL",
            "shared": "owner_id = '00000000-0000-0000-0000-000000000000'",
        }.items()
    }
    assert told["memories_by_scope"] == {**where, "space": 0}
    assert where["shared"] == 1
    assert where["global"] + where["agent"] == 12


async def test_statistics_of_an_empty_store_are_zero(door: Door) -> None:
    """Nobody, nothing, no error."""
    told = await (await door.as_admin()).statistics()
    assert (told["users"], told["agents"], told["pairs"]) == (0, 0, 0)
    assert set(told["pairs_by_source"].values()) == {0}


# The deprecated toggle -------------------------------------------------------------------


async def test_the_toggle_says_that_it_is_deprecated(api: Api, ada: User) -> None:
    """A date and a link to a guide that is there, as RFC 9745 has them."""
    path = f"/api/memory/users/{ada.id}/settings"
    read = await api.client.get(path, headers=api.service)
    assert read.json() == {
        "user_id": str(ada.id),
        "allow_agent_specific_memory": None,
        "migrated_at": None,
    }
    body = {"allow_agent_specific_memory": False}
    written = await api.client.put(path, json=body, headers=api.service)
    assert written.json()["allow_agent_specific_memory"] is False
    for response in (read, written):
        assert response.headers["Deprecation"].startswith("@")
        assert response.headers["Deprecation"][1:].isdigit()
        link, _, relation = response.headers["Link"].partition(";")
        assert 'rel="deprecation"' in relation
        guide = await api.client.get(link.strip("<>"))
        assert guide.status_code == 200
        assert "remembrancer migrate-preferences" in guide.text
    operations = (await api.client.get("/openapi.json")).json()["paths"]
    toggle = operations["/api/memory/users/{user_id}/settings"]
    assert all(operation["deprecated"] for operation in toggle.values())


@pytest.mark.parametrize("way", ["recall", "remember", "say", "scope"])
async def test_each_user_who_relies_on_the_toggle_is_warned_of_once(
    door: Door, ada: User, bob: User, agent: Agent, caplog: pytest.LogCaptureFixture, way: str
) -> None:
    """Whichever way comes first: one line with an id, and no word of anybody."""
    for one in (ada, bob):
        await door.set_toggle(one, False)
    caplog.set_level(logging.WARNING)

    async def relies(one: User) -> None:
        if way == "recall":
            await door.recall("secret tea", user=one, agent=agent)
        elif way == "remember":
            await door.remember("secret tea", user=one, agent=agent)
        elif way == "say":
            opened = await door.open(user=one, agent=agent)
            await door.say(opened["id"], [{"content": "secret tea"}], user=one)
        else:
            await door.scope(one, agent)

    for one in (ada, ada, bob, ada, bob):
        await relies(one)
    lines = [r.getMessage() for r in caplog.records if "toggle" in r.getMessage()]
    assert [str(one.id) in line for one, line in zip((ada, bob), lines, strict=True)] == [True] * 2
    assert "tea" not in caplog.text


async def test_a_preference_or_policy_silences_the_warning(
    door: Door, ada: User, agent: Agent, caplog: pytest.LogCaptureFixture
) -> None:
    """Only who relies on the toggle is warned of."""
    await door.set_toggle(ada, False)
    await door.prefer(ada, agent, True)
    await door.recall("tea", user=ada, agent=agent)
    await (await door.as_admin()).set_policy(False)
    await door.recall("tea", user=ada, agent=agent)
    assert "toggle" not in caplog.text


async def test_migration_writes_the_toggle_down_and_changes_no_scope(
    door: Door, memory: Remembrancer, ada: User, bob: User, agent: Agent
) -> None:
    """A dry run counts; the real one makes what is missing; again there is nothing to do."""
    other = await helper(memory, "Other", Scope.GLOBAL)
    retired = await helper(memory, "Retired")
    await memory.agents.delete(as_actor(), retired.id)
    cleo, gone = await person(memory, "Cleo"), await person(memory, "Gone")
    for one in (ada, gone, cleo):
        await door.set_toggle(one, False)
    await door.set_toggle(bob, True)
    await door.prefer(ada, agent, True)
    await door.merge(bob, gone)
    migration = ToggleMigration(memory.database)
    plan = await migration.plan(ADMIN)
    assert (plan.users, plan.preferences) == (2, 3)
    assert rows("SELECT count(*) FROM memory_preferences") == [(1,)]
    before = [await door.scopes(one) for one in (ada, bob, cleo)]

    seen: list[int] = []
    done = await migration.apply(ADMIN, seen.append)
    assert (done.users, done.preferences, sum(seen)) == (2, 3, 2)
    after = [await door.scopes(one) for one in (ada, bob, cleo)]
    for then, now in zip(before, after, strict=True):
        assert [c["effective_scope"] for c in then["items"]] == [
            c["effective_scope"] for c in now["items"]
        ]
        assert "user_toggle" not in {c["source"] for c in now["items"]}
    assert (await door.preference(ada, agent))["allow_agent_specific_memory"] is True
    assert (await door.preference(ada, other))["allow_agent_specific_memory"] is False
    assert (await door.toggle(ada))["migrated_at"] is not None
    assert (await door.toggle(bob))["migrated_at"] is None

    kept = rows("SELECT * FROM memory_preferences ORDER BY user_id, agent_id")
    assert (await migration.plan(ADMIN)).preferences == 0
    assert (await migration.apply(ADMIN)).preferences == 0
    assert rows("SELECT * FROM memory_preferences ORDER BY user_id, agent_id") == kept


async def test_agents_made_after_the_migration_are_global_for_those_who_migrated(
    door: Door, memory: Remembrancer, ada: User, bob: User
) -> None:
    """In the transaction that makes the agent; a toggle set anew is not migrated."""
    for one in (ada, bob):
        await door.set_toggle(one, False)
    await ToggleMigration(memory.database).apply(ADMIN)
    assert (await door.set_toggle(bob, False))["migrated_at"] is None
    made = await door.create_agent(name="Late")
    assert (await door.scope(ada, made["id"]))["source"] == "user_preference"
    assert (await door.scope(bob, made["id"]))["source"] == "user_toggle"
    assert (await door.preference(ada, made["id"]))["allow_agent_specific_memory"] is False
    assert (await refused(door.preference(bob, made["id"]))).status == 404
    await door.set_toggle(ada, True)
    later = await door.create_agent(name="Later")
    assert (await door.scope(ada, later["id"]))["source"] == "agent_default"


async def test_migration_goes_on_in_batches(
    memory: Remembrancer, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every user is reached, however many there are to a batch."""
    monkeypatch.setattr("remembrancer.preferences.migration.BATCH", 2)
    people = [await person(memory, f"P{n}") for n in range(5)]
    rows("UPDATE users SET allow_agent_specific_memory = false")
    seen: list[int] = []
    done = await ToggleMigration(memory.database).apply(ADMIN, seen.append)
    assert (done.users, done.preferences, seen) == (5, 5, [2, 2, 1])
    wanted = PreferenceUpdate(allow_agent_specific_memory=False)
    for one in people:
        kept = await memory.preferences.get(ADMIN, one.id, agent.id)
        assert kept.allow_agent_specific_memory is wanted.allow_agent_specific_memory


async def test_a_json_export_is_plain_json(api: Api, ada: User, agent: Agent) -> None:
    """With a name to save a CSV file under."""
    await api.memory.preferences.set(
        ADMIN, ada.id, agent.id, PreferenceUpdate(allow_agent_specific_memory=True)
    )
    path = f"/api/memory/users/{ada.id}/agents/settings/export"
    file = await api.client.get(path, headers=api.service)
    row = {
        "user_id": str(ada.id),
        "agent_id": str(agent.id),
        "allow_agent_specific_memory": True,
    }
    assert json.loads(file.content) == {"preferences": [row]}
    table = await api.client.get(path + "?format=csv", headers=api.service)
    assert 'filename="preferences.csv"' in table.headers["content-disposition"]
    header, line = table.text.splitlines()
    assert header == "user_id,agent_id,allow_agent_specific_memory"
    assert line == f"{ada.id},{agent.id},true"
