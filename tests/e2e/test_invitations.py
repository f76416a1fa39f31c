"""Nobody is put into a space but by their own yes: invitations, and what leaving means."""

import asyncio
import re
from typing import Any
from uuid import UUID, uuid4

import httpx2
import pytest
from entry_points import Door, Json, refusals
from helpers import Api, audit_lines, person, rows
from sqlalchemy import text

from remembrancer import (
    Actor,
    Agent,
    ContextQuery,
    MemberAdd,
    Remembrancer,
    Role,
    SpaceCreate,
    User,
    as_actor,
)
from remembrancer.chat.dispatch import ChatCommands
from remembrancer.client import AsyncClient
from remembrancer.testing import FakePlatform

DEBT = "Mia borrowed forty pounds of Bob."


@pytest.fixture
async def mia(memory: Remembrancer) -> User:
    return await person(memory, "Mia")


@pytest.fixture
async def bobs(door: Door, bob: User) -> Door:
    """The door for Bob's own key: he acts in the role `user`."""
    return await door.of(bob)


@pytest.fixture
async def mias(door: Door, mia: User) -> Door:
    return await door.of(mia)


@pytest.fixture
async def space(bobs: Door) -> str:
    """A space of Bob's, with something that he shares there."""
    made = await bobs.create_space(name="Debts", description="Who owes what.")
    await bobs.remember_in(made["id"], DEBT, visibility="shared")
    return str(made["id"])


async def _reached(memory: Remembrancer, door: Door, user: User) -> list[Any]:
    """What of any space reaches a user: by lists, recall and prompt."""
    context = await memory.conversations.context(
        as_actor(user), ContextQuery(message="What did Mia borrow of Bob?")
    )
    return [
        *[space["name"] for space in (await door.spaces())["items"]],
        *[memory["content"] for memory in (await door.listed())["memories"]],
        *(await door.contents("What did Mia borrow of Bob?")),
        *[block.text for block in (context.stable, context.dynamic) if DEBT in block.text],
    ]


async def _role(user: User) -> str | None:
    found = rows("SELECT role FROM space_members WHERE user_id = %s", user.id)
    return found[0][0] if found else None


async def test_case_34_nobody_is_put_into_a_space_without_their_yes(
    memory: Remembrancer, bobs: Door, mias: Door, mia: User
) -> None:
    """Nothing reaches her before she accepts; after she leaves, it takes another yes."""
    made = await bobs.create_space(name="Debts", description="Whose.", member_ids=[str(mia.id)])
    space = made["id"]
    assert (made["member_count"], made["invitation_count"]) == (1, 1)
    await bobs.remember_in(space, DEBT, visibility="shared")
    added = await bobs.add_member(space, mia)
    assert (added["invited"], added["display_name"], added["joined_at"]) == (True, None, None)
    for again in ("first", "after she has left"):
        assert await _reached(memory, mias, mia) == [], again
        refused = await refusals(mias.space(space), mias.members(space), mias.facts(space))
        assert {one.status for one in refused} == {404}
        [invitation] = (await mias.invitations())["items"]
        assert invitation.keys() == {
            "space_id", "name", "description", "invitee", "role", "invited_by", "inviter",
            "created_at",
        }  # fmt: skip
        assert (invitation["name"], invitation["inviter"]) == ("Debts", "Bob")
        joined = await mias.accept(space)
        assert (joined["role"], joined["member_count"]) == ("member", 2)
        assert joined["invitation_count"] == 0
        reached = await _reached(memory, mias, mia)
        assert reached[:3] == ["Debts", DEBT, DEBT]
        assert (await mias.invitations())["items"] == []
        await mias.leave(space)
        assert await _reached(memory, mias, mia) == []
        await bobs.add_member(space, mia)


async def test_case_34_unknown_and_known_users_are_answered_alike(
    bobs: Door, space: str, bob: User, mia: User, mias: Door
) -> None:
    """In each answer, each list, twice and after a decline; her name is never given away."""
    invitees = [mia.id, uuid4(), "discord:Mia-1", "discord:nobody", "x:a/b?c"]
    masked: list[list[Json]] = []
    for invitee in invitees:
        answers = [
            await bobs.invite(space, invitee, key=f"k-{invitee}"),
            await bobs.invite(space, invitee, key=f"k-{invitee}"),
            await bobs.invite(space, invitee),
            await bobs.add_member(space, invitee),
        ]
        if invitee == mia.id:
            await mias.decline(space)
        answers.append(await bobs.invite(space, invitee, role="owner"))
        [sent] = [
            one for one in (await bobs.sent_invitations(space))["items"]
            if one["invitee"] == str(invitee)
        ]  # fmt: skip
        assert "Mia" not in str([*answers, sent]).replace("discord:Mia-1", "")
        assert len({one["created_at"] for one in [*answers[:3], sent]}) == 1
        answers.append(sent)
        masked.append([_without(one, str(invitee)) for one in answers])
    assert all(one == masked[0] for one in masked)
    made = await bobs.create_space(name="More", member_ids=[*map(str, invitees), str(bob.id)])
    assert (made["member_count"], made["invitation_count"]) == (1, 5)
    for invitee in invitees:
        assert await bobs.withdraw(space, invitee) is None
        [refused] = await refusals(bobs.withdraw(space, invitee))
        assert (refused.status, refused.fields) == (404, ["invitee"])
    assert (await bobs.sent_invitations(space))["items"] == []


def _without(answer: Json, invitee: str) -> Json:
    return {k: "x" if v == invitee else v for k, v in answer.items() if k != "created_at"}


async def test_who_declined_is_shown_no_further_invitation(
    bobs: Door, space: str, mia: User, mias: Door
) -> None:
    """By any name; the owner sees no difference. She may still accept, until it is withdrawn."""
    await bobs.invite(space, mia)
    await mias.decline(space)
    for invitee in (mia.id, "discord:Mia-1"):
        await bobs.invite(space, invitee)
        assert (await mias.invitations())["items"] == []
    assert len((await bobs.sent_invitations(space))["items"]) == 2
    await mias.decline(space)
    await mias.accept(space)
    assert await _role(mia) == "member"
    await mias.leave(space)
    await bobs.invite(space, mia)
    assert len((await mias.invitations())["items"]) == 1
    await mias.decline(space)
    await bobs.withdraw(space, mia.id)
    refused = await refusals(mias.accept(space), mias.decline(space))
    assert [(one.status, one.fields) for one in refused] == [(404, ["space_id"])] * 2


async def test_services_and_admins_add_at_once_but_nobody_who_said_no(
    door: Door, bobs: Door, space: str, bob: User, mia: User, mias: Door
) -> None:
    """A platform runs the group. Who left or declined joins by their own yes alone."""
    admin = await door.as_admin()
    for adds in (door, admin):
        added = await adds.add_member(space, mia, user=bob)
        assert (added["invited"], added["display_name"]) == (False, "Mia")
        await door.remove_member(space, mia, user=bob)
    await bobs.invite(space, mia, role="owner")
    await door.add_member(space, mia, user=bob)
    assert (await bobs.sent_invitations(space))["items"] == [], "it led to nothing more"
    for no in (mias.leave, mias.decline):
        await no(space)
        refused = await refusals(
            door.add_member(space, mia, user=bob), admin.add_member(space, mia, user=bob)
        )
        assert [(one.status, one.fields) for one in refused] == [(409, ["user_id"])] * 2
        await door.invite(space, mia, user=bob)
    await door.accept(space, user=mia)
    await bobs.invite(space, "discord:Mia-1", role="owner")
    await bobs.remove_member(space, mia)
    refused = await refusals(mias.accept(space))
    assert refused[0].status == 404, "an older invitation does not bring back who was removed"
    assert (await door.add_member(space, mia, user=bob))["invited"] is False


async def test_an_invitation_changes_no_membership(
    bobs: Door, space: str, bob: User, mia: User, mias: Door
) -> None:
    """A member is not invited, nor demoted by accepting what another name of theirs was sent."""
    [refused] = await refusals(bobs.invite(space, bob))
    assert (refused.status, refused.fields) == (409, ["user_id"])
    await bobs.invite(space, "discord:Bob-1")
    assert (await bobs.invitations())["items"] == []
    [refused] = await refusals(bobs.accept(space))
    assert refused.status == 404
    assert await _role(bob) == "owner"
    await bobs.invite(space, mia)
    await bobs.invite(space, "discord:Mia-1", role="owner")
    assert len((await mias.invitations(limit=1))["items"]) == 1
    assert (await mias.accept(space))["role"] == "owner"


async def test_invitations_to_nobody_or_by_nobody_are_refused_by_name(
    door: Door, bobs: Door, space: str, mia: User, mias: Door
) -> None:
    """A 4xx that names the field, a line in the log, and nothing half done."""
    before = rows("SELECT * FROM space_invitations")
    for wrong in ("", "nobody", ":", "discord:", 7, None, ["x"]):
        refused = await refusals(
            bobs.invite(space, wrong),
            bobs.add_member(space, wrong),
            bobs.create_space(name="X", member_ids=[str(mia.id), wrong]),
        )
        assert {one.status for one in refused} == {422}
        assert [one.fields[0].split(".")[0] for one in refused] == [
            "user_id", "user_id", "member_ids",
        ]  # fmt: skip
    [refused] = await refusals(bobs.invite(space, mia, role="king"))
    assert (refused.status, refused.fields) == (422, ["role"])
    noted = len(audit_lines())
    for which in (space, uuid4()):
        refused = await refusals(
            mias.invite(which, mia),
            mias.sent_invitations(which),
            mias.withdraw(which, mia.id),
            mias.accept(which),
            mias.decline(which),
        )
        assert [(one.status, one.fields) for one in refused] == [(404, ["space_id"])] * 5
    lines = audit_lines()[noted:]
    assert [line.outcome for line in lines] == ["refused"] * 10
    assert rows("SELECT * FROM space_invitations") == before == []
    await door.add_member(space, mia, user=rows("SELECT created_by FROM spaces")[0][0])
    refused = await refusals(
        mias.invite(space, uuid4()), mias.sent_invitations(space), mias.withdraw(space, uuid4())
    )
    assert {one.status for one in refused} == {403}
    assert not any("Debts" in str(line) for line in audit_lines())


async def test_accepting_and_withdrawing_at_once_is_one_or_the_other(
    bobs: Door, space: str, mia: User, mias: Door
) -> None:
    """Whoever is first: she is a member if and only if she was told so."""
    for _ in range(4):
        await bobs.invite(space, mia)
        accepted, again, withdrawn = await asyncio.gather(
            mias.accept(space), mias.accept(space), bobs.withdraw(space, mia.id),
            return_exceptions=True,
        )  # fmt: skip
        came = [one for one in (accepted, again) if isinstance(one, dict)]
        assert len(came) + (withdrawn is None) == 1
        assert (await _role(mia) is not None) == bool(came)
        assert rows("SELECT count(*) FROM space_invitations") == [(0,)]
        if came:
            await mias.leave(space)


async def test_accepting_into_a_space_that_is_deleted_at_once(
    door: Door, bob: User, bobs: Door, mia: User, mias: Door
) -> None:
    """Nobody is a member of a space that is gone; invitations end with it, and a no does not."""
    for n in range(4):
        space = (await bobs.create_space(name=f"S{n}", member_ids=[str(mia.id)]))["id"]
        await asyncio.gather(mias.accept(space), bobs.delete_space(space), return_exceptions=True)
    assert rows(
        "SELECT count(*) FROM space_members WHERE user_id = %s"
        " AND space_id NOT IN (SELECT id FROM spaces)", mia.id
    ) == [(0,)]  # fmt: skip
    space = (await bobs.create_space(name="Left", member_ids=[str(mia.id)]))["id"]
    await mias.accept(space)
    await mias.leave(space)
    await bobs.invite(space, mia)
    await bobs.delete_space(space)
    restored = await bobs.restore_space(space)
    assert (restored["member_count"], restored["invitation_count"]) == (1, 0)
    [refused] = await refusals(door.add_member(space, mia, user=bob))
    assert refused.status == 409


async def test_invitations_reach_all_ids_of_a_merged_user(
    door: Door, memory: Remembrancer, bobs: Door, space: str, bob: User, mia: User
) -> None:
    """Of the merged user too, until the merge is undone; a no moves with its user and back."""
    cleo = await person(memory, "Cleo")
    other = (await bobs.create_space(name="Other"))["id"]
    await door.add_member(other, cleo, user=bob)
    await door.leave(other, user=cleo)
    await bobs.invite(space, cleo)
    choir = (await bobs.create_space(name="Choir"))["id"]
    await door.add_member(choir, cleo, user=bob)
    merge = await door.merge(mia, cleo)
    await door.leave(choir, user=mia)
    assert [one["name"] for one in (await door.invitations(user=mia))["items"]] == ["Debts"]
    for user in (mia, cleo):
        [refused] = await refusals(door.add_member(other, user, user=bob))
        assert refused.status == 409
    await door.unmerge(mia, merge["undo_id"])
    assert [one["name"] for one in (await door.spaces(user=cleo))["items"]] == []
    assert (await door.invitations(user=mia))["items"] == []
    assert len((await door.invitations(user=cleo))["items"]) == 1
    assert (await door.add_member(other, mia, user=bob))["invited"] is False
    [refused] = await refusals(door.add_member(other, cleo, user=bob))
    assert refused.status == 409


async def test_erasure_takes_invitations_to_and_by_a_user(
    door: Door, memory: Remembrancer, bobs: Door, space: str, mia: User, mias: Door
) -> None:
    """By every name, with those that she sent, and with her refusals."""
    for invitee in (mia.id, "discord:Mia-1", "discord:nobody"):
        await bobs.invite(space, invitee)
    await mias.decline(space)
    hers = (await mias.create_space(name="Hers", member_ids=["discord:else"]))["id"]
    receipt = await door.erase_user(mia, dry_run=False)
    assert receipt["rows"]["space_invitations"] == 3
    assert receipt["rows"]["space_refusals"] == 1
    assert rows("SELECT invitee FROM space_invitations") == [("discord:nobody",)]
    assert rows("SELECT count(*) FROM space_refusals") == [(0,)]
    assert rows("SELECT count(*) FROM spaces WHERE id = %s", hers) == [(0,)]


async def test_the_client_invites_and_accepts(api: Api, bob: User, mia: User) -> None:
    """With the names of the library, by platform:id."""

    def client(headers: dict[str, str]) -> AsyncClient:
        transport = httpx2.ASGITransport(app=api.client._transport.app)  # type: ignore[attr-defined]
        secret = headers["Authorization"].removeprefix("Bearer ")
        return AsyncClient("http://test", secret, transport=transport)

    async with client(await api.key_of(bob)) as bobs, client(await api.key_of(mia)) as mias:
        space = await bobs.spaces.create(SpaceCreate(name="Choir"))
        name = "discord:Mia-1"
        added = await bobs.spaces.add_member(space.id, MemberAdd(user_id=name))
        assert (added.user_id, added.invited) == (name, True)
        sent = await bobs.spaces.invite(space.id, MemberAdd(user_id=name))
        assert (await bobs.spaces.sent_invitations(space.id)).items == [sent]
        assert [one.name for one in (await mias.spaces.invitations()).items] == ["Choir"]
        await mias.spaces.decline(space.id)
        assert (await mias.spaces.accept(space.id)).member_count == 2
        await bobs.spaces.invite(space.id, MemberAdd(user_id="app:nobody"))
        await bobs.spaces.withdraw(space.id, "app:nobody")
        assert (await bobs.spaces.sent_invitations(space.id)).items == []


async def test_case_34_in_a_chat_only_a_command_joins(
    memory: Remembrancer, bobs: Door, mia: User, agent: Agent
) -> None:
    """The command lists who invites, joins and declines, by an id of the invitation."""
    chat = FakePlatform(ChatCommands(memory, agent.id), platform="discord", limit=2000)

    async def typed(text: str) -> str:
        return "\n".join(await chat.type(text, user="Mia-1", name="Mia"))

    assert await typed("/memory invitations") == "You have no invitations."
    for name in ("Debts", "Choir"):
        made = await bobs.create_space(name=name, description="Sings.", member_ids=[str(mia.id)])
        await bobs.remember_in(made["id"], f"{name}: {DEBT}", visibility="shared")
    answer = await typed("/memory invitations")
    debts, choir = re.findall(r"\[(\w+)\]", answer)
    assert answer.count("Bob invites you. Sings.") == 2
    for command in ("/memory", "/memory search borrowed"):
        assert DEBT not in await typed(command)
    for wrong in ("accept", "accept 1", f"decline {mia.id.hex[-8:]}", "accept \x00", "decline ²"):
        answer = await typed(f"/memory {wrong}")
        assert "invitation" in answer, wrong
    assert await _role(mia) is None
    assert await typed(f"/memory decline [{debts}]") == "Declined. Nobody is told."
    assert "no invitation" in await typed(f"/memory accept {debts}")
    assert await typed(f"/memory accept {choir.upper()}") == "You are a member of Choir now."
    for command in ("/memory", "/memory search borrowed"):
        listed = await typed(command)
        assert f"Choir: {DEBT}" in listed
        assert "Debts:" not in listed
    assert await typed("/memory invitations") == "You have no invitations."


async def test_row_security_hides_invitations_and_refusals(
    memory: Remembrancer, bob: User, mia: User
) -> None:
    """Nobody but the service reads an invitation; a refusal is its user's."""
    actor = Actor(Role.USER, user_id=bob.id)
    space = (await memory.spaces.create(actor, SpaceCreate(name="S", member_ids=[mia.id]))).id
    await memory.spaces.decline(Actor(Role.USER, user_id=mia.id), UUID(str(space)))
    for user, refused in ((bob, 0), (mia, 1)):
        for role in Role:
            async with memory.database.transaction(Actor(role, user_id=user.id)) as (reading, _):
                for table, count in (("space_invitations", 0), ("space_refusals", refused)):
                    counted = await reading.execute(text(f"SELECT count(*) FROM {table}"))
                    assert counted.scalar_one() == count, (table, role)
