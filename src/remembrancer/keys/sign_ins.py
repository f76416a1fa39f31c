"""Lines of the audit log for who signs in to the pages, tries to, and signs out."""

from typing import Any, Final

from sqlalchemy import select

from remembrancer import audit
from remembrancer.access import Actor, Role
from remembrancer.db.engine import Database
from remembrancer.db.tables import api_keys
from remembrancer.ids import SHARED_OWNER
from remembrancer.keys.service import hashed

IN: Final = "session.start"
OUT: Final = "session.end"


class SignIns:
    """Writes down who comes and goes. A line names the key, if there is one; never a secret."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def entered(self, actor: Actor) -> None:
        """Note that somebody signed in."""
        await self._note(actor, IN)

    async def left(self, actor: Actor) -> None:
        """Note that somebody signed out."""
        await self._note(actor, OUT)

    async def refused(self, secret: str | None, *, entry_point: str) -> None:
        """Note that somebody was not let in: with a link, or with a key that may be known.

        Nobody knows who it was; without a known key the line has the role ``user`` and no
        user.
        """
        row: Any = None
        if secret is not None:
            statement = select(api_keys).where(api_keys.c.hash == hashed(secret))
            async with self._database.system() as connection:
                row = (await connection.execute(statement)).first()
        actor = Actor(
            Role(row.role) if row else Role.USER,
            user_id=row.user_id if row else None,
            entry_point=entry_point,
            key_id=row.id if row else None,
        )
        await self._note(actor, IN, outcome="refused")

    async def _note(self, actor: Actor, action: str, *, outcome: audit.Outcome = "done") -> None:
        which = [str(actor.key_id)] if actor.key_id else []
        owner_id = actor.user_id or SHARED_OWNER
        async with self._database.system() as connection:
            await audit.note(connection, actor, action, which, owner_id=owner_id, outcome=outcome)
