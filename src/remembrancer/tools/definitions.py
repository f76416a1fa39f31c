"""The memory tools as models see them; ``tools/memory.py`` runs them on a store."""

from importlib.resources import files
from typing import Any, Final, NoReturn

from pydantic import BaseModel

from remembrancer.access import Actor
from remembrancer.tools import results
from remembrancer.tools.arguments import (
    AddToMemory,
    ForgetMemory,
    ManageUserMemory,
    MemoryRecall,
    MemorySave,
    UpdateMemory,
)
from remembrancer.tools.registry import SYSTEM, Arguments, Effects, Tool, ToolContext

_TAGS: Final = frozenset({SYSTEM, "memory"})
# A repeated statement is one memory with two mentions, so the call is not idempotent.
_ADDS: Final = Effects(destructive=False)


async def _without_store(_actor: Actor, _arguments: object, _context: ToolContext) -> NoReturn:
    raise NotImplementedError


def _tool(
    name: str, arguments: type[Arguments], effects: Effects, returns: type[BaseModel]
) -> Tool[Arguments]:
    description = guidance(name).replace("{when}", guidance("when"))
    return Tool(name, description, arguments, _without_store, _TAGS, effects, returns)


def guidance(name: str) -> str:
    """Return the text for models: when to call a tool, when to ask first, when not to."""
    return (files(__package__) / "guidance" / f"{name}.txt").read_text("utf-8").rstrip("\n")


MEMORY_TOOLS: Final[tuple[Tool[Any], ...]] = (
    _tool("add_to_memory", AddToMemory, _ADDS, results.StoreResult),
    # The old content stays in the history; the same one again is a version too.
    _tool("update_memory", UpdateMemory, _ADDS, results.UpdateResult),
    _tool(
        "forget_memory",
        ForgetMemory,
        Effects(destructive=True, idempotent=True),
        results.ForgetResult,
    ),
    _tool("memory_save", MemorySave, _ADDS, results.StoreResult),
    _tool(
        "memory_recall",
        MemoryRecall,
        Effects(read_only=True, destructive=False, idempotent=True),
        results.RecallResult,
    ),
    _tool("manage_user_memory", ManageUserMemory, Effects(destructive=True), results.ManageResult),
)
"""All are system tools."""
