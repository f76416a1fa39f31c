"""A person's whole memory leaves in three formats, on every door, and comes back without loss."""

import json
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from helpers import ADMIN, Api, exported, person, rows, texts_of
from test_client import client_of
from test_erasure import _chunk, _edge
from test_import import Cut, CutOffError, best_hit

from remembrancer import (
    Actor,
    Agent,
    ContextQuery,
    ConversationCreate,
    InvalidInput,
    MemoryUpdate,
    MessageCreate,
    PlaceCreate,
    PlaceMention,
    PreferenceUpdate,
    Remembrancer,
    Role,
    SpaceCreate,
    User,
    as_actor,
)
from remembrancer.conversations.schemas import MessageRole
from remembrancer.importers import Importer, ImportResult, open_export, person_import
from remembrancer.importers.uploads import serve_uploads
from remembrancer.integrity.service import check
from remembrancer.memories.schemas import MemoryFilter
from remembrancer.portability.schemas import ExportFormat
from remembrancer.records.schemas import Changes, RecordWrite
from remembrancer.uploads.schemas import UploadCounts, UploadStatus
from remembrancer.users.schemas import PlatformLink, UserUpdate

HOSTILE = "---\ntype: user\n---\r\n> <!-- {} -->\n[[x]] ```\u202e{{ \u2028 end \n\n"
PRIVATE = "otter"
"""In everything that is Bob's alone."""
FORGOTTEN = "walrus"
TABLES = (
    "users",
    "platform_links",
    "memory_preferences",
    "saved_filters",
    "spaces",
    "space_members",
    "space_refusals",
    "conversations",
    "participants",
    "messages",
    "chunks",
    "withheld_messages",
    "memories",
    "memory_versions",
    "mentions",
    "associations",
    "recall_items",
    "postings",
    "agents",
)


def stored() -> dict[str, list[str]]:
    return {table: sorted(map(str, rows(f"SELECT * FROM {table}"))) for table in TABLES}


async def live(memory: Remembrancer, ada: User, bob: User, agent: Agent) -> None:
    """Give Ada a life with something of everything, partly with Bob."""
    me, alone = as_actor(ada, agent), as_actor(ada)
    await memory.users.link(ADMIN, ada.id, PlatformLink(platform="matrix", platform_user_id="@ada"))
    changes = UserUpdate(display_name="Ada Berg", time_zone="Europe/Paris")
    await memory.users.update(alone, ada.id, changes)
    choice = PreferenceUpdate(allow_agent_specific_memory=True)
    await memory.preferences.set(alone, ada.id, agent.id, choice)
    await memory.saved_filters.save(alone, "Tea", MemoryFilter(text="tea"))
    rows("INSERT INTO space_refusals VALUES (%s, %s, true)", ada.id, uuid4())
    family = await memory.spaces.create(alone, SpaceCreate(name="Family", member_ids=[bob.id]))
    talk = await memory.conversations.open(
        me,
        ConversationCreate(
            agent_id=agent.id,
            title="Bees: a plan",
            platform="matrix",
            platform_conversation_id="!bees",
            metadata={"topic": HOSTILE},
        ),
    )
    said = [
        MessageCreate(content=f"Line {n}" if n else HOSTILE, role=MessageRole.USER if n % 2 == 0
                      else MessageRole.ASSISTANT, platform_message_id=f"$m{n}",
                      metadata={"n": n, "raw": HOSTILE} if n == 0 else {})
        for n in range(45)
    ]  # fmt: skip
    said[2] = said[2].model_copy(update={"content": f"I once kept a {FORGOTTEN}."})
    said[4] = said[4].model_copy(update={"content": "My hives stand in Gent."})
    stored_ = await memory.conversations.append(me, talk.id, said)
    rows("UPDATE conversations SET summarised_to = 20 WHERE id = %s", talk.id)
    _chunk(ada, talk.id, "Ada had a pet.", 1, 10)
    _chunk(ada, talk.id, "They plan\n---\nbee hives.", 11, 20)
    await memory.conversations.pause(me, talk.id)
    await memory.conversations.append(me, talk.id, [MessageCreate(content="Off the record.")])
    await memory.conversations.resume(me, talk.id)
    await memory.conversations.delete_message(me, talk.id, stored_.messages[7].id)
    group = await memory.conversations.open(alone, ConversationCreate(space_id=family.id))
    both = [
        MessageCreate(content="Whose turn is it?", user_id=ada.id),
        MessageCreate(content=f"Mine; the {PRIVATE} is fed.", user_id=bob.id),
        MessageCreate(content="Thanks.", user_id=ada.id),
    ]
    in_group = await memory.conversations.append(as_actor(), group.id, both)
    cited = {"conversation_id": talk.id, "message_id": stored_.messages[4].id}
    hives = await memory.remember("Ada's hives stand in Gent.", user=ada, agent=agent, kind="fact",
                                  category="hobby", subject="Ada", importance=0.9, **cited,
                                  metadata={"colour": HOSTILE, "n": [1, None]})  # fmt: skip
    await memory.memories.update(
        me, hives.memory.id, MemoryUpdate(content="The hives are in Ronse.")
    )
    await memory.memories.update(me, hives.memory.id, MemoryUpdate(importance=0.8))
    await memory.memories.pin(me, hives.memory.id)
    hostile = await memory.remember(HOSTILE, user=ada, kind="observation")
    await memory.remember(HOSTILE + "!", user=ada, external_id="note/1")
    await memory.associations.add(alone, hives.memory.id, _edge(hostile.memory.id))
    turn = await memory.remember("Bob fed the pet on Sunday.", user=ada, conversation_id=group.id,
                                 message_id=in_group.messages[1].id)  # fmt: skip
    await memory.memories.deactivate(alone, turn.memory.id)
    await memory.remember("Ada may move to Oslo.", user=ada, pending=True)
    evicted = await memory.remember("Ada had toast in March.", user=ada, kind="observation")
    rows("UPDATE memories SET status = 'evicted' WHERE id = %s", evicted.memory.id)
    rows("UPDATE recall_items SET active = false WHERE memory_id = %s", evicted.memory.id)
    gone = await memory.remember(f"Ada once kept a {FORGOTTEN}.", user=ada, agent=agent)
    await memory.associations.add(alone, hives.memory.id, _edge(gone.memory.id))
    assert (await memory.memories.forget(me, gone.memory.id)).messages >= 1
    await memory.conversations.context(me, ContextQuery(conversation_id=talk.id))
    await live_on(memory, ada, family.id)
    await live_beside(memory, bob, family.id)


async def live_on(memory: Remembrancer, ada: User, family_id: UUID) -> None:
    """Give her facts in a space, a place, and what ends some day."""
    alone = as_actor(ada)
    until = ada.created_at + timedelta(days=4000)
    await memory.remember("Ada's ticket is valid.", user=ada, expires_at=until, valid_to=until)
    await memory.remember("The family meets at Easter.", user=ada, space_id=family_id,
                          visibility="shared")  # fmt: skip
    await memory.remember("Ada plans a surprise.", user=ada, space_id=family_id)
    place = PlaceCreate(place_id="osm:1", place_name="Market", notes="Honey on Fridays")
    await memory.places.add(alone, place)
    await memory.places.mention(alone, "osm:1", PlaceMention())
    record = RecordWrite(("shelf", "---\n"), "A value of a program")
    await memory.records.write(alone, Changes([record]), source="test")


async def live_beside(memory: Remembrancer, bob: User, family_id: UUID) -> None:
    """Give Bob what is his alone."""
    await memory.remember(f"Bob has an {PRIVATE}.", user=bob)
    await memory.remember(f"A private {PRIVATE}.", user=bob, space_id=family_id)
    own = await memory.conversations.open(as_actor(bob), ConversationCreate(title=f"An {PRIVATE}"))
    await memory.conversations.append(
        as_actor(bob), own.id, [MessageCreate(content=f"The {PRIVATE} again.")]
    )


async def file_of(memory: Remembrancer, user: User, kind: str) -> bytes:
    parts = memory.users.export(as_actor(user), user.id, format=kind)
    return b"".join([part async for part in parts])


async def uploaded(memory: Remembrancer, user: User, path: Path) -> UploadCounts:
    """Give the pages a file as the user does, and let the worker look into it and import it."""
    content = path.read_bytes()  # noqa: ASYNC240 - a few kilobytes

    async def parts() -> AsyncIterator[bytes]:
        yield content

    actor = Actor(Role.USER, user_id=user.id, entry_point="web")
    serve_uploads(memory)
    upload = await memory.uploads.create(actor, path.name, parts())
    await memory.worker.run(once=True)
    await memory.uploads.start(actor, upload.id)
    await memory.worker.run(once=True)
    done, *_ = (await memory.uploads.list(actor)).items
    assert (done.status, done.format) == (UploadStatus.DONE, "remembrancer"), done.reason
    return done.counts


async def bring(
    memory: Remembrancer, user: User, path: Path, *, cut: int | None = None
) -> ImportResult:
    """Import a file as the command does."""
    export = open_export(path)
    importer = Importer(memory, as_actor(user), Cut(cut))
    await importer.check(export)
    await importer.store(export)
    return importer.result


def normal(records: list[dict[str, Any]]) -> list[str]:
    """Return records as texts that two stores have alike; decision 76 says what differs.

    Ids of users, conversations, messages, summaries and spaces are names of what they are the
    ids of. A citation of what is in no record, which is of others, is none.
    """
    records = [r for r in records if r["type"] not in {"undo_record", "api_key"}]
    user = records[0]
    names = {user["id"]: "user"} | {one["id"]: f"space {one['name']}" for one in user["spaces"]}
    plain_user(user)
    for record in records:
        if record["type"] == "conversation":
            names[record["id"]] = f"talk {record['created_at']}"
            names |= {one["id"]: f"summary {one['range_start']}" for one in record["summaries"]}
        elif record["type"] == "message":
            names[record["id"]] = f"{names[record['conversation_id']]}, {record['position']}"
    for record in records:
        for one in [record, *record.get("versions", ()), *record.get("mentions", ())]:
            for name in {"conversation_id", "message_id"} & one.keys():
                one[name] = one[name] if one[name] in names else None
    texts = [json.dumps(record, sort_keys=True) for record in records]
    for key, name in names.items():
        texts = [text.replace(key, name) for text in texts]
    return sorted(texts)


def plain_user(user: dict[str, Any]) -> None:
    """Remove what a server makes: ids, times and versions of rows, and the role in a space."""
    for name in ("id", "version", "created_at", "updated_at"):
        del user[name]
    for space in user["spaces"]:
        del space["role"]
    for child in ("platform_links", "preferences", "saved_filters", "space_refusals"):
        for one in user[child]:
            for name in ("id", "created_at", "updated_at"):
                one.pop(name, None)
    for value in user.values():
        if isinstance(value, list):
            value.sort(key=json.dumps)


async def test_a_memory_leaves_and_comes_back_in_every_format(
    memory: Remembrancer, ada: User, bob: User, agent: Agent, tmp_path: Path
) -> None:
    """Exported, erased, imported and exported again, it is the same; the same again does nothing.

    Each format brings back what the one before brought back.
    """
    await live(memory, ada, bob, agent)
    first = normal(await exported(memory, ada))
    assert not [text for text in first if FORGOTTEN in text and '"versions"' in text]
    for kind in ExportFormat:
        path = tmp_path / f"ada.{kind.ending}"
        path.write_bytes(await file_of(memory, ada, kind))
        await memory.users.erase(ADMIN, ada.id, dry_run=False)
        ada = await person(memory, "Somebody")
        rows("DELETE FROM platform_links WHERE user_id = %s", ada.id)
        result = await bring(memory, ada, path)
        assert (result.messages_added, result.memories_added) == (47, 11)
        assert not result.memories_refused + result.memories_evicted
        again = normal(await exported(memory, ada))
        assert again == first, kind
        before = stored()
        result = await bring(memory, ada, path)
        assert (result.messages_added, result.memories_added) == (0, 0)
        assert (result.messages_skipped, result.memories_skipped) == (47, 11)
        assert stored() == before
        assert await check(memory.database) == []
    hit = await best_hit(memory, "Where do the hives stand?", ada)
    assert "Ronse" in hit.content
    answer = await memory.recall(FORGOTTEN, user=ada, limit=50)
    assert not [one for one in answer.hits if FORGOTTEN in one.content]


async def test_an_import_that_is_cut_off_goes_on(
    memory: Remembrancer,
    ada: User,
    bob: User,
    agent: Agent,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Wherever it ends, the next one comes to the same as one that was not cut off."""
    await live(memory, ada, bob, agent)
    first = normal(await exported(memory, ada))
    path = tmp_path / "ada.zip"
    path.write_bytes(await file_of(memory, ada, "markdown"))
    await memory.users.erase(ADMIN, ada.id, dry_run=False)
    ada = await person(memory, "Somebody")
    rows("DELETE FROM platform_links WHERE user_id = %s", ada.id)
    monkeypatch.setattr(person_import, "_BATCH", 7)
    for batches in (0, 2, 5, 8):
        with pytest.raises(CutOffError):
            await bring(memory, ada, path, cut=batches)
    await bring(memory, ada, path)
    assert normal(await exported(memory, ada)) == first
    assert await check(memory.database) == []


async def test_a_file_claims_nothing_of_others(
    memory: Remembrancer, ada: User, bob: User, agent: Agent, tmp_path: Path
) -> None:
    """Whoever uploads a file may have written it: ids of others in it are ids of nothing."""
    await live(memory, bob, ada, agent)
    serve_uploads(memory)
    await memory.worker.run(once=True)  # stale summaries are made anew
    claimed = tmp_path / "bob.jsonl"
    claimed.write_bytes(await file_of(memory, bob, "json"))
    rows("DELETE FROM platform_links WHERE platform = 'matrix'")  # a free one is not claimed
    mallory = await person(memory, "Mallory")
    tables = {name: [row for row in of if str(bob.id) in row] for name, of in stored().items()}
    result = await uploaded(memory, mallory, claimed)
    assert (result.messages_added, result.memories_added) == (47, 11)
    assert {n: [row for row in of if str(bob.id) in row] for n, of in stored().items()} == tables
    assert rows("SELECT platform FROM platform_links WHERE user_id = %s", mallory.id) == [
        ("discord",)
    ]
    both = "SELECT 1 FROM {0} AS a JOIN {0} AS b USING ({1}) WHERE a.{2} = %s AND b.{2} <> %s"
    for table, key, owner in (
        ("messages", "id", "owner_id"),
        ("messages", "conversation_id", "owner_id"),
        ("chunks", "id", "owner_id"),
        ("participants", "conversation_id", "user_id"),
        ("space_members", "space_id", "user_id"),
    ):
        assert not rows(both.format(table, key, owner), mallory.id, mallory.id), (table, key)
    own = "SELECT c.platform_conversation_id FROM conversations AS c WHERE opened_by = %s"
    assert {row[0] for row in rows(own, mallory.id)} == {None}
    cites = (
        "SELECT 1 FROM mentions AS m JOIN messages AS o ON o.id = m.message_id "
        "WHERE m.owner_id = %s AND o.owner_id <> %s"
    )
    assert not rows(cites, mallory.id, mallory.id)
    # The summaries that the test stored for Bob have no true hash.
    assert {problem.rule.name for problem in await check(memory.database)} == {"item_hashes"}
    again = await uploaded(memory, mallory, claimed)
    assert (again.messages_added, again.memories_added) == (0, 0)


async def test_no_door_gives_what_is_of_others_or_forgotten(
    memory: Remembrancer, api: Api, ada: User, bob: User, agent: Agent, tmp_path: Path
) -> None:
    """In no format, from the library, REST or the client; pages are REST for the browser."""
    await live(memory, ada, bob, agent)
    files = [await file_of(memory, ada, kind) for kind in ExportFormat]
    for kind in ExportFormat:
        address = f"/api/users/{ada.id}/export?format={kind}"
        response = await api.client.get(address, headers=api.admin)
        assert response.headers["content-type"].split(";")[0] == kind.media_type
        assert f'{ada.id}.{kind.ending}"' in response.headers["content-disposition"]
        files.append(response.content)
        async with client_of(api, api.service) as client:
            parts = client.users.export(ada.id, format=kind)
            files.append(b"".join([part async for part in parts]))
    assert len({texts_of(file) for file in files}) == 3
    for file in files:
        text = texts_of(file)
        assert "The family meets at Easter." in text
        assert PRIVATE not in text
        assert f"Ada once kept a {FORGOTTEN}" not in text
    wrong = await api.client.get(f"/api/users/{ada.id}/export?format=pdf", headers=api.admin)
    assert (wrong.status_code, wrong.json()["errors"][0]["field"]) == (422, "format")
    with pytest.raises(InvalidInput, match="format: must be json, markdown, json-ld"):
        await anext(memory.users.export(as_actor(ada), ada.id, format="pdf"))
