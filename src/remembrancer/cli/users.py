"""``users``: people and the platforms they speak from."""

from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

import typer

from remembrancer.app import Remembrancer
from remembrancer.cli.actors import find_user
from remembrancer.cli.output import as_json, console, day, table
from remembrancer.cli.runtime import SERVICE, with_store
from remembrancer.identity.schemas import LinkResult, Merge
from remembrancer.users.schemas import PlatformLink, ResolveUser, User

group = typer.Typer(help="People and the platforms they speak from.", no_args_is_help=True)

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Whom = Annotated[
    str, typer.Argument(help="Id, platform:platform_user_id, or a name that only one has.")
]


@group.command("list")
def list_(
    context: typer.Context,
    limit: Annotated[int, typer.Option(min=1, help="Most users.")] = 50,
    json: Json = False,
) -> None:
    """List users in the order they were first seen."""

    async def work(app: Remembrancer) -> list[User]:
        found: list[User] = []
        cursor = None
        while len(found) < limit:
            size = min(200, limit - len(found))
            page = await app.users.list(SERVICE, limit=size, cursor=cursor)
            found += page.items
            if (cursor := page.next_cursor) is None:
                break
        return found

    _show(with_store(context, work), json)


@group.command()
def show(context: typer.Context, user: Whom, json: Json = False) -> None:
    """Show one user."""

    async def work(app: Remembrancer) -> User:
        return await app.users.get(SERVICE, await find_user(app, user))

    _show_one(with_store(context, work), json)


@group.command()
def resolve(
    context: typer.Context,
    platform: Annotated[str, typer.Argument(help="Such as discord.")],
    platform_user_id: Annotated[str, typer.Argument(help="Who they are there.")],
    name: Annotated[str, typer.Option(help="Their name, as last known.")],
    time_zone: Annotated[str | None, typer.Option(help="Such as Europe/Paris.")] = None,
    json: Json = False,
) -> None:
    """Show the user behind a platform id; the first time, create them."""
    who = ResolveUser(
        platform=platform,
        platform_user_id=platform_user_id,
        display_name=name,
        time_zone=time_zone,
    )

    async def work(app: Remembrancer) -> User:
        return await app.users.resolve(SERVICE, who)

    _show_one(with_store(context, work), json)


@group.command()
def link(
    context: typer.Context,
    user: Whom,
    platform: Annotated[str, typer.Argument(help="Such as telegram.")],
    platform_user_id: Annotated[str, typer.Argument(help="Who they are there.")],
    json: Json = False,
) -> None:
    """Say that a platform id is this user; merges them with whoever it belongs to."""
    added = PlatformLink(platform=platform, platform_user_id=platform_user_id)

    async def work(app: Remembrancer) -> LinkResult:
        return await app.users.link(SERVICE, await find_user(app, user), added)

    linked = with_store(context, work)
    _show_one(linked, json)
    if linked.merge is not None and not json:
        _tell(linked.merge)


@group.command()
def unlink(
    context: typer.Context,
    user: Whom,
    platform: Annotated[str, typer.Argument(help="Such as telegram.")],
    platform_user_id: Annotated[str, typer.Argument(help="Who they are there.")],
) -> None:
    """Take a platform id from a user; what was remembered stays with the user."""
    link = PlatformLink(platform=platform, platform_user_id=platform_user_id)

    async def work(app: Remembrancer) -> None:
        await app.users.unlink(SERVICE, await find_user(app, user), link)

    with_store(context, work)
    console().print("Unlinked.")


@group.command()
def merge(
    context: typer.Context,
    user: Whom,
    other: Annotated[str, typer.Argument(help="Who is the same person, and becomes the first.")],
    json: Json = False,
) -> None:
    """Merge two users who are one person into the first."""

    async def work(app: Remembrancer) -> Merge:
        survivor, merged = await find_user(app, user), await find_user(app, other)
        return await app.users.merge(SERVICE, survivor, merged)

    done = with_store(context, work)
    if json:
        as_json(done)
    else:
        _tell(done)


@group.command()
def unmerge(
    context: typer.Context,
    user: Whom,
    undo_id: Annotated[UUID, typer.Argument(help="As the merge printed it.")],
) -> None:
    """Take a merge back: two people again, each with what was theirs."""

    async def work(app: Remembrancer) -> Merge:
        return await app.users.undo_merge(SERVICE, await find_user(app, user), undo_id)

    console().print(f"{with_store(context, work).merged_id} is somebody else again.")


def _tell(merge: Merge) -> None:
    moved = ", ".join(
        f"{count:,} {name.replace('_', ' ')}" for name, count in merge.counts if count
    )
    console().print(f"Merged {merge.merged_id} into {merge.survivor_id}: {moved or 'nothing'}.")
    console().print(
        f"To take it back: remembrancer users unmerge {merge.survivor_id} {merge.undo_id}"
    )


def _show_one(user: User, json: bool) -> None:
    if json:
        as_json(user)
    else:
        _show([user], json)


def _show(users: Sequence[User], json: bool) -> None:
    if json:
        as_json(users)
        return
    rows = [
        [str(user.id), user.display_name, user.time_zone, _links(user), day(user.created_at)]
        for user in users
    ]
    console().print(table("Id", "Name", "Time zone", "Speaks from", "First seen", rows=rows))


def _links(user: User) -> str:
    return ", ".join(f"{link.platform}:{link.platform_user_id}" for link in user.platform_links)
