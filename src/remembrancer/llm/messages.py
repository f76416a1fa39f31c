"""A chat as a language model takes part in it: texts, calls of tools, and their results."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's call of a tool."""

    id: str
    name: str
    arguments: str
    """As the model wrote them: JSON, unless it is wrong."""


@dataclass(frozen=True, slots=True)
class UserText:
    """What users say to the model."""

    text: str


@dataclass(frozen=True, slots=True)
class ModelReply:
    """A model's reply: text, or calls whose results it waits for, or both."""

    text: str
    calls: tuple[ToolCall, ...] = ()
    cut_short: bool = False
    """Whether the limit of tokens ended it."""
    without_tools: bool = False
    """Whether the provider refused the tools, so that none were offered."""
    origin: object = None
    """The reply as the provider gave it. It goes back in that form."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a call, for the model."""

    call: ToolCall
    text: str


ChatMessage = UserText | ModelReply | ToolResult


@dataclass(frozen=True, slots=True)
class ToolSchema:
    """A tool that a model may call."""

    name: str
    description: str
    parameters: dict[str, object]
    """JSON schema of the arguments."""
