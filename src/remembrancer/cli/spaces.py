"""``spaces``: create spaces, manage members, share memories."""

from collections.abc import Awaitable, Sequence
from typing import Annotated
from uuid import UUID

import typer

from remembrancer.access import Actor, SpaceRole, Visibility
from remembrancer.app import Remembrancer
from remembrancer.cli.actors import actor_for, all_items, find_user, parse_id
from remembrancer.cli.options import Json, RequiredUser, UserArgument
from remembrancer.cli.output import console, day, show, table
from remembrancer.cli.runtime import with_store
from remembrancer.errors import InvalidInput
from remembrancer.memories.schemas import Memory
from remembrancer.paging import Page
from remembrancer.spaces.schemas import Member, MemberAdd, Space, SpaceCreate

group = typer.Typer(help="Spaces, in which users share memories.", no_args_is_help=True)

SpaceArgument = Annotated[
    str, typer.Argument(help="Id, or a name that is unique among the user's spaces.")
]
MemoryId = Annotated[str, typer.Argument(help="Id of a memory that the user wrote in a space.")]


@group.command("list")
def list_(context: typer.Context, user: RequiredUser, json: Json = False) -> None:
    """List the spaces of a user."""

    async def work(app: Remembrancer) -> list[Space]:
        return await _spaces(app, await actor_for(app, user))

    show(with_store(context, work), json, _table)


@group.command()
def create(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Its name.")],
    user: RequiredUser,
    description: Annotated[str, typer.Option(help="A description.")] = "",
    member: Annotated[list[str] | None, typer.Option(help="A member; repeatable.")] = None,
    json: Json = False,
) -> None:
    """Create a space. The user owns it."""

    async def work(app: Remembrancer) -> Space:
        actor = await actor_for(app, user)
        member_ids = [await find_user(app, name) for name in member or ()]
        space = SpaceCreate(name=name, description=description, member_ids=member_ids)
        return await app.spaces.create(actor, space)

    show(with_store(context, work), json, lambda space: _table([space]))


@group.command("add-member")
def add_member(
    context: typer.Context,
    space: SpaceArgument,
    member: UserArgument,
    user: RequiredUser,
    role: Annotated[SpaceRole, typer.Option(help="The member's role.")] = SpaceRole.MEMBER,
    json: Json = False,
) -> None:
    """Add a member to a space. The user must be an owner."""

    async def work(app: Remembrancer) -> Member:
        actor = await actor_for(app, user)
        addition = MemberAdd(user_id=await find_user(app, member), role=role)
        return await app.spaces.add_member(actor, await _find(app, actor, space), addition)

    show(with_store(context, work), json, _member)


def _member(member: Member) -> object:
    rows = [[str(member.user_id), member.display_name, member.role, day(member.joined_at)]]
    return table("Id", "Name", "Role", "Joined", rows=rows)


@group.command("remove-member")
def remove_member(
    context: typer.Context, space: SpaceArgument, member: UserArgument, user: RequiredUser
) -> None:
    """Remove a member from a space. The user must be an owner. Shared memories stay shared."""

    async def work(app: Remembrancer) -> None:
        actor = await actor_for(app, user)
        space_id = await _find(app, actor, space)
        await app.spaces.remove_member(actor, space_id, await find_user(app, member))

    with_store(context, work)
    console().print("Removed.")


@group.command()
def share(
    context: typer.Context, memory_id: MemoryId, user: RequiredUser, json: Json = False
) -> None:
    """Share a memory with the members of its space. The user must be its author."""
    _set_visibility(context, memory_id, user, Visibility.SHARED, json)


@group.command()
def unshare(
    context: typer.Context, memory_id: MemoryId, user: RequiredUser, json: Json = False
) -> None:
    """Make a shared memory private again. The user must be its author."""
    _set_visibility(context, memory_id, user, Visibility.PRIVATE, json)


def _set_visibility(
    context: typer.Context, memory_id: str, user: str, visibility: Visibility, json: bool
) -> None:
    async def work(app: Remembrancer) -> Memory:
        return await app.facts.set_visibility(await actor_for(app, user), memory_id, visibility)

    memory = with_store(context, work)
    show(memory, json, lambda memory: f"{memory.id} is {memory.visibility.value} now.")


async def _spaces(app: Remembrancer, actor: Actor) -> list[Space]:
    def load(*, limit: int, cursor: str | None) -> Awaitable[Page[Space]]:
        return app.spaces.list(actor, limit=limit, cursor=cursor)

    return await all_items(load)


async def _find(app: Remembrancer, actor: Actor, name: str) -> UUID:
    """Return the id of one of the actor's spaces; raise ``InvalidInput`` if ambiguous."""
    if space_id := parse_id(name):
        return space_id
    spaces = await _spaces(app, actor)
    matches = [space for space in spaces if space.name.casefold() == name.casefold()]
    if len(matches) == 1:
        return matches[0].id
    reason = "several spaces have this name; give an id" if matches else "no space has this name"
    raise InvalidInput(reason, field="space")


def _table(spaces: Sequence[Space]) -> object:
    rows = [
        [str(space.id), space.name, space.role, str(space.member_count), day(space.created_at)]
        for space in spaces
    ]
    return table("Id", "Name", "Role", "Members", "Created", rows=rows)
