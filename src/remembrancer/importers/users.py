"""Who in an export is whom here."""

from collections.abc import Mapping
from dataclasses import replace
from uuid import UUID

from remembrancer.access import Actor
from remembrancer.app import Remembrancer
from remembrancer.errors import InvalidInput, NotFound
from remembrancer.users.schemas import PlatformLink, ResolveUser

Known = tuple[str, str]
"""Platform and platform user id."""


class People:
    """Finds people by their platform ids and makes strangers known, each looked up once."""

    def __init__(self, memory: Remembrancer, actor: Actor) -> None:
        self._memory = memory
        self._actor = actor
        self._staff = replace(actor, user_id=None)
        self._known: dict[Known, UUID] = {}

    async def find(self, who: Known) -> UUID | None:
        """Return who it is; null for a stranger."""
        if who not in self._known:
            try:
                self._known[who] = (await self._memory.users.find(self._staff, *who)).id
            except NotFound:
                return None
        return self._known[who]

    async def known(self, who: Known, name: str) -> UUID:
        """Return who it is, made known by this name if they are a stranger."""
        if (found := await self.find(who)) is not None:
            return found
        platform, platform_user_id = who
        resolved = await self._memory.users.resolve(
            self._staff,
            ResolveUser(
                platform=platform,
                platform_user_id=platform_user_id,
                display_name=(name or platform_user_id)[:200],
            ),
        )
        self._known[who] = resolved.id
        return resolved.id

    async def check_mine(self, who: Known) -> None:
        """Raise ``InvalidInput`` if a platform id is somebody else's than the actor's user."""
        if await self.find(who) not in {None, self._actor.require_user()}:
            raise InvalidInput(
                "is linked to another user; merge the two first, or leave out --user",
                field=":".join(who),
            )

    async def make_mine(self, who: Known) -> None:
        """Link a platform id to the actor's user, unless it is already."""
        await self.check_mine(who)
        if await self.find(who) is None:
            platform, platform_user_id = who
            link = PlatformLink(platform=platform, platform_user_id=platform_user_id)
            await self._memory.users.link(self._staff, self._actor.require_user(), link)


def named(who: str, people: Mapping[Known, str], file: str) -> Known:
    """Return whom ``--as`` means: by platform id, or by a name that only one has."""
    by_id = [key for key in people if key[1] == who]
    found = by_id or [key for key, name in people.items() if name.casefold() == who.casefold()]
    if len(found) != 1:
        reason = "several people have" if found else "nobody has"
        raise InvalidInput(f"{reason} the id or name that --as says", field=file)
    return found[0]
