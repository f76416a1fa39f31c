"""``keys``: list, create and revoke API keys."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated
from uuid import UUID

import typer
from rich.text import Text

from remembrancer.access import Role
from remembrancer.app import Remembrancer
from remembrancer.cli.actors import find_user
from remembrancer.cli.options import Json, UserOption
from remembrancer.cli.output import console, day, show, table
from remembrancer.cli.runtime import ADMIN, with_store
from remembrancer.errors import InvalidInput
from remembrancer.keys.schemas import Key, KeyCreate, NewKey

group = typer.Typer(help="API keys of the server.", no_args_is_help=True)


@group.command("list")
def list_(context: typer.Context, json: Json = False) -> None:
    """List all keys, without their secrets."""

    async def work(app: Remembrancer) -> Sequence[Key]:
        return await app.keys.list(ADMIN)

    show(with_store(context, work), json, _table)


@group.command()
def create(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Its purpose, such as 'discord bot'.")],
    role: Annotated[Role, typer.Option(help="Its role.")] = Role.SERVICE,
    user: UserOption = None,
    expires_at: Annotated[
        datetime | None, typer.Option(help="Expiry time, in UTC. Default: never.")
    ] = None,
    json: Json = False,
) -> None:
    """Create a key. Its secret is shown only once."""
    if (role is Role.USER) != (user is not None):
        raise InvalidInput("is required for the role user, and only for it", field="user")

    async def work(app: Remembrancer) -> NewKey:
        request = KeyCreate(
            name=name,
            role=role,
            user_id=await find_user(app, user) if user is not None else None,
            expires_at=expires_at.replace(tzinfo=UTC) if expires_at else None,
        )
        return await app.keys.create(ADMIN, request)

    key = with_store(context, work)
    show(key, json, _row)
    if not json:
        secret = Text.assemble("The secret, shown only once: ", (key.secret, "bold"))
        console().print(secret, soft_wrap=True)


@group.command()
def revoke(
    context: typer.Context,
    key_id: Annotated[UUID, typer.Argument(help="The id in `keys list`.")],
    json: Json = False,
) -> None:
    """Revoke a key."""

    async def work(app: Remembrancer) -> Key:
        return await app.keys.revoke(ADMIN, key_id)

    show(with_store(context, work), json, _row)


def _row(key: Key) -> object:
    return _table([key])


def _table(keys: Sequence[Key]) -> object:
    rows = [
        [
            str(key.id),
            key.name,
            key.role.value,
            str(key.user_id or ""),
            day(key.created_at),
            _status(key),
        ]
        for key in keys
    ]
    return table("Id", "Name", "Role", "User", "Created", "Status", rows=rows)


def _status(key: Key) -> str:
    if key.revoked_at:
        return f"revoked {day(key.revoked_at)}"
    if key.expires_at:
        expired = key.expires_at <= datetime.now(UTC)
        return f"{'expired' if expired else 'until'} {day(key.expires_at)}"
    return "valid"
