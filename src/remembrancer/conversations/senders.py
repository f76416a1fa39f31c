"""People a message names by their id on the conversation's platform."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.conversations.schemas import MessageCreate
from remembrancer.errors import InvalidInput
from remembrancer.ids import new_uuid
from remembrancer.users import repository as users


@dataclass(frozen=True, slots=True)
class Sender:
    """Somebody on a platform, and the name the messages gave them, if any did.

    ``known_as`` is null for a stranger, who becomes ``user_id`` once the message is stored.
    """

    platform: str
    platform_user_id: str
    user_id: UUID
    known_as: str | None
    called: str | None

    @property
    def name(self) -> str:
        """What to call them: a stranger without a name goes by their platform id."""
        return self.called or self.known_as or self.platform_user_id.strip()[:200]


async def look_up(
    connection: AsyncConnection, platform: str | None, messages: Sequence[MessageCreate]
) -> dict[str, Sender]:
    """Return the senders that messages name by platform id alone; strangers are not stored."""
    called: dict[str, str | None] = {}
    for message in messages:
        if message.platform_user_id is not None and message.user_id is None:
            earlier = called.get(message.platform_user_id)
            called[message.platform_user_id] = message.sender_name or earlier
    if not called:
        return {}
    if platform is None:
        raise InvalidInput("the conversation has no platform", field="platform_user_id")
    known = await users.on_platform(connection, platform, list(called))
    return {
        platform_user_id: Sender(
            platform,
            platform_user_id,
            user_id=known[platform_user_id].id if platform_user_id in known else new_uuid(),
            known_as=known[platform_user_id].display_name if platform_user_id in known else None,
            called=name,
        )
        for platform_user_id, name in called.items()
    }


async def store(connection: AsyncConnection, senders: Mapping[str, Sender]) -> dict[UUID, UUID]:
    """Make strangers known and names the last known ones.

    Returns the user that each sender turned out to be: somebody else may have made a
    stranger known in the meantime.
    """
    found = {}
    # Always in the same order, so that two appends cannot wait for each other.
    for _, sender in sorted(senders.items()):
        user_id = sender.user_id
        if sender.known_as is None:
            user_id = await _make_known(connection, sender)
        elif sender.called not in {None, sender.known_as}:
            await users.refresh(connection, user_id, sender.called, None)
        found[sender.user_id] = user_id
    return found


async def _make_known(connection: AsyncConnection, sender: Sender) -> UUID:
    platform, platform_user_id = sender.platform, sender.platform_user_id
    await users.create_if_new(
        connection,
        sender.user_id,
        platform=platform,
        platform_user_id=platform_user_id,
        display_name=sender.name,
        time_zone=None,
    )
    known = await users.on_platform(connection, platform, [platform_user_id])
    return UUID(str(known[platform_user_id].id))
