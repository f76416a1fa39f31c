"""``spaces``: create spaces, manage members, share memories."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated
from uuid import UUID

import typer

from remembrancer.access import Actor, SpaceRole, Visibility
from remembrancer.app import Remembrancer
from remembrancer.cli.actors import actor_for, find_user, only_id, parse_id
from remembrancer.cli.command import command
from remembrancer.cli.options import RequiredUser, UserArgument
from remembrancer.cli.output import console, day, table
from remembrancer.memories.schemas import Memory
from remembrancer.paging import all_items
from remembrancer.spaces.schemas import Member, MemberAdd, Space, SpaceCreate

group = typer.Typer(help="Spaces, in which users share memories.", no_args_is_help=True)

SpaceArgument = Annotated[
    str, typer.Argument(help="Id, or a name that is unique among the user's spaces.")
]
MemoryId = Annotated[str, typer.Argument(help="Id of a memory that the user wrote in a space.")]


def _table(spaces: Sequence[Space]) -> object:
    rows = [
        [str(space.id), space.name, space.role, str(space.member_count), day(space.created_at)]
        for space in spaces
    ]
    return table("Id", "Name", "Role", "Members", "Created", rows=rows)


def _member_table(member: Member) -> object:
    row = [str(member.user_id), member.display_name, member.role, day(member.joined_at)]
    return table("Id", "Name", "Role", "Joined", rows=[row])


def _visibility(memory: Memory) -> str:
    return f"{memory.id} is {memory.visibility.value} now."


@command(group, "list", render=_table)
async def list_(app: Remembrancer, user: RequiredUser) -> list[Space]:
    """List the spaces of a user."""
    return await _spaces(app, await actor_for(app, user))


@command(group, render=lambda space: _table([space]))
async def create(
    app: Remembrancer,
    name: Annotated[str, typer.Argument(help="Its name.")],
    user: RequiredUser,
    description: Annotated[str, typer.Option(help="A description.")] = "",
    member: Annotated[list[str] | None, typer.Option(help="A member; repeatable.")] = None,
) -> Space:
    """Create a space. The user owns it."""
    member_ids = [await find_user(app, name) for name in member or ()]
    space = SpaceCreate(name=name, description=description, member_ids=member_ids)
    return await app.spaces.create(await actor_for(app, user), space)


@command(group, render=_member_table)
async def add_member(
    app: Remembrancer,
    space: SpaceArgument,
    member: UserArgument,
    user: RequiredUser,
    role: Annotated[SpaceRole, typer.Option(help="The member's role.")] = SpaceRole.MEMBER,
) -> Member:
    """Add a member to a space. The user must be an owner."""
    actor = await actor_for(app, user)
    addition = MemberAdd(user_id=await find_user(app, member), role=role)
    return await app.spaces.add_member(actor, await _find(app, actor, space), addition)


@command(group)
async def remove_member(
    app: Remembrancer, space: SpaceArgument, member: UserArgument, user: RequiredUser
) -> None:
    """Remove a member from a space. The user must be an owner. Shared memories stay shared."""
    actor = await actor_for(app, user)
    space_id = await _find(app, actor, space)
    await app.spaces.remove_member(actor, space_id, await find_user(app, member))
    console().print("Removed.")


@command(group, render=_visibility)
async def share(app: Remembrancer, memory_id: MemoryId, user: RequiredUser) -> Memory:
    """Share a memory with the members of its space. The user must be its author."""
    actor = await actor_for(app, user)
    return await app.facts.set_visibility(actor, memory_id, Visibility.SHARED)


@command(group, render=_visibility)
async def unshare(app: Remembrancer, memory_id: MemoryId, user: RequiredUser) -> Memory:
    """Make a shared memory private again. The user must be its author."""
    actor = await actor_for(app, user)
    return await app.facts.set_visibility(actor, memory_id, Visibility.PRIVATE)


async def _spaces(app: Remembrancer, actor: Actor) -> list[Space]:
    return await all_items(partial(app.spaces.list, actor))


async def _find(app: Remembrancer, actor: Actor, name: str) -> UUID:
    """Return the id of one of the actor's spaces; raise ``InvalidInput`` if ambiguous."""
    return parse_id(name) or only_id(await _spaces(app, actor), name, "space")
