"""Rows as models of the API. Pure."""

from remembrancer.conversations.rows import MessageRow
from remembrancer.conversations.schemas import Message, MessageRole
from remembrancer.ids import public_owner


def message(row: MessageRow) -> Message:
    return Message(
        id=row.id,
        conversation_id=row.conversation_id,
        position=row.position,
        user_id=public_owner(row.owner_id),
        role=MessageRole(row.role),
        sender_name=row.sender_name,
        content=row.content,
        sent_at=row.sent_at,
        edited_at=row.edited_at,
        off_record=row.off_record,
        withheld=row.withheld,
        platform_message_id=row.platform_message_id,
        metadata=row.metadata,
    )
