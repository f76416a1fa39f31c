"""``keys``: list, create, rotate and revoke API keys."""

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import Group
from rich.text import Text

from remembrancer.access import Role
from remembrancer.app import Remembrancer
from remembrancer.cli.actors import find_user
from remembrancer.cli.command import command
from remembrancer.cli.options import ExpiresAt, UserOption, in_utc
from remembrancer.cli.output import Rows, day, table
from remembrancer.cli.runtime import ADMIN
from remembrancer.errors import InvalidInput
from remembrancer.keys.schemas import DEFAULT_GRACE, LONGEST_GRACE, Key, KeyCreate, NewKey, is_past

KeyArgument = Annotated[str, typer.Argument(help="Id of a key, or the name of a valid one.")]

group = typer.Typer()


def _table(keys: Sequence[Key]) -> Rows:
    rows = [
        [
            str(k.id),
            k.name,
            k.role.value,
            str(k.user_id or ""),
            day(k.created_at),
            day(k.last_used_at),
            _status(k),
        ]
        for k in keys
    ]
    return table(
        "Id",
        "Name",
        "Role",
        "User",
        "Created",
        "Last used",
        "Status",
        rows=rows,
        empty="There are no keys yet. To create one: remembrancer keys create NAME",
    )


def _status(key: Key) -> str:
    if key.revoked_at:
        return f"revoked {day(key.revoked_at)}"
    if key.expires_at:
        return f"{'expired' if is_past(key.expires_at) else 'until'} {day(key.expires_at)}"
    return "valid"


def _with_secret(key: NewKey) -> Group:
    secret = Text.assemble("The secret, shown only once: ", (key.secret, "bold"))
    return Group(_table([key]), secret)


@command(group, "list", render=_table)
async def list_(app: Remembrancer) -> Sequence[Key]:
    """List all keys, without their secrets.

    Examples:
      remembrancer keys list
    """
    return (await app.keys.list(ADMIN)).items


@command(group, render=_with_secret)
async def create(
    app: Remembrancer,
    name: Annotated[str, typer.Argument(help="What it is for, such as 'discord bot'.")],
    role: Annotated[
        Role,
        typer.Option(
            help="user: acts for one person. service: a bot, acts for all. admin: manages keys too."
        ),
    ] = Role.SERVICE,
    user: UserOption = None,
    expires_at: ExpiresAt = None,
) -> NewKey:
    """Create a key. Its secret is shown only once.

    Examples:
      remembrancer keys create 'discord bot'
      remembrancer keys create 'ada phone' --role user --user Ada
    """
    if (role is Role.USER) != (user is not None):
        raise InvalidInput("is required for the role user, and only for it", field="user")
    key = KeyCreate(
        name=name,
        role=role,
        user_id=await find_user(app, user) if user is not None else None,
        expires_at=in_utc(expires_at),
    )
    return await app.keys.create(ADMIN, key)


@command(group, render=_with_secret)
async def rotate(
    app: Remembrancer,
    key: KeyArgument,
    grace: Annotated[
        int,
        typer.Option(
            min=0, max=LONGEST_GRACE, help="Seconds for which the old secret still works."
        ),
    ] = DEFAULT_GRACE,
) -> NewKey:
    """Replace a key with a new one of its name. The new secret is shown only once.

    Examples:
      remembrancer keys rotate 'discord bot'
      remembrancer keys rotate 'discord bot' --grace 0
    """
    return await app.keys.rotate(ADMIN, key, grace=grace)


@command(group, render=lambda key: _table([key]))
async def revoke(app: Remembrancer, key: KeyArgument) -> Key:
    """Revoke a key: it is refused from now on.

    Examples:
      remembrancer keys revoke 'discord bot'
    """
    return await app.keys.revoke(ADMIN, key)
