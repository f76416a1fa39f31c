"""Placements of summaries and facts of a conversation."""

from collections.abc import Collection
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.access import Placement, Visibility
from remembrancer.conversations import rules
from remembrancer.conversations.rows import ConversationRow
from remembrancer.preferences.scopes import scopes
from remembrancer.spaces import repository as spaces


async def placements(
    connection: AsyncConnection,
    conversation: ConversationRow,
    owner_ids: Collection[UUID],
) -> dict[UUID, Placement]:
    """Return the placement of each owner's part of a conversation, in order of their ids.

    An owner who has left the conversation's space shares nothing there.
    """
    owners, space_id, agent_id = sorted(owner_ids), conversation.space_id, conversation.agent_id
    members: Collection[UUID] = ()
    in_effect = {}
    if space_id is not None:
        members = await spaces.members_among(connection, space_id, owners)
    if agent_id is not None:
        in_effect = await scopes(connection, agent_id, owners)
    visibility = Visibility(conversation.visibility)
    return {
        owner: rules.placement(
            owner,
            agent_id=agent_id,
            scope=in_effect.get(owner),
            space_id=space_id,
            visibility=visibility if owner in members else Visibility.PRIVATE,
        )
        for owner in owners
    }
