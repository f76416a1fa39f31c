"""A conversation in a terminal: commands are answered, other messages go to a model."""

from pathlib import Path
from uuid import UUID

from remembrancer.access import Actor
from remembrancer.app import Remembrancer
from remembrancer.chat.handler import CommandHandler, Location
from remembrancer.chat.replies import File, Span, split_messages
from remembrancer.context.schemas import Turn
from remembrancer.conversations.schemas import MessageCreate, MessageRole
from remembrancer.llm import ChatTurn


class Console:
    """One conversation of a user with an agent."""

    def __init__(
        self,
        app: Remembrancer,
        actor: Actor,
        conversation_id: UUID,
        *,
        directory: Path = Path(),
    ) -> None:
        self._app = app
        self._location = Location(actor, conversation_id)
        self._directory = directory
        self._commands = CommandHandler(app)

    async def answer(self, text: str) -> str:
        """Return the answer to ``text``; without a model, the context that it would receive."""
        reply = await self._commands.answer(self._location, text)
        if reply is not None:
            lines = split_messages(reply, _plain, 1_000_000)
            if reply.file is not None:
                lines.append(self._save(reply.file))
            return "\n".join(lines)
        actor, conversation_id = self._location.actor, self._location.conversation_id
        assert conversation_id is not None
        # The agent is the conversation's.
        turn = await self._app.conversations.begin_turn(
            actor, conversation_id, MessageCreate(content=text)
        )
        model = self._app.language_model
        if model is None:
            return f"{turn.context.stable.text}\n{turn.context.dynamic.text}".rstrip()
        answer = await model.reply(*prompt(turn))
        await self._app.conversations.finish_turn(actor, conversation_id, answer)
        return answer

    def _save(self, file: File) -> str:
        path = self._directory / file.name
        # An existing file is never overwritten.
        with path.open("xb") as output:
            output.write(file.content)
        path.chmod(0o600)
        return f"Written to {path}"


def prompt(turn: Turn) -> tuple[str, list[ChatTurn], str]:
    """Return the instructions, the earlier messages and the question for a model.

    The stable block comes first, so that providers can cache it; the dynamic block comes with the
    message it was made for.
    """
    *earlier, question = turn.messages
    roles = {MessageRole.USER, MessageRole.ASSISTANT}
    history = [
        (message.role.value, message.content) for message in earlier if message.role in roles
    ]
    return turn.context.stable.text, history, f"{turn.context.dynamic.text}\n{question.content}"


def _plain(span: Span) -> str:
    return "".join(c if c.isprintable() else " " for c in span.text)
