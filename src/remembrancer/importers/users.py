"""Match the people of an export with users."""

from collections.abc import Mapping
from dataclasses import replace
from uuid import UUID

from remembrancer.access import Actor
from remembrancer.app import Remembrancer
from remembrancer.errors import InvalidInput, NotFound
from remembrancer.users.schemas import PlatformLink, ResolveUser

PlatformId = tuple[str, str]
"""Platform and platform user id."""


class People:
    """Finds or creates users by their platform ids, with one look-up each."""

    def __init__(self, app: Remembrancer, actor: Actor) -> None:
        self._app = app
        self._actor = actor
        self._staff = replace(actor, user_id=None)
        self._users: dict[PlatformId, UUID] = {}

    async def find(self, person: PlatformId) -> UUID | None:
        if person not in self._users:
            try:
                self._users[person] = (await self._app.users.find(self._staff, *person)).id
            except NotFound:
                return None
        return self._users[person]

    async def find_or_create(self, person: PlatformId, name: str) -> UUID:
        if (user_id := await self.find(person)) is not None:
            return user_id
        platform, platform_user_id = person
        resolved = await self._app.users.resolve(
            self._staff,
            ResolveUser(
                platform=platform,
                platform_user_id=platform_user_id,
                display_name=(name or platform_user_id)[:200],
            ),
        )
        self._users[person] = resolved.id
        return resolved.id

    async def check_owner(self, person: PlatformId) -> None:
        """Raise ``InvalidInput`` if a platform id is linked to another user than the actor's."""
        if await self.find(person) not in {None, self._actor.require_user()}:
            raise InvalidInput(
                "is linked to another user; merge the two users first, or leave out --user",
                field=":".join(person),
            )

    async def link_owner(self, person: PlatformId) -> None:
        await self.check_owner(person)
        if await self.find(person) is None:
            platform, platform_user_id = person
            link = PlatformLink(platform=platform, platform_user_id=platform_user_id)
            await self._app.users.link(self._staff, self._actor.require_user(), link)


def person_named(name: str, people: Mapping[PlatformId, str], file: str) -> PlatformId:
    """Return the person with this platform id, else the only one with this name."""
    by_id = [person for person in people if person[1] == name]
    by_name = [person for person, other in people.items() if other.casefold() == name.casefold()]
    matches = by_id or by_name
    if len(matches) != 1:
        reason = "several people have" if matches else "nobody has"
        raise InvalidInput(
            f"{reason} the id or name that --as gives; use a platform id of the file", field=file
        )
    return matches[0]
