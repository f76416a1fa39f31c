"""Create, check and revoke API keys."""

import hashlib
import secrets
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final
from uuid import UUID

from sqlalchemy import ColumnElement
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import audit
from remembrancer.access import REFUSED_KEY, Actor, KeyCheck, Role
from remembrancer.backend import Backend
from remembrancer.db.retries import retries_deadlocks
from remembrancer.db.tables import api_keys
from remembrancer.errors import Conflict, InvalidInput, NotFound, Unauthenticated
from remembrancer.ids import DEFAULT_WORKSPACE, SHARED_OWNER, new_uuid
from remembrancer.keys import repository
from remembrancer.keys.schemas import DEFAULT_GRACE, LONGEST_GRACE, Key, KeyCreate, NewKey, is_past
from remembrancer.keys.uses import KeyUses
from remembrancer.paging import Items
from remembrancer.telemetry.ids import bind
from remembrancer.text import check_range
from remembrancer.users import repository as users

if TYPE_CHECKING:
    from remembrancer.keys.tokens import UserTokens

PREFIX: Final = "rmb_"
_BYTES: Final = 32
MOST_HOLDERS: Final = 10_000


@retries_deadlocks
class Keys:
    """API keys of this server."""

    def __init__(
        self,
        backend: Backend,
        tokens: "UserTokens | None" = None,
        *,
        workspace: str = DEFAULT_WORKSPACE,
    ) -> None:
        self._database = backend.database
        self._prefix = PREFIX if workspace == DEFAULT_WORKSPACE else f"{PREFIX}{workspace}."
        self.tokens = tokens
        self.uses = KeyUses(backend.database)
        # By the hash of the secret. Nothing trusts them without a check in the database.
        self._holders: dict[bytes, repository.HolderRow] = {}

    async def create(self, actor: Actor, key: KeyCreate) -> NewKey:
        """Create a key. Only this answer has its secret. For admins; users create their own.

        Raises ``InvalidInput`` for an expiry in the past.
        """
        if is_past(key.expires_at):
            raise InvalidInput("is in the past; name a later time", field="expires_at")
        user_id = None if key.user_id is None else await self._database.user_id(key.user_id)
        if actor.role is not Role.USER or user_id not in {actor.user_id, *actor.merged_ids}:
            actor.require(Role.ADMIN)
        async with self._database.system() as connection:
            if user_id is not None:
                await users.hold_current(connection, user_id)
            created = await self._add(
                connection, **key.model_dump(exclude={"user_id"}), user_id=user_id
            )
            await _note(connection, actor, "key.create", created)
        return created

    async def rotate(self, actor: Actor, key: UUID | str, *, grace: int = DEFAULT_GRACE) -> NewKey:
        """Replace a valid key, by id or name, with one of the same name, role, user and expiry.

        Only this answer has the new secret. The old one, whose name now ends in "(old)", stays
        valid for ``grace`` seconds, at most 30 days; 0 ends it at once. Raises ``NotFound`` for an
        unknown key, and ``Conflict`` for a name of several keys, and for a key that is not valid.
        For admins, and users with keys of their own.
        """
        actor.require(Role.ADMIN, Role.USER)
        check_range(grace, 0, LONGEST_GRACE, field="grace")
        async with self._database.system_for(actor) as (connection, actor):
            old = await _find(connection, key, actor.user_id)
            if not old.is_valid:
                raise Conflict("is not valid any more; create a new key", field="key")
            values = {
                name: getattr(old, name) for name in ("name", "role", "user_id", "expires_at")
            }
            await repository.retire(connection, old.id, grace)
            new = await self._add(connection, **values)
            await audit.note(
                connection,
                actor,
                "key.rotate",
                [str(old.id), str(new.id)],
                owner_id=old.user_id or SHARED_OWNER,
            )
        return new

    async def adopt(self, name: str, secret: str) -> bool:
        """Make a secret from a file an admin key, unless it is a key; return if it is valid."""
        key_hash = hash_secret(secret)
        async with self._database.system() as connection:
            if await repository.find_by_hash(connection, key_hash) is None:
                values = {"id": new_uuid(), "name": name, "role": Role.ADMIN, "hash": key_hash}
                await repository.add(connection, values)
            holder = await repository.holder(connection, api_keys.c.hash == key_hash)
            return holder is not None and holder.role == Role.ADMIN

    async def list(self, actor: Actor) -> Items[Key]:
        """Return all keys, or those of the actor's user, the oldest first.

        For admins, and users.
        """
        actor.require(Role.ADMIN, Role.USER)
        async with self._database.system_for(actor) as (connection, actor):
            return Items(items=await repository.list_all(connection, actor.user_id))

    async def revoke(self, actor: Actor, key: UUID | str) -> Key:
        """Revoke a key by its id, or a valid one by its name. It ends its sessions of browsers.

        Raises ``NotFound`` for an unknown key, and ``Conflict`` for a name of several keys. For
        admins, and users with keys of their own.
        """
        actor.require(Role.ADMIN, Role.USER)
        async with self._database.system_for(actor) as (connection, actor):
            found = await _find(connection, key, actor.user_id)
            revoked = await repository.revoke(connection, found.id)
            await _note(connection, actor, "key.revoke", revoked)
            return revoked

    async def authenticate(
        self, secret: str, *, entry_point: str, check_later: bool = False
    ) -> Actor:
        """Return the actor of a secret, or of a token of the identity provider.

        Raises ``Unauthenticated`` unless its key is valid.

        With ``check_later``, for a secret that was valid before, the first transaction of the actor
        checks the key instead.
        """
        if self.tokens is not None and "." in secret and not secret.startswith(PREFIX):
            return await self.tokens.authenticate(secret, entry_point=entry_point)
        # The secret has 256 random bits: nobody can guess its hash, and the time of a look-up
        # says nothing about it.
        key_hash = hash_secret(secret)
        if check_later and (row := self._holders.get(key_hash)) is not None:
            merged_ids = tuple(sorted(row.merged_ids))
            check = KeyCheck(row.id, Role(row.role), row.user_id, merged_ids)
            self.uses.note(row.id)
            return replace(_actor(row, entry_point), key_check=check)
        # Taken out first: it comes back as the latest, if it is valid.
        self._holders.pop(key_hash, None)
        row = await self._holder(api_keys.c.hash == key_hash)
        self._holders[key_hash] = row
        if len(self._holders) > MOST_HOLDERS:
            del self._holders[next(iter(self._holders))]
        return _actor(row, entry_point)

    async def _add(self, connection: AsyncConnection, **values: object) -> NewKey:
        secret = self._prefix + secrets.token_urlsafe(_BYTES)
        values |= {"id": new_uuid(), "hash": hash_secret(secret)}
        created = await repository.add(connection, values)
        return NewKey(**created.model_dump(), secret=secret)

    async def _holder(self, condition: ColumnElement[bool]) -> repository.HolderRow:
        async with self._database.system() as connection:
            row = await repository.holder(connection, condition)
        if row is None:
            raise Unauthenticated(REFUSED_KEY)
        self.uses.note(row.id)
        return row


async def _find(connection: AsyncConnection, key: UUID | str, user_id: UUID | None) -> Key:
    """Lock and return a key by its id, or the only valid one by its name; of a user, if given."""
    if isinstance(key, str):
        with suppress(ValueError):
            key = UUID(key)
    # Postgres refuses some texts, which no key has as a name.
    impossible = isinstance(key, str) and not key.isprintable()
    found = [] if impossible else await repository.find(connection, key, user_id)
    if not found:
        raise NotFound("no such key", field="key")
    if len(found) > 1:
        ids = ", ".join(str(each.id) for each in found[:5])
        raise Conflict(f"several keys have this name; use an id: {ids}", field="key")
    return found[0]


async def _note(connection: AsyncConnection, actor: Actor, action: str, key: Key) -> None:
    owner_id = key.user_id or SHARED_OWNER
    await audit.note(connection, actor, action, [str(key.id)], owner_id=owner_id)


def _actor(row: repository.HolderRow, entry_point: str) -> Actor:
    bind(key_id=row.id, role=row.role, entry_point=entry_point)
    return Actor(
        Role(row.role),
        user_id=row.user_id,
        entry_point=entry_point,
        key_id=row.id,
        merged_ids=frozenset(row.merged_ids),
    )


def marked(secret: str, workspace: str) -> str:
    """Return the secret of a link or a session, with its workspace before it."""
    return secret if workspace == DEFAULT_WORKSPACE else f"{workspace}.{secret}"


def workspace_of(secret: str) -> str:
    """Return the workspace that a key, a link or a session says it is of."""
    name, dot, _ = secret.removeprefix(PREFIX).partition(".")
    return name if dot else DEFAULT_WORKSPACE


def hash_secret(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()
