"""A turn: store what a user said, ask a model, and store its answer."""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, Final, Protocol

import anyio
from anyio.from_thread import BlockingPortal

from remembrancer.access import Actor
from remembrancer.agents.schemas import Agent
from remembrancer.bot.portal import Synchronous, Waits
from remembrancer.bot.prompt import Prompt
from remembrancer.conversations.schemas import Conversation, MessageCreate
from remembrancer.errors import InvalidInput, UnusableAnswer
from remembrancer.llm.messages import ToolSchema
from remembrancer.tools.registry import ToolAnswer, ToolContext, ToolError

if TYPE_CHECKING:
    from remembrancer.app import Remembrancer
    from remembrancer.bot.server import ServerLibrary

MOST_ROUNDS: Final = 8
"""Replies of a model to one message."""


class ChatClient(Protocol):
    """A client with ``chat.completions.create``: sync or async, ``openai`` or another."""

    @property
    def chat(self) -> Any:
        """The chat API."""


class AsyncBotTurn(Prompt):
    """An open turn: the prompt for a model, its tools, and the answer to store."""

    agent: Agent | None = None

    def __init__(
        self,
        app: "Remembrancer | ServerLibrary",
        actor: Actor,
        context: ToolContext,
        prompt: Prompt,
    ) -> None:
        vars(self).update(vars(prompt))
        self._app = app
        self._actor = actor
        self._context = context

    async def call_tool(
        self, name: str, arguments: Mapping[str, Any] | str | None = None
    ) -> ToolAnswer:
        """Call a memory tool for the user of the turn; ``text`` of the result is for the model.

        ``arguments`` are the model's, as an object or as JSON text. Mistakes of the model are in
        the text too. Raises what ``tools.call`` does.
        """
        names = [tool.name for tool in self.tool_schemas]
        if name in names:
            return await self._app.tools.call(self._actor, name, arguments, self._context)
        reason = f"no such tool; there are {', '.join(names) or 'none'}"
        error = ToolError(kind="not-found", reason=reason)
        return ToolAnswer(tool=name, ok=False, text=f"Nothing was done. {reason}.", error=error)

    async def complete(self, /, client: ChatClient, *, model: str, **options: Any) -> str:
        """Ask a model, call the tools that it wants, and take and return its answer.

        ``options`` go into each request, such as ``temperature``. Raises what the client does,
        ``InvalidInput`` for what is no client, and ``UnusableAnswer`` if the model answers
        nothing, or calls tools in each of 8 replies.
        """
        if not hasattr(getattr(client, "chat", None), "completions"):
            reason = "is none; pass one with chat.completions, such as openai.OpenAI()"
            raise InvalidInput(reason, field="client")
        messages: list[Any] = list(self.messages)
        texts: list[str] = []
        if self.tool_schemas:
            options = {"tools": self.tools, **options}
        for _ in rounds():
            # In a thread: a blocking client must not stop the loop.
            completion = await anyio.to_thread.run_sync(
                partial(client.chat.completions.create, model=model, messages=messages, **options)
            )
            reply = (await completion if isawaitable(completion) else completion).choices[0].message
            texts.append(reply.content or "")
            if not reply.tool_calls:
                break
            messages.append(_with_calls(reply))
            for call in reply.tool_calls:
                result = await self.call_tool(call.function.name, call.function.arguments)
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result.text})
        answer = "\n\n".join(filter(None, texts))
        if not answer.strip():
            raise UnusableAnswer("the language model gave no answer; try again")
        self.answer(answer)
        return answer


class BotTurn(Prompt, Synchronous):
    """An open turn whose methods wait; otherwise like :class:`AsyncBotTurn`."""

    def __init__(self, turn: AsyncBotTurn, portal: BlockingPortal) -> None:
        vars(self).update(vars(turn))
        self._behind = turn, portal

    def behind(self) -> tuple[AsyncBotTurn, BlockingPortal]:
        """Return the asynchronous turn, and the way to its loop."""
        return self._behind

    call_tool = Waits(AsyncBotTurn.call_tool)
    complete = Waits(AsyncBotTurn.complete)


@asynccontextmanager
async def open_turn(
    app: "Remembrancer | ServerLibrary",
    actor: Actor,
    conversation: Conversation,
    message: MessageCreate,
    *,
    instructions: str = "",
    tools: Sequence[Mapping[str, Any]] = (),
) -> AsyncIterator[AsyncBotTurn]:
    """Store a message and open the turn that answers it; store the answer, if any, at the end.

    ``tools`` are those of ``plain_tool``; while remembering is paused, only those that change
    nothing are in the turn. Raises what ``conversations.begin_turn`` does.
    """
    begun = await app.conversations.begin_turn(actor, conversation.id, message)
    schemas = [
        ToolSchema(tool["name"], tool["description"], tool["parameters"])
        for tool in tools
        if tool["effects"]["read_only"] or not begun.stored.off_record
    ]
    context = ToolContext(
        conversation_id=conversation.id,
        message_id=begun.stored.messages[-1].id,
        platform=conversation.platform,
    )
    prompt = Prompt(begun, message.content, instructions, schemas)
    turn = AsyncBotTurn(app, actor, context, prompt)
    try:
        yield turn
    finally:
        if text := turn.answer_text:
            # Also if the task is cancelled: it was said.
            with anyio.CancelScope(shield=True):
                await app.conversations.finish_turn(actor, conversation.id, text)


def rounds() -> Iterator[int]:
    """Count the replies of a model to one message; raise ``UnusableAnswer`` after the last."""
    yield from range(MOST_ROUNDS)
    raise UnusableAnswer(
        f"the agent called tools {MOST_ROUNDS} times without an answer; ask in other words"
    )


def _with_calls(reply: Any) -> dict[str, Any]:
    """Return a reply of OpenAI's format as a message to send back."""
    calls = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.function.name, "arguments": call.function.arguments},
        }
        for call in reply.tool_calls
    ]
    return {"role": "assistant", "content": reply.content, "tool_calls": calls}
