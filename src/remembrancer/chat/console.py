"""A conversation in a terminal: commands are answered, all else goes to a model with memory."""

from pathlib import Path
from uuid import UUID

from remembrancer.access import Actor
from remembrancer.app import Remembrancer
from remembrancer.chat.handler import Commands, Place
from remembrancer.chat.replies import File, Piece
from remembrancer.chat.replies import messages as written
from remembrancer.context.schemas import Turn
from remembrancer.conversations.schemas import MessageCreate, MessageRole
from remembrancer.llm.json_output import Said


class Console:
    """One conversation of one person with one agent."""

    def __init__(
        self,
        app: Remembrancer,
        actor: Actor,
        conversation_id: UUID,
        *,
        directory: Path = Path(),
    ) -> None:
        self._app = app
        self._place = Place(actor, conversation_id)
        self._directory = directory
        self._commands = Commands(app)

    async def typed(self, text: str) -> str:
        """Return what is said to ``text``; without a model, what an agent would be told."""
        reply = await self._commands.answer(self._place, text)
        if reply is not None:
            lines = written(reply, _plain, 1_000_000)
            if reply.file is not None:
                lines.append(self._kept(reply.file))
            return "\n".join(lines)
        conversation_id = self._place.conversation_id
        assert conversation_id is not None
        # The agent is the conversation's.
        turn = await self._app.conversations.begin_turn(
            self._place.actor, conversation_id, MessageCreate(content=text)
        )
        model = self._app.language_model
        if model is None:
            return f"{turn.context.stable.text}\n{turn.context.dynamic.text}".rstrip()
        answer = await model.reply(*prompt(turn))
        await self._app.conversations.finish_turn(self._place.actor, conversation_id, answer)
        return answer

    def _kept(self, file: File) -> str:
        path = self._directory / file.name
        # Never over a file that is there.
        with path.open("xb") as out:
            out.write(file.content)
        path.chmod(0o600)
        return f"Written to {path}"


def prompt(turn: Turn) -> tuple[str, list[Said], str]:
    """Return what a model is asked: instructions, what was said, and the question.

    The stable block comes first, so that providers can cache it; the dynamic one with the
    message it was made for.
    """
    *before, last = turn.messages
    spoken = {MessageRole.USER, MessageRole.ASSISTANT}
    said = [(one.role.value, one.content) for one in before if one.role in spoken]
    return turn.context.stable.text, said, f"{turn.context.dynamic.text}\n{last.content}"


def _plain(piece: Piece) -> str:
    """Return a piece without anything a terminal would act on."""
    return "".join(c if c.isprintable() else " " for c in piece.text)
