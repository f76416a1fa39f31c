"""``keys``: who may talk to the server, and as what."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated
from uuid import UUID

import typer
from rich.text import Text

from remembrancer.access import Role
from remembrancer.app import Remembrancer
from remembrancer.cli.actors import UserOption, find_user
from remembrancer.cli.output import as_json, console, day, table
from remembrancer.cli.runtime import ADMIN, with_store
from remembrancer.errors import InvalidInput
from remembrancer.keys.schemas import Key, KeyCreate, NewKey

group = typer.Typer(help="API keys: who may talk to the server.", no_args_is_help=True)

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@group.command("list")
def list_(context: typer.Context, json: Json = False) -> None:
    """List all keys, without their secrets."""

    async def work(app: Remembrancer) -> Sequence[Key]:
        return await app.keys.list(ADMIN)

    keys = with_store(context, work)
    if json:
        as_json(keys)
    else:
        _show(keys)


@group.command()
def create(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="What it is for, such as 'discord bot'.")],
    role: Annotated[Role, typer.Option(help="What it may do.")] = Role.SERVICE,
    user: UserOption = None,
    expires_at: Annotated[
        datetime | None, typer.Option(help="When it ends, in UTC; never unless given.")
    ] = None,
    json: Json = False,
) -> None:
    """Make a key. Its secret is shown this once."""
    if (role is Role.USER) != (user is not None):
        raise InvalidInput("is needed for the role user, and for no other", field="user")

    async def work(app: Remembrancer) -> NewKey:
        wanted = KeyCreate(
            name=name,
            role=role,
            user_id=await find_user(app, user) if user is not None else None,
            expires_at=expires_at.replace(tzinfo=UTC) if expires_at else None,
        )
        return await app.keys.create(ADMIN, wanted)

    made = with_store(context, work)
    if json:
        as_json(made)
        return
    _show([made])
    console().print(
        Text.assemble("Its secret, shown this once: ", (made.secret, "bold")), soft_wrap=True
    )


@group.command()
def revoke(
    context: typer.Context,
    key_id: Annotated[UUID, typer.Argument(help="The id that `keys list` shows.")],
    json: Json = False,
) -> None:
    """Make a key worthless from now on."""

    async def work(app: Remembrancer) -> Key:
        return await app.keys.revoke(ADMIN, key_id)

    revoked = with_store(context, work)
    if json:
        as_json(revoked)
    else:
        _show([revoked])


def _show(keys: Sequence[Key]) -> None:
    rows = [
        [
            str(key.id),
            key.name,
            key.role.value,
            str(key.user_id or ""),
            day(key.created_at),
            _state(key),
        ]
        for key in keys
    ]
    console().print(table("Id", "Name", "Role", "User", "Made", "State", rows=rows))


def _state(key: Key) -> str:
    if key.revoked_at:
        return f"revoked {day(key.revoked_at)}"
    if key.expires_at:
        ended = key.expires_at <= datetime.now(UTC)
        return f"{'expired' if ended else 'until'} {day(key.expires_at)}"
    return "valid"
