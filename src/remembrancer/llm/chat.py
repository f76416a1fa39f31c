"""One request of a chat to a provider, in pieces or whole."""

from collections.abc import Callable, Sequence

from pydantic_ai import direct, exceptions, messages
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from remembrancer.llm.messages import ChatMessage, ModelReply, ToolCall, ToolSchema, UserText

OnText = Callable[[str], None]
"""Gets the text of a reply in pieces, as they come."""


async def request(
    model: Model,
    history: list[messages.ModelMessage],
    settings: ModelSettings,
    tools: Sequence[ToolSchema],
    *,
    stream: bool,
    on_text: OnText,
) -> messages.ModelResponse:
    """Return the response to a history. Raises the errors of pydantic-ai and of its client."""
    parameters = ModelRequestParameters(
        function_tools=[
            ToolDefinition(
                name=tool.name,
                description=tool.description,
                parameters_json_schema=tool.parameters,
                strict=False,
            )
            for tool in tools
        ]
    )
    if not stream:
        response = await direct.model_request(
            model, history, model_settings=settings, model_request_parameters=parameters
        )
        on_text(response.text or "")
        return response
    async with direct.model_request_stream(
        model, history, model_settings=settings, model_request_parameters=parameters
    ) as events:
        async for event in events:
            on_text(_text(event))
        return events.get()


def to_history(
    instructions: str, chat: Sequence[ChatMessage], *, system: bool
) -> list[messages.ModelMessage]:
    """Return a chat for a provider; without a system role, instructions lead the first text."""
    if not system:
        first, *rest = chat
        joined = f"{instructions}\n\n{first.text}" if isinstance(first, UserText) else instructions
        chat = [UserText(joined), *(rest if isinstance(first, UserText) else chat)]
    history: list[messages.ModelMessage] = []
    for message in chat:
        if isinstance(message, ModelReply):
            history.append(_response(message))
            continue
        part = (
            messages.UserPromptPart(message.text)
            if isinstance(message, UserText)
            else messages.ToolReturnPart(message.call.name, message.text, message.call.id)
        )
        last = history[-1] if history else None
        if isinstance(last, messages.ModelRequest):
            last.parts = [*last.parts, part]
        else:
            leading = instructions if system else None
            history.append(messages.ModelRequest([part], instructions=leading))
    return history


def to_reply(response: messages.ModelResponse, *, without_tools: bool) -> ModelReply:
    """Return a response; raise ``UnexpectedModelBehavior`` if there is nothing in it."""
    calls = tuple(
        ToolCall(part.tool_call_id, part.tool_name, part.args_as_json_str())
        for part in response.parts
        if isinstance(part, messages.ToolCallPart)
    )
    text, cut_short = response.text or "", response.finish_reason == "length"
    if not calls and not text.strip():
        if cut_short:
            raise exceptions.OutputTokenLimitExceeded("no text before the limit")
        raise exceptions.UnexpectedModelBehavior("neither text nor calls")
    return ModelReply(text, calls, cut_short, without_tools, response)


def _response(reply: ModelReply) -> messages.ModelResponse:
    if isinstance(reply.origin, messages.ModelResponse):
        return reply.origin
    return messages.ModelResponse([messages.TextPart(reply.text)])


def _text(event: messages.ModelResponseStreamEvent) -> str:
    match event:
        case messages.PartStartEvent(part=messages.TextPart(content=text)):
            return text
        case messages.PartDeltaEvent(delta=messages.TextPartDelta(content_delta=text)):
            return text
    return ""
