"""Senders that a message names by their id on the conversation's platform."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.conversations.rows import AppendTarget
from remembrancer.conversations.schemas import MessageCreate
from remembrancer.errors import InvalidInput
from remembrancer.ids import new_uuid
from remembrancer.users import repository as users


@dataclass(frozen=True, slots=True)
class Sender:
    """A sender on a platform. A stranger has no ``stored_name``; ``user_id`` is their new id."""

    platform: str
    platform_user_id: str
    user_id: UUID
    stored_name: str | None
    message_name: str | None

    @property
    def is_stored(self) -> bool:
        """Whether the user exists, with the latest name."""
        return self.stored_name is not None and self.message_name in {None, self.stored_name}

    @property
    def name(self) -> str:
        """The latest name, or the platform id of a stranger without a name."""
        return self.message_name or self.stored_name or self.platform_user_id.strip()[:200]


def platform_senders(target: AppendTarget, messages: Sequence[MessageCreate]) -> dict[str, Sender]:
    """Return the senders that messages name by platform id only, by that id."""
    names: dict[str, str | None] = {}
    for message in messages:
        if message.platform_user_id is not None and message.user_id is None:
            earlier = names.get(message.platform_user_id)
            names[message.platform_user_id] = message.sender_name or earlier
    if names and target.platform is None:
        raise InvalidInput("the conversation has no platform", field="platform_user_id")
    return {
        platform_user_id: Sender(
            target.platform or "",
            platform_user_id,
            user_id=UUID(user_id) if user_id else new_uuid(),
            stored_name=target.names[user_id] if user_id else None,
            message_name=name,
        )
        for platform_user_id, name in names.items()
        for user_id in [target.linked.get(platform_user_id)]
    }


async def store(connection: AsyncConnection, senders: Mapping[str, Sender]) -> dict[UUID, UUID]:
    """Create users for strangers and set new names; return each sender's user by ``user_id``.

    The two differ where another request created the stranger at the same moment.
    """
    user_ids = {}
    # In a fixed order, against deadlocks of two appends.
    for _, sender in sorted(senders.items()):
        user_id = sender.user_id
        if sender.stored_name is None:
            user_id = await _create(connection, sender)
        elif not sender.is_stored:
            await users.refresh(connection, user_id, sender.message_name, None)
        user_ids[sender.user_id] = user_id
    return user_ids


async def _create(connection: AsyncConnection, sender: Sender) -> UUID:
    platform, platform_user_id = sender.platform, sender.platform_user_id
    await users.create_if_new(
        connection,
        sender.user_id,
        platform=platform,
        platform_user_id=platform_user_id,
        display_name=sender.name,
        time_zone=None,
    )
    rows = await users.on_platform(connection, platform, [platform_user_id])
    return rows[platform_user_id].id
