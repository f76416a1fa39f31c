"""``spaces``: create spaces, manage members and invitations, share memories."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated
from uuid import UUID

import typer
from rich.text import Text

from remembrancer.access import Actor, SpaceRole, Visibility
from remembrancer.app import Remembrancer
from remembrancer.cli.actors import actor_for, find_user, only_id, parse_id
from remembrancer.cli.command import command
from remembrancer.cli.options import RequiredUser, UserArgument
from remembrancer.cli.output import console, day, plain, table
from remembrancer.facts.schemas import Fact, FactCreate
from remembrancer.memories.schemas import Memory, RememberResult
from remembrancer.paging import all_items
from remembrancer.spaces.schemas import Addition, Invitation, Member, MemberAdd, Space, SpaceCreate
from remembrancer.validation import validate

group = typer.Typer()

SpaceArgument = Annotated[str, typer.Argument(help="Id of a space, or its name.")]
SpaceId = Annotated[UUID, typer.Argument(help="Id of the space, as `spaces invitations` shows it.")]
MemoryId = Annotated[str, typer.Argument(help="Id of a memory that the user wrote in a space.")]


def _table(spaces: Sequence[Space]) -> object:
    rows = [
        [str(space.id), space.name, space.role, str(space.member_count), day(space.created_at)]
        for space in spaces
    ]
    return table(
        "Id",
        "Name",
        "Role",
        "Members",
        "Created",
        rows=rows,
        empty="The user is in no space. To create one: remembrancer spaces create NAME --user NAME",
    )


def _member_table(members: Sequence[Addition | Member]) -> object:
    rows = [
        [
            str(member.user_id),
            member.display_name or "",
            member.role,
            day(member.joined_at) if member.joined_at else "",
        ]
        for member in members
    ]
    return table("Id", "Name", "Role", "Joined", rows=rows)


def _fact_table(facts: Sequence[Fact]) -> object:
    rows: list[list[Text | str]] = [
        [fact.id, fact.author or "", fact.visibility, plain(fact.content)] for fact in facts
    ]
    return table(
        "Id",
        "Author",
        "Visibility",
        "Content",
        rows=rows,
        empty="There are none. To store one: remembrancer spaces add-fact SPACE TEXT --user NAME",
    )


def _stored(result: RememberResult) -> str:
    return f"{result.outcome.value.capitalize()}: {result.memory.id}"


def _invitation_table(invitations: Sequence[Invitation]) -> object:
    rows = [
        [str(i.space_id), i.name, i.inviter, str(i.invitee), i.role, day(i.created_at)]
        for i in invitations
    ]
    return table(
        "Space",
        "Name",
        "Invited by",
        "Invited",
        "Role",
        "Since",
        rows=rows,
        empty="There are no open invitations.",
    )


def _visibility(memory: Memory) -> str:
    return f"{memory.id} is {memory.visibility.value} now."


@command(group, "list", render=_table)
async def list_(app: Remembrancer, user: RequiredUser) -> list[Space]:
    """List the spaces of a user.

    Examples:
      remembrancer spaces list --user Ada
    """
    return await _spaces(app, await actor_for(app, user))


@command(group, render=lambda space: _table([space]))
async def create(
    app: Remembrancer,
    name: Annotated[str, typer.Argument(help="Its name.")],
    user: RequiredUser,
    description: Annotated[str, typer.Option(help="What it is about.")] = "",
    member: Annotated[
        list[str] | None, typer.Option(help="Another member. Can be repeated.")
    ] = None,
) -> Space:
    """Create a space. The user owns it.

    Examples:
      remembrancer spaces create Gran --user Ada --member Bob
    """
    member_ids = [await find_user(app, name) for name in member or ()]
    space = SpaceCreate(name=name, description=description, member_ids=member_ids)
    return await app.spaces.create(await actor_for(app, user), space)


@command(group, render=_member_table)
async def members(app: Remembrancer, space: SpaceArgument, user: RequiredUser) -> list[Member]:
    """List the members of a space. The user must be one.

    Examples:
      remembrancer spaces members Gran --user Ada
    """
    actor = await actor_for(app, user)
    return await all_items(partial(app.spaces.members, actor, await _find(app, actor, space)))


@command(group, render=lambda member: _member_table([member]))
async def add_member(
    app: Remembrancer,
    space: SpaceArgument,
    member: UserArgument,
    user: RequiredUser,
    role: Annotated[SpaceRole, typer.Option(help="The member's role.")] = SpaceRole.MEMBER,
) -> Addition:
    """Add a member to a space. The user must be an owner.

    A user who left or declined is not added: invite them.

    Examples:
      remembrancer spaces add-member Gran Bob --user Ada
    """
    actor = await actor_for(app, user)
    addition = MemberAdd(user_id=await find_user(app, member), role=role)
    return await app.spaces.add_member(actor, await _find(app, actor, space), addition)


@command(group)
async def remove_member(
    app: Remembrancer, space: SpaceArgument, member: UserArgument, user: RequiredUser
) -> None:
    """Remove a member from a space. The user must be an owner. Shared memories stay shared.

    Examples:
      remembrancer spaces remove-member Gran Bob --user Ada
    """
    actor = await actor_for(app, user)
    space_id = await _find(app, actor, space)
    await app.spaces.remove_member(actor, space_id, await find_user(app, member))
    console().print("Removed.")


@command(group, render=lambda invitation: _invitation_table([invitation]))
async def invite(
    app: Remembrancer,
    space: SpaceArgument,
    member: UserArgument,
    user: RequiredUser,
    role: Annotated[SpaceRole, typer.Option(help="The member's role.")] = SpaceRole.MEMBER,
) -> Invitation:
    """Invite somebody into a space, who is a member once they accept. The user must be an owner.

    Examples:
      remembrancer spaces invite Gran Bob --user Ada
    """
    actor = await actor_for(app, user)
    addition = MemberAdd(user_id=await find_user(app, member), role=role)
    return await app.spaces.invite(actor, await _find(app, actor, space), addition)


@command(group, render=_invitation_table)
async def sent_invitations(
    app: Remembrancer, space: SpaceArgument, user: RequiredUser
) -> list[Invitation]:
    """List the open invitations into a space. The user must be an owner.

    Examples:
      remembrancer spaces sent-invitations Gran --user Ada
    """
    actor = await actor_for(app, user)
    space_id = await _find(app, actor, space)
    return await all_items(partial(app.spaces.sent_invitations, actor, space_id))


@command(group)
async def withdraw(
    app: Remembrancer,
    space: SpaceArgument,
    invitee: Annotated[str, typer.Argument(help="As `spaces sent-invitations` shows them.")],
    user: RequiredUser,
) -> None:
    """Withdraw an invitation. The user must be an owner.

    Examples:
      remembrancer spaces withdraw Gran discord:1844 --user Ada
    """
    actor = await actor_for(app, user)
    await app.spaces.withdraw(actor, await _find(app, actor, space), invitee)
    console().print("Withdrawn.")


@command(group, render=_invitation_table)
async def invitations(app: Remembrancer, user: RequiredUser) -> list[Invitation]:
    """List the open invitations of a user.

    Examples:
      remembrancer spaces invitations --user Bob
    """
    return await all_items(partial(app.spaces.invitations, await actor_for(app, user)))


@command(group, render=lambda space: _table([space]))
async def accept(app: Remembrancer, space_id: SpaceId, user: RequiredUser) -> Space:
    """Accept an invitation of a user: they are a member from now on.

    Examples:
      remembrancer spaces accept SPACE --user Bob
    """
    return await app.spaces.accept(await actor_for(app, user), space_id)


@command(group)
async def decline(app: Remembrancer, space_id: SpaceId, user: RequiredUser) -> None:
    """Decline an invitation of a user, who is shown no further one into this space.

    Examples:
      remembrancer spaces decline SPACE --user Bob
    """
    await app.spaces.decline(await actor_for(app, user), space_id)
    console().print("Declined.")


@command(group)
async def leave(app: Remembrancer, space: SpaceArgument, user: RequiredUser) -> None:
    """Leave a space. Nobody adds the user again without their yes.

    Examples:
      remembrancer spaces leave Gran --user Bob
    """
    actor = await actor_for(app, user)
    await app.spaces.leave(actor, await _find(app, actor, space))
    console().print("Left.")


@command(group, render=_fact_table)
async def facts(app: Remembrancer, space: SpaceArgument, user: RequiredUser) -> list[Fact]:
    """List what is stored in a space: the user's own memories and those shared with them.

    Examples:
      remembrancer spaces facts Gran --user Ada
    """
    actor = await actor_for(app, user)
    return await all_items(partial(app.facts.list, actor, await _find(app, actor, space)))


@command(group, render=_stored)
async def add_fact(
    app: Remembrancer,
    space: SpaceArgument,
    content: Annotated[str, typer.Argument(help="A statement.")],
    user: RequiredUser,
    shared: Annotated[bool, typer.Option("--shared", help="All members may read it.")] = False,
) -> RememberResult:
    """Store a statement in a space. Without --shared it is the user's alone.

    Examples:
      remembrancer spaces add-fact Gran 'Gran was born in 1931.' --user Ada --shared
    """
    actor = await actor_for(app, user)
    visibility = Visibility.SHARED if shared else Visibility.PRIVATE
    fact = validate(FactCreate, content=content, visibility=visibility)
    return await app.facts.add(actor, await _find(app, actor, space), fact, source="cli")


@command(group, render=_visibility)
async def share(app: Remembrancer, memory_id: MemoryId, user: RequiredUser) -> Memory:
    """Share a memory with the members of its space. The user must be its author.

    Examples:
      remembrancer spaces share a1B2c3D4 --user Ada
    """
    actor = await actor_for(app, user)
    return await app.facts.set_visibility(actor, memory_id, Visibility.SHARED)


@command(group, render=_visibility)
async def unshare(app: Remembrancer, memory_id: MemoryId, user: RequiredUser) -> Memory:
    """Make a shared memory private again. The user must be its author.

    Examples:
      remembrancer spaces unshare a1B2c3D4 --user Ada
    """
    actor = await actor_for(app, user)
    return await app.facts.set_visibility(actor, memory_id, Visibility.PRIVATE)


async def _spaces(app: Remembrancer, actor: Actor) -> list[Space]:
    return await all_items(partial(app.spaces.list, actor))


async def _find(app: Remembrancer, actor: Actor, name: str) -> UUID:
    """Return the id of one of the actor's spaces; raise ``InvalidInput`` if ambiguous."""
    return parse_id(name) or only_id(await _spaces(app, actor), name, "space")
