"""Sign-ins of browsers: sessions, one-time links, and their lines in the audit log."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import audit
from remembrancer.access import Actor, Role
from remembrancer.backend import Backend
from remembrancer.db.retries import retries_deadlocks
from remembrancer.errors import TooManyRequests, Unauthenticated
from remembrancer.ids import DEFAULT_WORKSPACE, SHARED_OWNER
from remembrancer.keys import repository, sessions
from remembrancer.keys.service import hash_secret, marked
from remembrancer.keys.uses import KeyUses
from remembrancer.user_names import AnyUser
from remembrancer.users import repository as users

LINK_SECONDS: Final = 15 * 60
"""Seconds in which the sign-in link of an admin works, once."""
USER_LINK_SECONDS: Final = 86_400
"""The same for the link of a user, whom it has to reach first."""
ADMIN_SECONDS: Final = 12 * 3600
"""Seconds until the session of an admin's link ends, which no key can end."""
_SIGN_IN: Final = "session.start"
_NO_KEY: Final = Actor(Role.SERVICE)


@dataclass(frozen=True, slots=True)
class SignIn:
    """A session in use: who asks, and what is stored for the pages."""

    row: sessions.SessionRow
    actor: Actor


@retries_deadlocks
class SignIns:
    """Sessions of browsers, in the database by the hash of their secret.

    They end with their key, and after ``days``. A line in the audit log has the key's id, never a
    secret.
    """

    def __init__(
        self, backend: Backend, uses: KeyUses, *, days: int, workspace: str = DEFAULT_WORKSPACE
    ) -> None:
        self._workspace = workspace
        self._database = backend.database
        self._uses = uses
        self._most_refusals = backend.limits.sign_ins_per_minute
        self.session_seconds = days * 86_400

    async def link(self, actor: Actor, user_id: AnyUser | None = None) -> str:
        """Return the secret of a link that signs a user in, or without one an admin.

        It works once, that of a user within a day, that of an admin within 15 minutes. Raises
        ``NotFound`` for an unknown user. For admins.
        """
        actor.require(Role.ADMIN)
        owner_id = None if user_id is None else await self._database.user_id(user_id)
        secret = marked(secrets.token_urlsafe(32), self._workspace)
        async with self._database.system() as connection:
            if owner_id is not None:
                owner_id = await users.hold_current(connection, owner_id)
            seconds = LINK_SECONDS if owner_id is None else USER_LINK_SECONDS
            await sessions.add_link(connection, hash_secret(secret), owner_id, seconds)
            targets = [] if owner_id is None else [str(owner_id)]
            await audit.note(
                connection, actor, "link.create", targets, owner_id=owner_id or SHARED_OWNER
            )
        return secret

    async def redeem(
        self, link: str, *, entry_point: str, check: Callable[[], None] = lambda: None
    ) -> str:
        """Use up a link; return the secret of a new session. Raises ``Unauthenticated``.

        What ``check`` raises leaves the link unused; it is asked only if the link is known.
        """
        async with self._database.system() as connection:
            used = await sessions.use_link(connection, hash_secret(link))
            if used is not None and used.is_valid:
                check()
                role = Role.ADMIN if used.user_id is None else Role.USER
                actor = Actor(role, user_id=used.user_id, entry_point=entry_point)
                return await self._start(connection, actor)
        await self.refuse(None, entry_point=entry_point)
        raise Unauthenticated(
            "this sign-in link was used or is too old; ask an admin for another, or restart the"
            " server"
        )

    async def start(self, actor: Actor) -> str:
        """Start a session of the actor's key; return its secret."""
        async with self._database.system() as connection:
            return await self._start(connection, actor)

    async def _start(self, connection: AsyncConnection, actor: Actor) -> str:
        secret = marked(secrets.token_urlsafe(32), self._workspace)
        is_admin_link = actor.key_id is None and actor.user_id is None
        await sessions.add(
            connection,
            hash_secret(secret),
            key_id=actor.key_id,
            user_id=None if actor.key_id else actor.user_id,
            seconds=ADMIN_SECONDS if is_admin_link else self.session_seconds,
        )
        await _note(connection, actor, _SIGN_IN)
        return secret

    async def find(self, secret: str, *, entry_point: str) -> SignIn | None:
        """Return the session of a secret, null if it ended. One round trip to the database."""
        statement = sessions.find_statement(hash_secret(secret))
        [rows] = await self._database.one_round_trip(_NO_KEY, statement, system=True)
        if not rows:
            return None
        row: sessions.SessionRow = rows[0]
        if row.key_id is not None:
            self._uses.note(row.key_id)
        actor = Actor(
            Role(row.role),
            user_id=row.user_id,
            entry_point=entry_point,
            key_id=row.key_id,
            merged_ids=frozenset(row.merged_ids),
        )
        return SignIn(row, actor)

    async def store(
        self, row: sessions.SessionRow, *, theme: str, shown: int, added: list[str]
    ) -> None:
        """Set the theme, remove the first ``shown`` notices, and add others."""
        async with self._database.system() as connection:
            await sessions.store(connection, row.hash, theme=theme, shown=shown, added=added)

    async def end(self, sign_in: SignIn) -> None:
        """End a session."""
        async with self._database.system() as connection:
            await sessions.end(connection, sign_in.row.hash)
            await _note(connection, sign_in.actor, "session.end")

    async def end_all(self, actor: Actor) -> int:
        """End all sessions of the actor's user; return how many.

        Without a user, those of the actor's key, or of admins who came by a link.
        """
        async with self._database.system_for(actor) as (connection, actor):
            ended = await sessions.end_all(connection, actor.user_id, actor.key_id)
            await _note(connection, actor, "session.end_all")
            return ended

    async def refuse(self, secret: str | None, *, entry_point: str) -> None:
        """Note a failed sign-in; for an unknown key with the role ``user`` and no user.

        Raises ``TooManyRequests`` instead, if there were too many within a minute for that user, or
        for all unknown keys and those of no user: an attack does not fill the log.
        """
        async with self._database.system() as connection:
            key = None
            if secret is not None:
                key = await repository.find_by_hash(connection, hash_secret(secret))
            actor = Actor(
                key.role if key else Role.USER,
                user_id=key.user_id if key else None,
                entry_point=entry_point,
                key_id=key.id if key else None,
            )
            refused = await sessions.refusals(connection, actor.user_id or SHARED_OWNER)
            if 0 < self._most_refusals <= refused:
                raise TooManyRequests("too many failed sign-ins; try again later", retry_after=60)
            await _note(connection, actor, _SIGN_IN, outcome="refused")


async def _note(
    connection: AsyncConnection, actor: Actor, action: str, *, outcome: audit.Outcome = "done"
) -> None:
    target_ids = [str(actor.key_id)] if actor.key_id else []
    owner_id = actor.user_id or SHARED_OWNER
    await audit.note(connection, actor, action, target_ids, owner_id=owner_id, outcome=outcome)
