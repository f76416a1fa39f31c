"""``users``: list, resolve, link, merge, export and erase users."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated
from uuid import UUID

import typer
from rich.console import Group

from remembrancer.app import Remembrancer
from remembrancer.cli.actors import find_user
from remembrancer.cli.command import command
from remembrancer.cli.erasure import erasure
from remembrancer.cli.options import UserArgument
from remembrancer.cli.output import Rows, console, day, new_file, progress, table
from remembrancer.cli.runtime import SERVICE, with_store
from remembrancer.erasure.schemas import Receipt
from remembrancer.identity.schemas import LinkResult, Merge
from remembrancer.paging import all_items
from remembrancer.portability.schemas import ExportFormat
from remembrancer.text import plural
from remembrancer.users.schemas import PlatformLink, ResolveUser, User

group = typer.Typer()

Platform = Annotated[str, typer.Argument(help="The platform, such as telegram.")]
PlatformUserId = Annotated[str, typer.Argument(help="The user's id on the platform.")]


def _table(users: Sequence[User]) -> Rows:
    rows = [
        [str(user.id), user.display_name, user.time_zone, _links(user), day(user.created_at)]
        for user in users
    ]
    return table(
        "Id",
        "Name",
        "Time zone",
        "Platform ids",
        "First seen",
        rows=rows,
        empty="There are no users yet. To create one: "
        "remembrancer users resolve PLATFORM ID --name NAME",
    )


def _links(user: User) -> str:
    return ", ".join(f"{link.platform}:{link.platform_user_id}" for link in user.platform_links)


def _row(user: User) -> Rows:
    return _table([user])


def _linked(result: LinkResult) -> Group:
    merge = [_merged(result.merge)] if result.merge else []
    return Group(_row(result), *merge)


def _merged(merge: Merge) -> str:
    moved = ", ".join(
        f"{name.replace('_', ' ')} {count:,}" for name, count in merge.counts if count
    )
    undo = f"remembrancer users undo-merge {merge.survivor_id} {merge.undo_id}"
    return (
        f"Merged {merge.merged_id} into {merge.survivor_id}. Moved: {moved or 'nothing'}.\n"
        f"To undo: {undo}"
    )


@command(group, "list", render=_table)
async def list_(
    app: Remembrancer,
    limit: Annotated[int, typer.Option(min=1, help="How many users at most.")] = 50,
) -> list[User]:
    """List users, the oldest first.

    Examples:
      remembrancer users list
    """
    return await all_items(partial(app.users.list, SERVICE), limit)


@command(group, render=_row)
async def show(app: Remembrancer, user: UserArgument) -> User:
    """Show a user.

    Examples:
      remembrancer users show Ada
      remembrancer users show discord:1844 --json
    """
    return await app.users.get(SERVICE, await find_user(app, user))


@command(group, render=_row)
async def resolve(
    app: Remembrancer,
    platform: Platform,
    platform_user_id: PlatformUserId,
    name: Annotated[str, typer.Option(help="The user's name.")],
    time_zone: Annotated[
        str | None, typer.Option(help="The user's time zone, such as Europe/Paris.")
    ] = None,
) -> User:
    """Create a user by the id that a platform has for them, or show them if they are known.

    A platform is a place where people speak, such as discord, telegram or your own app.

    Examples:
      remembrancer users resolve discord 1844 --name Ada --time-zone Europe/Paris
    """
    request = ResolveUser(
        platform=platform,
        platform_user_id=platform_user_id,
        display_name=name,
        time_zone=time_zone,
    )
    return await app.users.resolve(SERVICE, request)


@command(group, render=_linked)
async def link(
    app: Remembrancer, user: UserArgument, platform: Platform, platform_user_id: PlatformUserId
) -> LinkResult:
    """Link a platform's id to a user. If it belongs to another user, merge the two.

    Examples:
      remembrancer users link Ada telegram 7730
    """
    link = PlatformLink(platform=platform, platform_user_id=platform_user_id)
    return await app.users.link(SERVICE, await find_user(app, user), link)


@command(group)
async def unlink(
    app: Remembrancer, user: UserArgument, platform: Platform, platform_user_id: PlatformUserId
) -> None:
    """Remove a platform's id from a user. The user keeps all memories.

    Examples:
      remembrancer users unlink Ada telegram 7730
    """
    link = PlatformLink(platform=platform, platform_user_id=platform_user_id)
    await app.users.unlink(SERVICE, await find_user(app, user), link)
    console().print("Unlinked.")


@command(group, render=_merged)
async def merge(
    app: Remembrancer,
    user: UserArgument,
    other: Annotated[str, typer.Argument(help="The user to merge into the first.")],
) -> Merge:
    """Merge two users who are the same person. The first one remains.

    Examples:
      remembrancer users merge Ada telegram:7730
    """
    survivor, merged = await find_user(app, user), await find_user(app, other)
    return await app.users.merge(SERVICE, survivor, merged)


@command(group)
async def undo_merge(
    app: Remembrancer,
    user: UserArgument,
    undo_id: Annotated[UUID, typer.Argument(help="The id that the merge printed.")],
) -> None:
    """Undo a merge: the two users are separate again, each with their own data.

    Examples:
      remembrancer users undo-merge Ada UNDO
    """
    merge = await app.users.undo_merge(SERVICE, await find_user(app, user), undo_id)
    console().print(f"{merge.merged_id} is a separate user again.")


@group.command()
def export(
    context: typer.Context,
    user: UserArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="A new file.")],
    format: Annotated[  # noqa: A002
        ExportFormat, typer.Option(help="Format of the file.")
    ] = ExportFormat.JSON,
) -> None:
    """Write everything of a user to a file: JSON Lines, notes in Markdown, or JSON-LD.

    `remembrancer import` brings it back.

    Examples:
      remembrancer users export Ada --output ada.jsonl
      remembrancer users export Ada --format markdown --output ada.zip
    """

    async def work(app: Remembrancer) -> int:
        user_id = await find_user(app, user)
        size = 0
        with output.open("xb") as file, progress() as bar:
            task = bar.add_task("Bytes", total=None)
            async for part in app.users.export(SERVICE, user_id, format=format):
                file.write(part)
                size += len(part)
                bar.update(task, completed=size)
        return size

    new_file(output)
    try:
        size = with_store(context, work)
    except BaseException:
        # An incomplete export could be mistaken for a complete one.
        output.unlink(missing_ok=True)
        raise
    console().print(f"{plural(size, 'byte')} written to {output}.")


@erasure(group)
async def erase(
    app: Remembrancer,
    user: UserArgument,
    memories_only: Annotated[
        bool,
        typer.Option(
            "--memories-only", help="Keep the user, their platforms, preferences and spaces."
        ),
    ] = False,
    *,
    dry_run: bool,
) -> Receipt:
    """Delete all data about a user for good: messages, memories, profile.

    Examples:
      remembrancer users erase Ada
      remembrancer users erase Ada --apply
    """
    user_id = await find_user(app, user)
    return await app.users.erase(SERVICE, user_id, dry_run=dry_run, memories_only=memories_only)
