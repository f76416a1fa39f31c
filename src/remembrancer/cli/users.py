"""``users``: people and the platforms they speak from."""

from collections.abc import Sequence
from typing import Annotated

import typer

from remembrancer.app import Remembrancer
from remembrancer.cli.output import as_json, console, day, table
from remembrancer.cli.people import find_user
from remembrancer.cli.running import SERVICE, with_store
from remembrancer.users.schemas import PlatformLink, ResolveUser, User

app = typer.Typer(help="People and the platforms they speak from.", no_args_is_help=True)

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Whom = Annotated[
    str, typer.Argument(help="Id, platform:platform_user_id, or a name that only one has.")
]


@app.command("list")
def list_(
    context: typer.Context,
    limit: Annotated[int, typer.Option(min=1, help="Most users.")] = 50,
    json: Json = False,
) -> None:
    """List users in the order they were first seen."""

    async def work(memory: Remembrancer) -> list[User]:
        found: list[User] = []
        cursor = None
        while len(found) < limit:
            size = min(200, limit - len(found))
            page = await memory.users.list(SERVICE, limit=size, cursor=cursor)
            found += page.items
            if (cursor := page.next_cursor) is None:
                break
        return found

    _show(with_store(context, work), json)


@app.command()
def show(context: typer.Context, user: Whom, json: Json = False) -> None:
    """Show one user."""

    async def work(memory: Remembrancer) -> User:
        return await memory.users.get(SERVICE, await find_user(memory, user))

    _show_one(with_store(context, work), json)


@app.command()
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

    async def work(memory: Remembrancer) -> User:
        return await memory.users.resolve(SERVICE, who)

    _show_one(with_store(context, work), json)


@app.command()
def link(
    context: typer.Context,
    user: Whom,
    platform: Annotated[str, typer.Argument(help="Such as telegram.")],
    platform_user_id: Annotated[str, typer.Argument(help="Who they are there.")],
    json: Json = False,
) -> None:
    """Say that a platform id is this user."""
    added = PlatformLink(platform=platform, platform_user_id=platform_user_id)

    async def work(memory: Remembrancer) -> User:
        return await memory.users.link(SERVICE, await find_user(memory, user), added)

    _show_one(with_store(context, work), json)


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
