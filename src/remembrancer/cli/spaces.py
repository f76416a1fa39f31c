"""``spaces``: what several people keep facts about, and who sees them."""

from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

import typer

from remembrancer.access import Actor, SpaceRole, Visibility
from remembrancer.app import Remembrancer
from remembrancer.cli.actors import actor_for, find_user
from remembrancer.cli.output import as_json, console, day, table
from remembrancer.cli.runtime import with_store
from remembrancer.errors import InvalidInput
from remembrancer.memories.schemas import Memory
from remembrancer.spaces.schemas import Member, MemberAdd, Space, SpaceCreate

group = typer.Typer(help="Spaces: what several people keep facts about.", no_args_is_help=True)

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
As = Annotated[
    str,
    typer.Option("--user", help="As whom: id, platform:platform_user_id, or a name only one has."),
]
Which = Annotated[str, typer.Argument(help="Id, or a name that only one of the user's spaces has.")]
Whom = Annotated[
    str, typer.Argument(help="Id, platform:platform_user_id, or a name that only one has.")
]
Fact = Annotated[str, typer.Argument(help="Id of one of the user's own memories in a space.")]


@group.command("list")
def list_(context: typer.Context, user: As, json: Json = False) -> None:
    """List the spaces a user is a member of."""

    async def work(app: Remembrancer) -> list[Space]:
        return await _all(app, await actor_for(app, user, None))

    _show(with_store(context, work), json)


@group.command()
def create(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="What it is called.")],
    user: As,
    description: Annotated[str, typer.Option(help="What it is about.")] = "",
    member: Annotated[list[str] | None, typer.Option(help="Who joins; may be repeated.")] = None,
    json: Json = False,
) -> None:
    """Make a space; the user owns it."""

    async def work(app: Remembrancer) -> Space:
        actor = await actor_for(app, user, None)
        joining = [await find_user(app, one) for one in member or ()]
        space = SpaceCreate(name=name, description=description, member_ids=joining)
        return await app.spaces.create(actor, space)

    made = with_store(context, work)
    if json:
        as_json(made)
    else:
        _show([made], json)


@group.command("add-member")
def add_member(
    context: typer.Context,
    space: Which,
    member: Whom,
    user: As,
    role: Annotated[SpaceRole, typer.Option(help="What they are in it.")] = SpaceRole.MEMBER,
    json: Json = False,
) -> None:
    """Let somebody join a space, as its owner."""

    async def work(app: Remembrancer) -> Member:
        actor = await actor_for(app, user, None)
        joining = MemberAdd(user_id=await find_user(app, member), role=role)
        return await app.spaces.add_member(actor, await _find(app, actor, space), joining)

    added = with_store(context, work)
    if json:
        as_json(added)
    else:
        rows = [[str(added.user_id), added.display_name, added.role, day(added.joined_at)]]
        console().print(table("Id", "Name", "Role", "Joined", rows=rows))


@group.command("remove-member")
def remove_member(context: typer.Context, space: Which, member: Whom, user: As) -> None:
    """Take somebody out of a space, as its owner; what they shared stays shared."""

    async def work(app: Remembrancer) -> None:
        actor = await actor_for(app, user, None)
        space_id = await _find(app, actor, space)
        await app.spaces.remove_member(actor, space_id, await find_user(app, member))

    with_store(context, work)
    console().print("Removed.")


@group.command()
def share(context: typer.Context, memory_id: Fact, user: As, json: Json = False) -> None:
    """Show a fact to the members of its space, as its author."""
    _set(context, memory_id, user, Visibility.SHARED, json)


@group.command()
def unshare(context: typer.Context, memory_id: Fact, user: As, json: Json = False) -> None:
    """Make a fact private again, as its author."""
    _set(context, memory_id, user, Visibility.PRIVATE, json)


def _set(
    context: typer.Context, memory_id: str, user: str, visibility: Visibility, json: bool
) -> None:
    async def work(app: Remembrancer) -> Memory:
        actor = await actor_for(app, user, None)
        return await app.facts.set_visibility(actor, memory_id, visibility)

    changed = with_store(context, work)
    if json:
        as_json(changed)
    else:
        console().print(f"{changed.id} is {changed.visibility.value} now.")


async def _all(app: Remembrancer, actor: Actor) -> list[Space]:
    found: list[Space] = []
    cursor = None
    while True:
        page = await app.spaces.list(actor, limit=200, cursor=cursor)
        found += page.items
        if (cursor := page.next_cursor) is None:
            return found


async def _find(app: Remembrancer, actor: Actor, named: str) -> UUID:
    """Return the one space of the user that is meant; ``InvalidInput`` if that is not clear."""
    try:
        return UUID(named)
    except ValueError:
        found = [
            space for space in await _all(app, actor) if space.name.casefold() == named.casefold()
        ]
    if len(found) == 1:
        return found[0].id
    reason = "several spaces have this name; give an id" if found else "no space has this name"
    raise InvalidInput(reason, field="space")


def _show(spaces: Sequence[Space], json: bool) -> None:
    if json:
        as_json(spaces)
        return
    rows = [
        [str(space.id), space.name, space.role, str(space.member_count), day(space.created_at)]
        for space in spaces
    ]
    console().print(table("Id", "Name", "Role", "Members", "Made", rows=rows))
