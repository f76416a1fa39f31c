"""Tools, defined once: how they are shown to models, chosen, and called."""

import json
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Generic, TypeVar
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from remembrancer.access import Actor
from remembrancer.errors import NotFound, RemembrancerError
from remembrancer.text import Key
from remembrancer.tools.json_text import as_json
from remembrancer.tools.refusals import (
    ToolRefusal,
    in_words,
    is_for_the_model,
    wrong_arguments,
)
from remembrancer.tools.schema import parameters

Arguments = TypeVar("Arguments", bound=BaseModel)

SYSTEM: Final = "system"
"""The tag of tools that no selection drops."""


class ToolContext(BaseModel):
    """Where a tool is called: what a model is not asked to know."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    conversation_id: UUID | None = Field(None, description="The conversation of this turn.")
    message_id: UUID | None = Field(None, description="The message that is answered.")
    platform: Key | None = None

    @property
    def source(self) -> dict[str, Any]:
        """Where what is stored came from, as the fields of a memory."""
        return {"conversation_id": self.conversation_id, "message_id": self.message_id}


class ToolError(BaseModel):
    """Why a call did nothing, for programs."""

    kind: str = Field(examples=["similar-memory-exists"])
    field: str | None = Field(None, description="The argument to change.", examples=["subject"])
    reason: str
    memory_id: str | None = Field(None, description="The memory to update instead.")


class ToolAnswer(BaseModel):
    """What a call of a tool came to. ``text`` is what the model is given."""

    tool: str
    ok: bool
    text: str = Field(description="For the model: the result as JSON on one line, or what to do.")
    result: dict[str, Any] | None = None
    error: ToolError | None = None


@dataclass(frozen=True, slots=True)
class Effects:
    """What a call of a tool may do, for clients that ask before they let a model call it."""

    read_only: bool = False
    """Nothing changes."""
    destructive: bool = True
    """Something may be gone afterwards; else the tool only adds."""
    idempotent: bool = False
    """The same call again changes nothing more."""


@dataclass(frozen=True, slots=True)
class Tool(Generic[Arguments]):
    """A tool: its name, guidance, arguments, and what it does for an actor.

    ``run`` returns what the model is told, as JSON values that fit ``returns``. What it raises is
    told in words.
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
        """Whether it is always there, and counts for no limit."""
        return SYSTEM in self.tags


class Registry:
    """The tools of an agent, in the order they were added.

    :meth:`select` narrows them down for a turn; system tools are always among what is left.
    """

    def __init__(self) -> None:
        self._tools: dict[str, Tool[Any]] = {}

    def add(self, tool: Tool[Any]) -> None:
        """Add a tool; raise ``ValueError`` if its name is taken."""
        if tool.name in self._tools:
            raise ValueError(f"there is a tool {tool.name} already")
        self._tools[tool.name] = tool

    def get(self, name: str) -> Tool[Any]:
        """Return the tool of this name; raise ``NotFound`` if there is none."""
        if name not in self._tools:
            raise NotFound(f"no such tool; there are {', '.join(self._tools)}", field="name")
        return self._tools[name]

    def select(
        self, names: Collection[str] | None = None, *, limit: int | None = None
    ) -> list[Tool[Any]]:
        """Return the tools of these names, all unless given, and at most ``limit`` of them.

        System tools come along in any case, and count for no limit.
        """
        chosen = []
        left = len(self._tools) if limit is None else limit
        for tool in self._tools.values():
            if tool.is_system:
                chosen.append(tool)
            elif left > 0 and (names is None or tool.name in names):
                chosen.append(tool)
                left -= 1
        return chosen

    async def call(
        self,
        actor: Actor,
        name: str,
        arguments: Mapping[str, Any] | str | None = None,
        context: ToolContext | None = None,
    ) -> ToolAnswer:
        """Call a tool for ``actor``, with arguments as a model gives them: JSON, or its text.

        What a model can mend is told it in ``text``; so is that nothing was done. What it
        cannot mend is raised: ``NotFound`` for the tool, the user or the agent, ``Forbidden``,
        ``Unavailable``.
        """
        tool = self.get(name)
        try:
            wanted = tool.arguments.model_validate(_parsed(arguments))
        except ValidationError as error:
            return _refused(name, wrong_arguments(tool.arguments, error))
        except ValueError:
            reason = "the arguments are not a JSON object"
            return _refused(name, ToolRefusal("invalid-input", reason))
        try:
            result = await tool.run(actor, wanted, context or ToolContext())
        except ToolRefusal as refusal:
            return _refused(name, refusal)
        except RemembrancerError as error:
            if not is_for_the_model(error):
                raise
            return _refused(name, in_words(error))
        return ToolAnswer(tool=name, ok=True, text=as_json(result), result=result)


def plain_tool(tool: Tool[Any]) -> dict[str, Any]:
    """Return all that is to know of a tool, in no provider's form."""
    return {
        "name": tool.name,
        "description": tool.description,
        "parameters": parameters(tool.arguments),
        "returns": parameters(tool.returns) if tool.returns else None,
        "effects": asdict(tool.effects),
        "system": tool.is_system,
    }


def openai_tool(tool: Tool[Any]) -> dict[str, Any]:
    """Return a tool as OpenAI's chat completions take it, and what is compatible with them."""
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": parameters(tool.arguments),
    }
    return {"type": "function", "function": function}


def anthropic_tool(tool: Tool[Any]) -> dict[str, Any]:
    """Return a tool as Anthropic's messages take it."""
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


def _refused(name: str, refusal: ToolRefusal) -> ToolAnswer:
    text = f"Nothing was done. {refusal.told['text']}"
    return ToolAnswer(tool=name, ok=False, text=text, error=ToolError(**refusal.told))
