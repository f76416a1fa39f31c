"""Make, check and revoke API keys."""

import hashlib
import secrets
from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

from sqlalchemy import ColumnElement, func, insert, or_, select, update

from remembrancer import audit
from remembrancer.access import Actor, Role
from remembrancer.db.engine import Database
from remembrancer.db.tables import api_keys, users
from remembrancer.errors import NotFound, Unauthenticated
from remembrancer.ids import SHARED_OWNER, new_uuid
from remembrancer.keys.schemas import Key, KeyCreate, NewKey
from remembrancer.users import repository as people

PREFIX: Final = "rmb_"
_BYTES: Final = 32


class Keys:
    """The API keys of this server."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def create(self, actor: Actor, key: KeyCreate) -> NewKey:
        """Make a key; its secret is in the answer and nowhere else."""
        actor.require(Role.ADMIN)
        secret = PREFIX + secrets.token_urlsafe(_BYTES)
        async with self._database.system() as connection:
            if key.user_id is not None and not await people.hold(connection, [key.user_id]):
                raise NotFound("no such user", field="user_id")
            values = {"id": new_uuid(), "hash": hashed(secret), **key.model_dump()}
            statement = insert(api_keys).values(values).returning(api_keys)
            row = (await connection.execute(statement)).one()
            await audit.note(
                connection, actor, "key.create", [str(row.id)], owner_id=row.user_id or SHARED_OWNER
            )
        return NewKey.model_validate({**row._mapping, "secret": secret})

    async def adopt(self, name: str, secret: str) -> None:
        """Let ``secret``, kept in a file on this machine, be an admin key."""
        async with self._database.system() as connection:
            known = select(api_keys.c.id).where(api_keys.c.hash == hashed(secret))
            if (await connection.execute(known)).first() is None:
                values = {"id": new_uuid(), "name": name, "role": Role.ADMIN}
                await connection.execute(insert(api_keys).values(hash=hashed(secret), **values))

    async def list(self, actor: Actor) -> Sequence[Key]:
        """Return all keys, oldest first."""
        actor.require(Role.ADMIN)
        async with self._database.system() as connection:
            rows = await connection.execute(select(api_keys).order_by(api_keys.c.id))
            return [Key.model_validate(row) for row in rows]

    async def revoke(self, actor: Actor, key_id: UUID) -> Key:
        """Make a key worthless from now on."""
        actor.require(Role.ADMIN)
        statement = (
            update(api_keys)
            .where(api_keys.c.id == key_id)
            .values(revoked_at=func.coalesce(api_keys.c.revoked_at, func.now()))
            .returning(api_keys)
        )
        async with self._database.system() as connection:
            row: Any = (await connection.execute(statement)).first()
            if row is None:
                raise NotFound("no such key", field="key_id")
            await audit.note(
                connection, actor, "key.revoke", [str(row.id)], owner_id=row.user_id or SHARED_OWNER
            )
            return Key.model_validate(row)

    async def authenticate(self, secret: str, *, entry_point: str) -> Actor:
        """Return who ``secret`` stands for; raise ``Unauthenticated`` if nobody."""
        # The secret has 256 random bits: a plain hash cannot be guessed, and a look-up by it
        # leaks nothing through its timing.
        return await self._holder(api_keys.c.hash == hashed(secret), entry_point)

    async def standing(self, key_id: UUID, *, entry_point: str) -> Actor:
        """Return who a key stands for that was shown before; ``Unauthenticated`` once revoked."""
        return await self._holder(api_keys.c.id == key_id, entry_point)

    async def _holder(self, which: ColumnElement[bool], entry_point: str) -> Actor:
        person, former = users.alias(), users.alias()
        survivor = func.coalesce(person.c.merged_into, person.c.id)
        merged_ids = func.array(
            select(former.c.id).where(former.c.merged_into == survivor).scalar_subquery()
        )
        statement = (
            select(api_keys, person.c.merged_into, merged_ids.label("merged_ids"))
            .outerjoin(person, person.c.id == api_keys.c.user_id)
            .where(
                which,
                api_keys.c.revoked_at.is_(None),
                or_(api_keys.c.expires_at.is_(None), api_keys.c.expires_at > func.now()),
            )
        )
        async with self._database.system() as connection:
            row: Any = (await connection.execute(statement)).first()
        if row is None:
            raise Unauthenticated("the API key is unknown, expired or revoked")
        return Actor(
            Role(row.role),
            user_id=row.user_id and (row.merged_into or row.user_id),
            entry_point=entry_point,
            key_id=row.id,
            merged_ids=frozenset(row.merged_ids),
        )


def hashed(secret: str) -> bytes:
    """Return what is stored of a secret."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()
