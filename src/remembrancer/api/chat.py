"""`/memory` for bots of any platform: /api/chat."""

from remembrancer.api.dependencies import App, Caller
from remembrancer.api.endpoints import Router
from remembrancer.chat.dispatch import reply_to
from remembrancer.conversations.schemas import ChatCommand, ChatReply

router = Router(prefix="/api/chat", tags=["chat"])


@router.post("/commands")
async def answer_command(app: App, actor: Caller, command: ChatCommand) -> ChatReply:
    """Answer a message if it is a command, such as `/memory list`; send what the answer says."""
    return await reply_to(app, actor, command)
