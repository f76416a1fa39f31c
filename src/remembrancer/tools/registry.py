"""The registry of tools: schemas for models, selection, calls."""

import json
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Generic, TypeVar
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from remembrancer.access import Actor
from remembrancer.errors import NotFound, RemembrancerError
from remembrancer.text import Key
from remembrancer.tools import refusals
from remembrancer.tools.json_text import to_json_line
from remembrancer.tools.schema import parameters

Arguments = TypeVar("Arguments", bound=BaseModel)

SYSTEM: Final = "system"
"""The tag of tools that every selection includes."""


class ToolContext(BaseModel):
    """The conversation of a tool call: facts that the caller knows, not the model."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    conversation_id: UUID | None = Field(default=None, description="The conversation of this turn.")
    message_id: UUID | None = Field(default=None, description="The message that the turn answers.")
    platform: Key | None = None

    @property
    def source(self) -> dict[str, Any]:
        """The source of a stored memory, as its fields."""
        return {"conversation_id": self.conversation_id, "message_id": self.message_id}


class ToolError(BaseModel):
    """The reason why a call did nothing, for programs."""

    kind: str = Field(examples=["similar-memory-exists"])
    field: str | None = Field(None, description="The argument to change.", examples=["subject"])
    reason: str
    memory_id: str | None = Field(None, description="The memory to update instead.")


class ToolAnswer(BaseModel):
    """The answer of a tool call. ``text`` is for the model."""

    tool: str
    ok: bool
    text: str = Field(description="For the model: the result as JSON on one line, or advice.")
    result: dict[str, Any] | None = None
    error: ToolError | None = None


@dataclass(frozen=True, slots=True)
class Effects:
    """The effects of a tool, for clients that ask the user before a call."""

    read_only: bool = False
    """Nothing changes."""
    destructive: bool = True
    """A call may remove something; otherwise the tool only adds."""
    idempotent: bool = False
    """The same call again changes nothing more."""


@dataclass(frozen=True, slots=True)
class Tool(Generic[Arguments]):
    """A tool: name, description for the model, arguments, and the function to run.

    ``run`` returns the result as JSON values that match ``returns``. Its errors are shown to the
    model as text.
    """

    name: str
    description: str
    arguments: type[Arguments]
    run: Callable[[Actor, Arguments, ToolContext], Awaitable[dict[str, Any]]]
    tags: frozenset[str] = field(default=frozenset())
    effects: Effects = field(default=Effects())
    returns: type[BaseModel] | None = None

    @property
    def is_system(self) -> bool:
        """Whether every selection includes it, whatever the limit."""
        return SYSTEM in self.tags


class Registry:
    """The tools of an agent, in the order they were added.

    :meth:`select` chooses the tools of a turn; it always includes system tools.
    """

    def __init__(self, *tools: Tool[Any]) -> None:
        self._tools: dict[str, Tool[Any]] = {}
        for tool in tools:
            self.add(tool)

    def add(self, tool: Tool[Any]) -> None:
        """Add a tool; raise ``ValueError`` if its name is taken."""
        if tool.name in self._tools:
            raise ValueError(f"a tool named {tool.name} exists already")
        self._tools[tool.name] = tool

    def get(self, name: str) -> Tool[Any]:
        """Return the tool of this name; raise ``NotFound`` if there is none."""
        if name not in self._tools:
            raise NotFound(f"no such tool; there are {', '.join(self._tools)}", field="name")
        return self._tools[name]

    def select(
        self, names: Collection[str] | None = None, *, limit: int | None = None
    ) -> list[Tool[Any]]:
        """Return the named tools, or all tools, but at most ``limit``.

        System tools are always included and do not count towards the limit.
        """
        selected = []
        left = len(self._tools) if limit is None else limit
        for tool in self._tools.values():
            if tool.is_system:
                selected.append(tool)
            elif left > 0 and (names is None or tool.name in names):
                selected.append(tool)
                left -= 1
        return selected

    async def call(
        self,
        actor: Actor,
        name: str,
        arguments: Mapping[str, Any] | str | None = None,
        context: ToolContext | None = None,
    ) -> ToolAnswer:
        """Call a tool for ``actor``. ``arguments`` come from a model, as an object or as JSON text.

        Errors that the model can fix are in the answer's ``text``, with the advice. Others are
        raised: ``NotFound`` for the tool, the user or the agent, ``Forbidden``, ``Unavailable``.
        """
        tool = self.get(name)
        try:
            values = tool.arguments.model_validate(_parsed(arguments))
        except ValidationError as error:
            return _refused(name, refusals.invalid_arguments(tool.arguments, error))
        except ValueError:
            reason = "the arguments must be a JSON object"
            return _refused(name, refusals.ToolRefusal("invalid-input", reason))
        try:
            result = await tool.run(actor, values, context or ToolContext())
        except refusals.ToolRefusal as refusal:
            return _refused(name, refusal)
        except RemembrancerError as error:
            if not refusals.can_model_fix(error):
                raise
            return _refused(name, refusals.to_refusal(error, tool.arguments))
        return ToolAnswer(tool=name, ok=True, text=to_json_line(result), result=result)


def plain_tool(tool: Tool[Any]) -> dict[str, Any]:
    """Return a tool's complete description, in no provider's format."""
    return {
        "name": tool.name,
        "description": tool.description,
        "parameters": parameters(tool.arguments),
        "returns": parameters(tool.returns) if tool.returns else None,
        "effects": asdict(tool.effects),
        "system": tool.is_system,
    }


def openai_tool(tool: Tool[Any]) -> dict[str, Any]:
    """Return a tool in the format of OpenAI's chat completions."""
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": parameters(tool.arguments),
    }
    return {"type": "function", "function": function}


def anthropic_tool(tool: Tool[Any]) -> dict[str, Any]:
    """Return a tool in the format of Anthropic's messages."""
    return {
        "name": tool.name,
        "description": tool.description,
        "input_schema": parameters(tool.arguments),
    }


def _parsed(arguments: Mapping[str, Any] | str | None) -> Any:
    if arguments is None or arguments == "":
        return {}
    if not isinstance(arguments, str):
        return arguments
    try:
        parsed = json.loads(arguments)
    except RecursionError:
        raise ValueError("nested too deep") from None
    if not isinstance(parsed, dict):
        raise ValueError("not an object")
    return parsed


def _refused(name: str, refusal: refusals.ToolRefusal) -> ToolAnswer:
    text = f"Nothing was done. {refusal.details['text']}"
    return ToolAnswer(tool=name, ok=False, text=text, error=ToolError(**refusal.details))
