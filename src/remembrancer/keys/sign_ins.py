"""Audit lines of sign-ins and sign-outs on the pages."""

from typing import Final

from remembrancer import audit
from remembrancer.access import Actor, Role
from remembrancer.backend import Backend
from remembrancer.ids import SHARED_OWNER
from remembrancer.keys import repository
from remembrancer.keys.service import hash_secret

START: Final = "session.start"
END: Final = "session.end"


class SignIns:
    """Writes sign-ins and sign-outs to the audit log. A line has the key's id, never a secret."""

    def __init__(self, backend: Backend) -> None:
        self._database = backend.database

    async def start(self, actor: Actor) -> None:
        await self._note(actor, START)

    async def end(self, actor: Actor) -> None:
        await self._note(actor, END)

    async def refuse(self, secret: str | None, *, entry_point: str) -> None:
        """Note a failed sign-in; for an unknown key with the role ``user`` and no user."""
        key = None
        if secret is not None:
            async with self._database.system() as connection:
                key = await repository.find_by_hash(connection, hash_secret(secret))
        actor = Actor(
            key.role if key else Role.USER,
            user_id=key.user_id if key else None,
            entry_point=entry_point,
            key_id=key.id if key else None,
        )
        await self._note(actor, START, outcome="refused")

    async def _note(self, actor: Actor, action: str, *, outcome: audit.Outcome = "done") -> None:
        target_ids = [str(actor.key_id)] if actor.key_id else []
        owner_id = actor.user_id or SHARED_OWNER
        async with self._database.system() as connection:
            await audit.note(
                connection, actor, action, target_ids, owner_id=owner_id, outcome=outcome
            )
